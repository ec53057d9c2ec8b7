/** A query of an invariant. Each row it gives describes one fault. */
export type Rule = {
  readonly id: string
  readonly looked: string
  readonly wrong: string
}

/** Time after the end of its call in which a payment is settled and booked, or a person is told. */
const ALARM_AGE = `interval '1 hour'`

/**
 * What a payment owes the ledger once it is booked: what was transferred, or what the platform stands in for. Null where
 * nothing was owed.
 */
const OWED = `(case p.state when 'confirmed' then p.due when 'written_off' then nullif(p.charge, 0) end)`

/** True where a payment is for the quote of a long job. What the job costs in the end comes out of its escrow. */
const IS_QUOTE = `exists (select 1 from job j where j.rid = p.rid and j.quote = p.charge)`

/** The invariants of payments by wallet. */
export const PAYMENT_RULES: readonly Rule[] = [
  {
    id: 'I9',
    looked: 'what came from wallets is what their payments took',
    wrong: `select 'the outside gave ' || given || ' for payments, which took ' || taken as wrong from (
        select
          (select coalesce(-sum(e.amount), 0) from every_ledger_entry e join every_ledger_tx t on t.id = e.tx
            where t.kind = 'payment' and e.account = 'acc_external_usdc') as given,
          (select coalesce(sum(due), 0) from chain_payment where state = 'confirmed' and booked_at is not null) as taken
      ) sums where given <> taken`,
  },
  {
    id: 'I16',
    looked: 'each authorization pays for one call, by one transfer, within what was signed',
    wrong: `select 'an authorization of ' || payer || ' pays for ' || count(*) || ' calls' as wrong
        from chain_payment group by network, asset, payer, nonce having count(*) > 1
      union all select 'the transaction ' || tx_hash || ' pays for ' || count(*) || ' calls'
        from chain_payment where state in ('mined', 'confirmed') group by tx_hash having count(*) > 1
      union all select ref || ' was transferred ' || count(*) || ' times'
        from chain_transaction where mined_at is not null and not is_reverted group by ref having count(*) > 1
      union all select rid || ': due ' || due || ' and charge ' || coalesce(charge, 0) || ' of ' || amount || ' signed'
        from chain_payment where due not between 1 and amount or charge not between 0 and coalesce(due, amount)
      union all select rid || ' is confirmed by a transaction that was reverted'
        from chain_payment p join chain_transaction t on t.hash = p.tx_hash where p.state = 'confirmed' and t.is_reverted
      union all select s.rid || ' is charged to a wallet and has no payment' from settlement s
        where s.rail in ('x402-upto', 'x402-exact', 'mpp') and s.charge > 0
          and not exists (select 1 from chain_payment p
            where p.rid = s.rid and p.rail = s.rail and p.account = s.account and (p.charge = s.charge or ${IS_QUOTE}))`,
  },
  {
    id: 'I17',
    looked: 'each payment by wallet is booked once with its call, written off with a reason, or young',
    wrong: `with booked as (
        select p.rid, p.state, p.account, p.booked_at, ${OWED} as owed, t.id as tx, t.kind, late.tx as late_tx,
          (select coalesce(sum(e.amount), 0) from every_ledger_entry e where e.tx = t.id and (e.account = p.account
            or (late.tx is not null and e.account = 'acc_platform_shortfall'))) as came,
          (select coalesce(-sum(e.amount), 0) from every_ledger_entry e where e.tx in (p.rid, k.tx, late.tx)
            and e.account = 'acc_platform_shortfall') as stood_in,
          (select coalesce(-sum(e.amount), 0) from every_ledger_entry e where e.tx = t.id
            and e.account = case p.state when 'confirmed' then 'acc_external_usdc' else 'acc_platform_shortfall' end)
            as gave
        from chain_payment p
        left join ledger_key k on k.key = 'payment:' || p.rid
        left join ledger_key late on late.key = 'late_payment:' || p.rid and p.state = 'confirmed'
        left join every_ledger_tx t on t.id = coalesce(late.tx, k.tx))
      select rid || ' (' || state || ') owes the ledger ' || owed || ', booked are ' || came || ' from ' || gave as wrong
        from booked where booked_at is not null and owed is not null and (tx is null or came <> owed or gave <> owed
          or kind <> case state when 'confirmed' then 'payment' else 'write_off' end)
      union all select rid || ' (' || state || ') is booked as ' || kind || ' and owes nothing'
        from booked where booked_at is not null and owed is null and tx is not null
      union all select rid || ' is in the ledger and not marked' from booked
        where booked_at is null and tx is not null and kind <> 'write_off'
      union all select rid || ' came after its write-off, and the platform still stands in for ' || stood_in
        from booked where late_tx is not null and stood_in <> 0
      union all select t.id || ' (' || t.kind || ') is booked and has no payment' from every_ledger_tx t
        where t.kind in ('payment', 'write_off') and not exists (
          select 1 from ledger_key k join chain_payment p
            on k.key in ('payment:' || p.rid, 'late_payment:' || p.rid) where k.tx = t.id)
      union all select p.rid || ' is booked and its call is not settled at ' || p.charge from chain_payment p
        where p.booked_at is not null and p.event is not null
          and (p.changed_at <= p.booked_at or p.changed_at < now() - ${ALARM_AGE})
          and not exists (select 1 from every_settlement s where s.rid = p.rid and s.charge = p.charge)
          and not ${IS_QUOTE}
      union all select rid || ' is written off without a reason' from chain_payment
        where state = 'written_off' and reason is null
      union all select rid || ' has been ' || state || ' for ' || floor(extract(epoch from now() - claimed_at) / 60)
          || ' minutes' || coalesce(': ' || reason, '')
        from chain_payment
        where case state when 'claimed' then valid_until else serve_until end < now() - ${ALARM_AGE}
          and (state in ('claimed', 'due', 'mined')
            or (booked_at is null and (state <> 'released' or event is not null)))`,
  },
]
