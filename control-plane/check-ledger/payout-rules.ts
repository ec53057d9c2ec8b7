import type { PaymentRule } from './payment-rules.ts'

/** Time after which an open transfer raises an alarm. */
const ALARM_AGE = `interval '1 hour'`

/** The invariants of payouts. */
export const PAYOUT_RULES: readonly PaymentRule[] = [
  {
    id: 'I9',
    looked: 'the money that went to sellers is the sum of their payouts',
    wrong: `select 'payouts took ' || taken || ' out of the books and paid ' || paid as wrong from (
        select
          (select coalesce(sum(e.amount), 0) from every_ledger_entry e join every_ledger_tx t on t.id = e.tx
            where t.kind = 'payout_paid' and e.account = 'acc_external_usdc') as taken,
          (select coalesce(sum(amount), 0) from treasury_transfer where purpose = 'payout' and state = 'paid') as paid
      ) sums where taken <> paid`,
  },
  {
    id: 'I19',
    looked: 'each payout left its seller once, ended once at most, and is made of what offers earned',
    wrong: `with payout as (
        select p.*, out.tx as out_tx, paid.tx as paid_tx, back.tx as back_tx,
          (select sum(amount) from payout_item i where i.payout = p.id) as items
        from treasury_transfer p
        left join ledger_key out on out.key = 'payout:' || p.id
        left join ledger_key paid on paid.key = 'payout_paid:' || p.id
        left join ledger_key back on back.key = 'payout_returned:' || p.id
        where p.purpose = 'payout'),
      moved as (
        select p.id, p.amount, p.state, p.out_tx, p.paid_tx, p.back_tx,
          coalesce((select sum(amount) from every_ledger_entry e where e.tx = p.out_tx and e.account = p.seller), 0) as gave,
          coalesce((select sum(amount) from every_ledger_entry e where e.tx = p.paid_tx and e.account = p.in_flight), 0)
            as went,
          coalesce((select sum(amount) from every_ledger_entry e where e.tx = p.back_tx and e.account = p.seller), 0)
            as returned
        from payout p)
      select id || ' of ' || amount || ' took ' || -gave || ' from its seller' as wrong from moved where gave <> -amount
      union all select id || ' is ' || state || ': ' || -went || ' went out, ' || returned || ' came back' from moved
        where went <> case state when 'paid' then -amount else 0 end
          or returned <> case state when 'returned' then amount else 0 end
      union all select id || ' of ' || amount || ' is made of ' || coalesce(items, 0) from payout
        where items is distinct from amount
      union all select t.id || ' (' || t.kind || ') is booked and has no payout' from every_ledger_tx t
        where t.kind in ('payout', 'payout_paid', 'payout_returned') and not exists (
          select 1 from ledger_key k join treasury_transfer p on k.key = t.kind || ':' || p.id where k.tx = t.id)
      union all select a.id || ' has ' || a.balance || ' on its way, its payouts come to ' || coalesce(p.amount, 0)
        from account a left join (select in_flight, sum(amount) as amount from treasury_transfer
          where state not in ('paid', 'returned') group by in_flight) p on p.in_flight = a.id
        where a.kind = 'payout_in_flight' and a.balance <> coalesce(p.amount, 0)
      union all select coalesce(e.offer, s.offer) || ' sold for ' || coalesce(s.net, 0) || ', noted are '
          || coalesce(e.earned, 0)
        from offer_earning e full join (select offer, sum(seller_net) as net from every_settlement
          where offer is not null and seller_net > 0 group by offer) s on s.offer = e.offer
        where e.earned is distinct from s.net
      union all select e.offer || ' gave ' || e.allocated || ' to payouts, which have ' || coalesce(i.amount, 0)
        from offer_earning e left join (select i.offer, sum(i.amount) as amount from payout_item i
          join treasury_transfer p on p.id = i.payout where p.state <> 'returned' group by i.offer) i on i.offer = e.offer
        where e.allocated <> coalesce(i.amount, 0)`,
  },
  {
    id: 'I17',
    looked: 'each transfer out of the treasury has ended, is held with a reason, or is less than an hour old',
    wrong: `select id || ' is held without a reason' as wrong from treasury_transfer where state = 'held' and reason is null
      union all select id || ' is returned without a reason' from treasury_transfer
        where state = 'returned' and reason is null
      union all select id || ' is signed until ' || valid_until || ' and still ' || state || coalesce(': ' || reason, '')
        from treasury_transfer where state in ('signed', 'mined') and valid_until < now() - ${ALARM_AGE}
      union all select id || ' has been scheduled since ' || planned_at || ' without a reason' from treasury_transfer
        where state = 'scheduled' and mode = 'batched' and reason is null and changed_at < now() - ${ALARM_AGE}
          and not exists (select 1 from payout_hold where cleared_at is null)
          and not exists (select 1 from money_epoch where held_at is not null)`,
  },
]
