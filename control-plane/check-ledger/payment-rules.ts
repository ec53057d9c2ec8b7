/** A query of an invariant. Each row that it returns describes one fault. */
export type PaymentRule = {
  readonly id: string
  readonly looked: string
  readonly wrong: string
}

/** Time after the end of its call after which an unsettled or unbooked payment raises an alarm. */
const ALARM_AGE = `interval '1 hour'`

/** The part of a payment's charge that never arrived. The platform covers it. */
const MISSING = `(case p.state when 'written_off' then greatest(coalesce(p.charge, 0) - coalesce(p.came, 0), 0) else 0 end)`
/** The ledger's keys of a payment. */
const KEYS = `('payment:' || p.rid, 'late_payment:' || p.rid, 'write_off:' || p.rid)`

/** True for a payment of a long job's quote. The final cost of the job comes out of its escrow. */
const IS_QUOTE = `exists (select 1 from job j where j.rid = p.rid and j.quote = p.charge)`

/**
 * True for an authorization (EIP-3009) that anybody may submit to the chain: several in one transaction, or one with
 * the same number for a higher amount, which is the payer's credit.
 */
const IS_ANYBODYS = `nonce like '0x%'`

/** The invariants of payments by wallet. */
export const PAYMENT_RULES: readonly PaymentRule[] = [
  {
    id: 'I9',
    looked: 'the money that came from wallets is the sum of their payments',
    wrong: `select 'the outside gave ' || given || ' for payments, which took ' || taken as wrong from (
        select
          (select coalesce(-sum(e.amount), 0) from every_ledger_entry e join every_ledger_tx t on t.id = e.tx
            where t.kind = 'payment' and e.account = 'acc_external_usdc') as given,
          (select coalesce(sum(came), 0) from chain_payment where booked_at is not null) as taken
      ) sums where given <> taken`,
  },
  {
    id: 'I16',
    looked: 'each authorization pays for one call, by one transfer, within the signed amount',
    wrong: `select 'an authorization of ' || payer || ' pays for ' || count(*) || ' calls' as wrong
        from chain_payment group by network, asset, payer, nonce having count(*) > 1
      union all select 'the transaction ' || tx_hash || ' pays for ' || count(*) || ' calls'
        from chain_payment where (state in ('mined', 'confirmed') or came is not null) and not ${IS_ANYBODYS}
        group by tx_hash having count(*) > 1
      union all select ref || ' was transferred ' || count(*) || ' times'
        from chain_transaction where mined_at is not null and not is_reverted and dead_at is null group by ref having count(*) > 1
      union all select rid || ': due ' || due || ' and charge ' || coalesce(charge, 0) || ' of ' || amount || ' signed'
        from chain_payment where due not between 1 and amount or charge not between 0 and coalesce(due, amount)
      union all select rid || ': ' || came || ' came of ' || amount || ' signed'
        from chain_payment where came < 1 or (came > amount and not ${IS_ANYBODYS})
      union all select rid || ' is confirmed by a transaction that was reverted'
        from chain_payment p join chain_transaction t on t.hash = p.tx_hash where p.state = 'confirmed' and t.is_reverted
      union all select s.rid || ' is charged to a wallet and has no payment' from settlement s
        where s.rail in ('x402-upto', 'x402-exact', 'mpp') and s.charge > 0
          and not exists (select 1 from chain_payment p
            where p.rid = s.rid and p.rail = s.rail and p.account = s.account and (p.charge = s.charge or ${IS_QUOTE}))`,
  },
  {
    id: 'I17',
    looked: 'each payment by wallet is booked once with its call, written off with a reason, or less than an hour old',
    wrong: `with booked as (
        select p.rid, p.state, p.booked_at, coalesce(p.came, 0) as came, ${MISSING} as missing, books.*,
          (select coalesce(-sum(e.amount), 0) from every_ledger_entry e
            where e.tx = p.rid and e.account = 'acc_platform_shortfall') as by_charge,
          (select coalesce(sum(e.amount), 0) from every_ledger_entry e join ledger_key k on k.tx = e.tx
            where k.key = 'end:' || p.rid and e.account = 'acc_platform_shortfall') as back_by_end
        from chain_payment p cross join lateral (
          select coalesce(-sum(e.amount) filter (where e.account = 'acc_external_usdc'), 0) as taken,
            coalesce(sum(e.amount) filter (where e.account = p.account), 0) as credited,
            coalesce(-sum(e.amount) filter (where e.account = 'acc_platform_shortfall'), 0) as stood_in,
            coalesce(bool_or(t.kind <> case when e.account = 'acc_external_usdc' then 'payment'
              when e.account = 'acc_platform_shortfall' and e.amount < 0 then 'write_off' else t.kind end), false)
              as is_misnamed
          from ledger_key k join every_ledger_tx t on t.id = k.tx join every_ledger_entry e on e.tx = t.id
          where k.key in ${KEYS}) books)
      select rid || ' (' || state || '): ' || came || ' came and ' || missing || ' did not; booked are ' || taken || ' and '
          || stood_in || ', and the payer got ' || credited as wrong
        from booked where booked_at is not null and (taken <> came or credited <> came + stood_in or is_misnamed
          or (state = 'written_off' and stood_in + by_charge <> missing))
      union all select rid || ' (' || state || ') came, and the platform still covers ' || stood_in
        from booked where booked_at is not null and state <> 'written_off' and stood_in <> 0
          and stood_in + by_charge - back_by_end <> 0
      union all select rid || ' is in the ledger and not marked' from booked where booked_at is null and taken <> 0
      union all select t.id || ' (' || t.kind || ') is booked and has no payment' from every_ledger_tx t
        where t.kind in ('payment', 'write_off')
          and not exists (select 1 from ledger_key k join chain_payment p on p.rid = split_part(k.key, ':', 2)
            where k.tx = t.id and k.key in ${KEYS})
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
