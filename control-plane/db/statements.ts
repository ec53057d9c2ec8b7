import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import { ulidFloor } from '#shared/ids.ts'
import type { Database } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { bigint, nullable, text } from './tables/column.ts'
import { MONTH_VIEWS } from './tables/months.ts'
import { SETTLEMENT_TABLES } from './tables/settlements.ts'

/** A line of an account's ledger with the balance after it: signed micro-USD. The rest is of the call that made it. */
const STATEMENT_ROW = {
  id: text(),
  kind: MONTH_VIEWS.every_ledger_tx.kind,
  note: MONTH_VIEWS.every_ledger_tx.note,
  at: MONTH_VIEWS.every_ledger_tx.at,
  amount: MONTH_VIEWS.every_ledger_entry.amount,
  balance: bigint(),
  model: nullable(SETTLEMENT_TABLES.settlement.model),
  provider: SETTLEMENT_TABLES.settlement.provider,
  keyId: SETTLEMENT_TABLES.settlement.key_id,
}
export type StatementRow = RowOf<typeof STATEMENT_ROW>

export type StatementQuery = {
  readonly account: AccountId
  /** Unix milliseconds: lines from `from` on, before `to`. */
  readonly from: number
  readonly to: number
  /** Only lines before this transaction id. */
  readonly before: string | undefined
  readonly limit: number
}

/**
 * Lines of an account from the newest down. The balance after a line is the present one less all that is newer, read in
 * one statement, so that every page adds up with every other; a call that is booked late takes its place by its
 * admission, and the balances after it move.
 */
export async function listStatementLines(db: Database, query: StatementQuery): Promise<StatementRow[]> {
  const { account, from, to, before, limit } = query
  const end = ulidFloor(to)
  const ends = before !== undefined && before < end ? before : end
  const rows = await readRows(
    db,
    STATEMENT_ROW,
    sql`
    with lines as (
      select tx, amount from every_ledger_entry
      where account = ${account} and tx >= ${ulidFloor(from)} and tx < ${ends}
      order by tx desc limit ${limit}
    ), newer as (
      select coalesce(sum(amount), 0)::bigint as total from every_ledger_entry
      where account = ${account} and tx >= ${ends}
    )
    select l.tx as id, t.kind, t.note, t.at, l.amount,
      (a.balance - newer.total - coalesce(sum(l.amount) over (order by l.tx desc
        rows between unbounded preceding and 1 preceding), 0))::bigint as balance,
      s.model, s.provider, s.key_id as "keyId"
    from lines l
    cross join newer
    join account a on a.id = ${account}
    join every_ledger_tx t on t.id = l.tx
    left join settlement s on s.rid = l.tx and s.account = ${account}
    order by l.tx desc`,
  )
  return rows
}
