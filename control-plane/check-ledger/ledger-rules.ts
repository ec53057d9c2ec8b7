import type { ClientBase } from 'pg'
import { ALLOWANCE_RULES } from './allowance-rules.ts'
import type { Finding } from './finding.ts'
import { findingOf } from './finding.ts'
import type { PaymentRule } from './payment-rules.ts'
import { PAYMENT_RULES } from './payment-rules.ts'
import { PAYOUT_RULES } from './payout-rules.ts'
import { TREASURY_RULES } from './treasury-rules.ts'

/**
 * The checker's own list of account kinds. It takes nothing from the planes, so that a fault there cannot hide itself.
 */
export const CHECKED_KINDS = {
  /** The balance never falls below zero. */
  bounded: ['buyer_credit', 'job_escrow', 'seller_pending', 'seller_available', 'payout_in_flight', 'platform_capital'],
  /** The world outside. Money comes from there, so the balance never rises above zero. */
  world: ['external_usdc', 'external_fiat', 'promo'],
} as const
const BOUNDED = `('${CHECKED_KINDS.bounded.join("','")}')`
const WORLD = `('${CHECKED_KINDS.world.join("','")}')`

const RULES: readonly PaymentRule[] = [
  {
    id: 'I1',
    looked: 'every transaction sums to zero',
    wrong: `select 'transaction ' || tx || ' sums to ' || sum(amount) as wrong
        from every_ledger_entry group by tx having sum(amount) <> 0
      union all select 'transaction ' || t.id || ' has no entries' from every_ledger_tx t
        where not exists (select 1 from every_ledger_entry e where e.tx = t.id)
      union all select 'entries of ' || e.tx || ' have no transaction' from every_ledger_entry e
        where not exists (select 1 from every_ledger_tx t where t.id = e.tx)`,
  },
  {
    id: 'I2',
    looked: 'the triggers that keep rows are on, on every partition and every detached month',
    wrong: `with parents as (select unnest(array['ledger_tx','ledger_entry','settlement']) as parent),
      kept as (
        select p.relid as part, false as is_closed from parents, pg_partition_tree(parent::regclass) p
        union select 'ledger_key'::regclass, false
        union select to_regclass(parent || '_' || to_char(month, 'YYYY_MM')), true from parents, archived_month),
      wanted as (
        select part, event, bit from kept,
          (values ('update', 16), ('delete', 8), ('truncate', 32), ('insert', 4)) e(event, bit)
        where event <> 'insert' or is_closed)
      select part::regclass::text || ' lets ' || event || ' through' as wrong from wanted
      where not exists (select 1 from pg_trigger t join pg_proc f on f.oid = t.tgfoid
        where t.tgrelid = part and t.tgenabled in ('O', 'A') and f.proname = 'refuse_change'
          and t.tgtype & bit <> 0 and t.tgtype & 2 <> 0)`,
  },
  {
    id: 'I3',
    looked: 'balances and versions are those of the entries',
    wrong: `with lines as (
        select account, sum(amount) as total, count(*) as lines from ledger_entry group by account
        union all select account, sum(amount), sum(entries) from carried_total group by account),
      booked as (select account, sum(total) as total, sum(lines) as lines from lines group by account)
      select a.id || ': balance ' || a.balance || ', entries sum to ' || coalesce(e.total, 0)
          || '; version ' || a.version || ', entries ' || coalesce(e.lines, 0) as wrong
      from account a left join booked e on e.account = a.id
      where not a.is_summed and (a.balance <> coalesce(e.total, 0) or a.version <> coalesce(e.lines, 0))
      union all select 'entries of an account that is not there: ' || account from booked
        where account not in (select id from account)
      union all select e.account || ': carried and attached entries come to ' || coalesce(b.total, 0) || ', all to '
          || e.total
        from (select account, sum(amount) as total, count(*) as lines from every_ledger_entry group by account) e
        left join booked b on b.account = e.account
        where e.total is distinct from b.total or e.lines is distinct from b.lines
      union all select 'the escrow ' || a.id || ' is at ' || a.balance || ', its jobs come to ' || coalesce(j.quotes, 0)
        from account a left join
          (select escrow_account, sum(quote) as quotes from job where ended_at is null group by escrow_account) j
          on j.escrow_account = a.id
        where a.kind = 'job_escrow' and a.balance <> coalesce(j.quotes, 0)
      union all select t.id || ' (' || t.kind || ') moves ' || e.amount || ' of the escrow ' || a.id from every_ledger_entry e
        join account a on a.id = e.account join every_ledger_tx t on t.id = e.tx
        where a.kind = 'job_escrow' and t.kind not in ('escrow', 'job_end')`,
  },
  {
    id: 'I4',
    looked: 'no buyer or seller account is below zero',
    wrong: `select id || ' is at ' || balance as wrong from account where balance < 0 and kind in ${BOUNDED}`,
  },
  {
    id: 'I6',
    looked: 'no call is settled twice, in whatever month',
    wrong: `select rid || ' is settled ' || count(*) || ' times' as wrong from every_settlement
        group by rid having count(*) > 1
      union all select 'ids below ' || archive_floor() || ' are booked again in ' || name from (
        select 'settlement' as name from settlement where rid < archive_floor()
        union select 'ledger_tx' from ledger_tx where id < archive_floor()
        union select 'ledger_entry' from ledger_entry where tx < archive_floor()) strays
      union all select 'the job ' || j.rid || ' is settled and has not ended' from job j
        join every_settlement s on s.rid = j.rid where j.ended_at is null
      union all select 'the job ' || j.rid || ' has ended without a settlement' from job j
        where j.ended_at is not null and not exists (select 1 from every_settlement s where s.rid = j.rid)`,
  },
  {
    id: 'I7',
    looked: 'no charge is above its hold',
    wrong: `select rid || ': charge ' || charge || ' of a hold of ' || hold_amount as wrong
      from every_settlement where charge > hold_amount`,
  },
  {
    id: 'I8',
    looked: "the seller's share and the fee add up to each charge",
    wrong: `select rid || ': ' || charge || ' split into ' || seller_net || ' and ' || fee as wrong
      from every_settlement where seller_net + fee <> charge or seller_net <> div(charge::numeric * (10000 - fee_bps), 10000)`,
  },
  {
    id: 'I9',
    looked: 'all accounts sum to zero, those outside included',
    wrong: `with summed as (
        select a.id, a.kind, coalesce(sum(e.amount), 0) as total
        from account a left join every_ledger_entry e on e.account = a.id where a.is_summed group by a.id, a.kind)
      select 'everything comes to ' || total as wrong from (
        select (select coalesce(sum(balance), 0) from account where not is_summed)
          + (select coalesce(sum(total), 0) from summed) as total) everything where total <> 0
      union all select id || ' is above zero: ' || total from summed
        where kind in ${WORLD} and total > 0
      union all select t.id || ' (' || t.kind || ') moves money of the outside' from every_ledger_entry e
        join account a on a.id = e.account join every_ledger_tx t on t.id = e.tx
        where a.kind in ('external_usdc', 'external_fiat') and t.kind in ('settle', 'escrow', 'job_end')`,
  },
  {
    id: 'I11',
    looked: 'calls that failed or answered nothing cost nothing',
    wrong: `select rid || ': ' || outcome || ' with a charge of ' || charge as wrong
      from every_settlement where charge > 0 and (outcome = 'failed' or (endpoint in ('chat', 'completions')
        and output_tokens + reasoning_tokens + audio_output_tokens = 0))`,
  },
  {
    id: 'I13',
    looked: 'each settlement is booked once, with its own amounts',
    wrong: `with calls as (
        select s.rid, s.account, s.seller_account, s.charge, s.seller_net, s.fee, j.rid as job, j.quote, j.escrow_account,
          case when j.rid is null then s.rid else (select tx from ledger_key where key = 'end:' || s.rid) end as tx
        from every_settlement s left join job j on j.rid = s.rid),
      booked as (
        select c.rid,
          -sum(e.amount) filter (where a.id = c.account or a.kind in ('platform_shortfall', 'job_escrow')) as paid,
          -sum(e.amount) filter (where a.id = c.escrow_account) as escrowed,
          sum(e.amount) filter (where a.id = c.seller_account) as seller,
          sum(e.amount) filter (where a.kind = 'platform_fee') as fee
        from calls c join every_ledger_entry e on e.tx = c.tx join account a on a.id = e.account group by c.rid)
      select c.rid || ': charged ' || c.charge || ', booked ' || coalesce(b.paid, 0) || ' from the buyer, '
          || coalesce(b.seller, 0) || ' to the seller, ' || coalesce(b.fee, 0) || ' as fee' as wrong
        from calls c left join booked b on b.rid = c.rid
        where c.charge <> coalesce(b.paid, 0) or c.seller_net <> coalesce(b.seller, 0) or c.fee <> coalesce(b.fee, 0)
          or coalesce(c.quote, 0) <> coalesce(b.escrowed, 0)
      union all select t.id || ' is booked and has no settlement' from every_ledger_tx t
        where t.kind = 'settle' and not exists (select 1 from every_settlement s where s.rid = t.id)
      union all select t.id || ' is in escrow and has no job' from every_ledger_tx t
        where t.kind = 'escrow' and not exists (select 1 from job j where j.rid = t.id)`,
  },
  {
    id: 'I15',
    looked: 'at most one seller is paid for a call',
    wrong: `select e.tx || ' pays ' || count(*) || ' sellers' as wrong
      from every_ledger_entry e join account a on a.id = e.account join every_ledger_tx t on t.id = e.tx
      where t.kind in ('settle', 'job_end') and a.kind in ('seller_pending', 'seller_available') group by e.tx having count(*) > 1`,
  },
  {
    id: 'I24',
    looked: 'the shortfall holds only amounts with a recorded cause, to the micro-USD',
    wrong: `with taken as (
        select e.tx, e.amount, t.kind from every_ledger_entry e join every_ledger_tx t on t.id = e.tx
        where e.account = 'acc_platform_shortfall')
      select 'the shortfall is ' || a.balance || ', its entries come to ' || coalesce(sum(t.amount), 0) as wrong
        from account a left join taken t on true where a.kind = 'platform_shortfall'
        group by a.balance having a.balance <> coalesce(sum(t.amount), 0)
      union all select t.tx || ' left ' || -t.amount || ' to the shortfall and no fault is named' from taken t
        where t.kind in ('settle', 'escrow') and t.amount < 0
          and (select balance from account where kind = 'platform_shortfall') <> 0
          and not exists (select 1 from shortfall_note n where n.tx = t.tx)
          -- I17 checks the amounts that payments by wallet left to the platform.
          and not exists (select 1 from chain_payment p where p.rid = t.tx)`,
  },
]

/** Checks the invariants that Postgres alone can show. */
export async function checkLedger(client: ClientBase): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const rule of [...RULES, ...PAYMENT_RULES, ...PAYOUT_RULES, ...TREASURY_RULES, ...ALLOWANCE_RULES]) {
    const { rows } = await client.query<{ wrong: string }>(rule.wrong)
    findings.push(
      findingOf(
        rule.id,
        rule.looked,
        rows.map((row) => row.wrong),
      ),
    )
  }
  return findings
}
