import type { ClientBase } from 'pg'
import type { Finding } from './finding.ts'
import { findingOf } from './finding.ts'

/** One query of an invariant: each row it gives is one thing that is wrong, in words. */
type Rule = {
  readonly id: string
  readonly looked: string
  readonly wrong: string
}

const BOUNDED = `('buyer_credit','job_escrow','seller_pending','seller_available','payout_in_flight')`

const RULES: readonly Rule[] = [
  {
    id: 'I1',
    looked: 'every transaction sums to zero',
    wrong: `select 'transaction ' || tx || ' sums to ' || sum(amount) as wrong
        from ledger_entry group by tx having sum(amount) <> 0
      union all select 'transaction ' || t.id || ' has no entries' from ledger_tx t
        where not exists (select 1 from ledger_entry e where e.tx = t.id)
      union all select 'entries of ' || e.tx || ' have no transaction' from ledger_entry e
        where not exists (select 1 from ledger_tx t where t.id = e.tx)`,
  },
  {
    id: 'I2',
    looked: 'the triggers that keep rows are on, on every partition',
    wrong: `with kept as (
        select p.relid as part from unnest(array['ledger_tx','ledger_entry','settlement']) parent,
          pg_partition_tree(parent::regclass) p
        union select 'ledger_key'::regclass),
      wanted as (
        select part, event, bit from kept, (values ('update', 16), ('delete', 8), ('truncate', 32)) e(event, bit))
      select part::regclass::text || ' lets ' || event || ' through' as wrong from wanted
      where not exists (select 1 from pg_trigger t join pg_proc f on f.oid = t.tgfoid
        where t.tgrelid = part and t.tgenabled in ('O', 'A') and f.proname = 'refuse_change'
          and t.tgtype & bit <> 0 and t.tgtype & 2 <> 0)`,
  },
  {
    id: 'I3',
    looked: 'balances and versions are those of the entries',
    wrong: `select a.id || ': balance ' || a.balance || ', entries sum to ' || coalesce(e.total, 0)
          || '; version ' || a.version || ', entries ' || coalesce(e.lines, 0) as wrong
      from account a left join
        (select account, sum(amount) as total, count(*) as lines from ledger_entry group by account) e
        on e.account = a.id
      where not a.is_summed and (a.balance <> coalesce(e.total, 0) or a.version <> coalesce(e.lines, 0))
      union all select 'entries of an account that is not there: ' || account from ledger_entry
        where account not in (select id from account) group by account`,
  },
  {
    id: 'I4',
    looked: 'no buyer or seller account is below zero',
    wrong: `select id || ' is at ' || balance as wrong from account where balance < 0 and kind in ${BOUNDED}`,
  },
  {
    id: 'I7',
    looked: 'no charge is above its hold',
    wrong: `select rid || ': charge ' || charge || ' of a hold of ' || hold_amount as wrong
      from settlement where charge > hold_amount`,
  },
  {
    id: 'I8',
    looked: 'seller and fee share each charge exactly',
    wrong: `select rid || ': ' || charge || ' split into ' || seller_net || ' and ' || fee as wrong from settlement
      where seller_net + fee <> charge or seller_net <> div(charge::numeric * (10000 - fee_bps), 10000)`,
  },
  {
    id: 'I9',
    looked: 'all accounts together come to zero, the outside ones included',
    wrong: `select 'everything comes to ' || total as wrong from (
        select (select coalesce(sum(balance), 0) from account where not is_summed)
          + (select coalesce(sum(e.amount), 0) from ledger_entry e join account a on a.id = e.account where a.is_summed)
          as total) everything where total <> 0
      union all select id || ' is above zero: ' || total from (
        select a.id, sum(e.amount) as total from account a join ledger_entry e on e.account = a.id
        where a.kind in ('external_usdc', 'external_fiat', 'promo') group by a.id) outside where total > 0`,
  },
  {
    id: 'I11',
    looked: 'what failed, or answered nothing, cost nothing',
    wrong: `select rid || ': ' || outcome || ' with a charge of ' || charge as wrong from settlement
      where charge > 0 and (outcome = 'failed' or (endpoint in ('chat', 'completions')
        and output_tokens + reasoning_tokens + audio_output_tokens = 0))`,
  },
  {
    id: 'I13',
    looked: 'each settlement is booked once, with its own amounts',
    wrong: `with booked as (
        select e.tx,
          -sum(e.amount) filter (where a.id = s.account or a.kind = 'platform_shortfall') as paid,
          sum(e.amount) filter (where a.id = s.seller_account) as seller,
          sum(e.amount) filter (where a.kind = 'platform_fee') as fee
        from ledger_entry e join account a on a.id = e.account join settlement s on s.rid = e.tx group by e.tx)
      select s.rid || ': charged ' || s.charge || ', booked ' || coalesce(b.paid, 0) || ' from the buyer, '
          || coalesce(b.seller, 0) || ' to the seller, ' || coalesce(b.fee, 0) || ' as fee' as wrong
        from settlement s left join booked b on b.tx = s.rid
        where s.charge <> coalesce(b.paid, 0) or s.seller_net <> coalesce(b.seller, 0) or s.fee <> coalesce(b.fee, 0)
      union all select t.id || ' is booked and has no settlement' from ledger_tx t
        where t.kind = 'settle' and not exists (select 1 from settlement s where s.rid = t.id)`,
  },
  {
    id: 'I15',
    looked: 'at most one seller is paid for a call',
    wrong: `select e.tx || ' pays ' || count(*) || ' sellers' as wrong
      from ledger_entry e join account a on a.id = e.account join ledger_tx t on t.id = e.tx
      where t.kind = 'settle' and a.kind in ('seller_pending', 'seller_available') group by e.tx having count(*) > 1`,
  },
  {
    id: 'I24',
    looked: 'nothing is owed by the platform',
    wrong: `select 'the shortfall stands at ' || balance as wrong from account
      where kind = 'platform_shortfall' and balance <> 0`,
  },
]

/** Checks what Postgres alone can tell. */
export async function checkLedger(client: ClientBase): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const rule of RULES) {
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
