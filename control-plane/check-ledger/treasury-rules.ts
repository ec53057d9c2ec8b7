import type { PaymentRule } from './payment-rules.ts'

/** Time after which a transfer without a verdict raises an alarm. */
const ALARM_AGE = `interval '1 hour'`

/** The invariants of transfers to and from the treasury. */
export const TREASURY_RULES: readonly PaymentRule[] = [
  {
    id: 'I9',
    looked: 'the deposits are the sum of the transfers that brought them',
    wrong: `select 'transfers brought ' || brought || ' of deposits, the books took ' || taken as wrong from (
        select
          (select coalesce(sum(amount), 0) from treasury_move where kind = 'deposit') as brought,
          (select coalesce(-sum(e.amount), 0) from every_ledger_entry e join every_ledger_tx t on t.id = e.tx
            where t.kind = 'deposit' and e.account = 'acc_external_usdc'
              and exists (select 1 from ledger_key k where k.tx = t.id and k.key ~ '^deposit:[0-9]+:0x')) as taken
      ) sums where brought <> taken
      union all select 'the transfers of ' || c.treasury || ' leave ' || c.opening + m.net || ', noted are ' || c.balance
        from treasury_cursor c cross join lateral (
          select coalesce(sum(case direction when 'in' then amount else -amount end), 0) as net from treasury_move m
          where m.chain_id = c.chain_id and m.asset = c.asset and m.treasury = c.treasury and m.era = c.era) m
        where c.opening + m.net <> c.balance
      union all select 'the chain has ' || difference || ' more than the transfers of ' || treasury || ' leave'
        from treasury_cursor where difference <> 0
      union all select 'the chain of ' || treasury || ' is not the one that was read, since ' || strange_since
        from treasury_cursor c where strange_since is not null and not exists (
          select from treasury_cursor later where later.chain_id = c.chain_id and later.proven_at > c.strange_since)`,
  },
  {
    id: 'I16',
    looked: 'each transfer is credited once, to the account of its deposit, and none is a payment as well',
    wrong: `with credited as (
        select m.tx_hash, m.place, m.amount, m.ref, d.account, d.state, d.amount as deposited,
          coalesce((select sum(e.amount) from ledger_key k join every_ledger_entry e on e.tx = k.tx
            where k.key = 'deposit:' || m.chain_id || ':' || m.tx_hash || ':' || m.place
              || case when m.era > 0 then ':' || m.era else '' end and e.account = d.account), 0) as got
        from treasury_move m left join deposit d on d.id = m.ref where m.kind = 'deposit')
      select tx_hash || ' ' || place || ' brought ' || amount || ', ' || coalesce(account, 'nobody') || ' got ' || got as wrong
        from credited where got <> amount or deposited <> amount or state is distinct from 'credited'
      union all select id || ' is credited and nothing came' from deposit d where state = 'credited'
        and not exists (select 1 from treasury_move m where m.ref = d.id and m.kind = 'deposit')
      union all select ref || ' is credited by ' || count(*) || ' transfers' from treasury_move
        where kind = 'deposit' group by ref having count(*) > 1
      union all select m.tx_hash || ' is a deposit and pays for ' || p.rid from treasury_move m
        join chain_payment p on p.payer = m.party and p.came is not null
          and (p.nonce = m.nonce or (p.nonce ~ '^[0-9]+$' and p.tx_hash = m.tx_hash)) where m.kind = 'deposit'`,
  },
  {
    id: 'I17',
    looked:
      'each transfer of the treasury has a verdict, waits for a person with a reason, or is less than an hour old',
    // An arrival without a known owner is in no account. The reconciliation lists it.
    wrong: `select tx_hash || ' ' || place || ' has not been looked at since ' || seen_at as wrong from treasury_move
        where kind = 'new' and direction = 'out' and changed_at < now() - ${ALARM_AGE}
      union all select tx_hash || ' is unknown without a reason' from treasury_move where kind = 'unknown' and reason is null
      union all select id || ' is signed until ' || valid_until || ' and still ' || state from deposit
        where state in ('opened', 'signed') and valid_until < now() - ${ALARM_AGE}
          and exists (select 1 from treasury_cursor c where c.proven_at > now() - ${ALARM_AGE}
            and (c.chain_id, c.asset, c.treasury) = (deposit.chain_id, deposit.asset, deposit.treasury))`,
  },
]
