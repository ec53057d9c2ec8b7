import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import type { Database } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { LEDGER_TABLES } from './tables/ledger.ts'

/** A ledger line of one account with its transaction, in signed micro-USD. */
const ENTRY_ROW = {
  id: LEDGER_TABLES.ledger_entry.tx,
  kind: LEDGER_TABLES.ledger_tx.kind,
  amount: LEDGER_TABLES.ledger_entry.amount,
  note: LEDGER_TABLES.ledger_tx.note,
  at: LEDGER_TABLES.ledger_tx.at,
}
export type EntryRow = RowOf<typeof ENTRY_ROW>

/** The lines of an account, newest first, before a transaction id if one is given. */
export async function listEntries(
  db: Database,
  account: AccountId,
  query: { readonly before: string | undefined; readonly limit: number },
): Promise<EntryRow[]> {
  const before = query.before === undefined ? sql`` : sql`and e.tx < ${query.before}`
  const rows = await readRows(
    db,
    ENTRY_ROW,
    sql`select e.tx as id, t.kind, e.amount, t.note, t.at
    from ledger_entry e join ledger_tx t on t.id = e.tx
    where e.account = ${account} ${before} order by e.tx desc limit ${query.limit}`,
  )
  return rows
}
