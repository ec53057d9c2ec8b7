import type { PaymentRule } from './payment-rules.ts'

/** Time after which an open draw raises an alarm. */
const ALARM_AGE = `interval '1 hour'`

/** The invariants of accounts that pay from their wallets. */
export const ALLOWANCE_RULES: readonly PaymentRule[] = [
  {
    id: 'I9',
    looked: 'credit advanced to wallets is unspent, taken back or owed',
    wrong: `select a.id || ' advanced ' || -a.balance || ' to nobody' as wrong from account a
        where a.kind = 'wallet_advance' and not exists (select 1 from allowance_line l where l.advance = a.id)
      union all select t.id || ' (' || t.kind || ') moves ' || e.amount || ' of ' || l.advance || ', and ' || l.account || ' has '
          || coalesce(own.amount, 0) || ' of it'
        from allowance_line l join every_ledger_entry e on e.account = l.advance join every_ledger_tx t on t.id = e.tx
        left join lateral (select sum(o.amount) as amount from every_ledger_entry o
          where o.tx = e.tx and o.account = l.account) own on true
        where t.kind in ('advance', 'recall') and own.amount is distinct from -e.amount
          or t.kind not in ('advance', 'recall', 'adjust', 'reverse')`,
  },
  {
    id: 'I16',
    looked:
      'each draw from a wallet is one deposit of that wallet for its account, and each deposit by allowance is one draw',
    wrong: `select w.id || ' of ' || w.amount || ' is settled, its deposit is ' || coalesce(d.amount || ' of ' || d.sender, 'none')
          as wrong from allowance_draw w left join deposit d on d.id = w.deposit
        where w.state = 'settled' and (d.id is null or d.amount <> w.amount or d.sender <> w.wallet
          or d.account <> w.account or d.method <> 'allowance' or d.tx_hash <> w.tx_hash or d.state <> 'credited')
      union all select d.id || ' came by allowance without a draw' from deposit d
        where d.method = 'allowance' and not exists (select 1 from allowance_draw w where w.deposit = d.id)
      union all select t.ref || ' went in ' || count(*) || ' transactions' from chain_transaction t
        where t.ref like 'draw %' and t.mined_at is not null and not t.is_reverted and t.dead_at is null group by t.ref having count(*) > 1
      union all select w.id || ' was sent in ' || t.hash || ' and is still planned' from allowance_draw w
        join chain_transaction t on t.ref = 'draw ' || w.id where w.state = 'planned'`,
  },
  {
    id: 'I17',
    looked: 'each draw from a wallet has ended, failed with a reason, or is less than an hour old',
    wrong: `select id || ' has been ' || state || ' since ' || planned_at as wrong from allowance_draw
        where state in ('planned', 'approved') and changed_at < now() - ${ALARM_AGE}
          and not exists (select 1 from payout_hold where cleared_at is null)
      union all select account || ' is stopped without a reason' from allowance_line where state = 'stopped' and reason is null`,
  },
]
