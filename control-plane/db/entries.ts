import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import type { Database } from './database.ts'

/** A ledger line of one account with its transaction: signed micro-USD. */
export type EntryRow = {
  readonly id: string
  readonly kind: string
  readonly amount: bigint
  readonly note: string | null
  readonly at: Date
}

/** The lines of an account from the newest down, before a transaction id where one is given. */
export async function listEntries(
  db: Database,
  account: AccountId,
  query: { readonly before: string | undefined; readonly limit: number },
): Promise<EntryRow[]> {
  const before = query.before === undefined ? sql`` : sql`and e.tx < ${query.before}`
  const { rows } = await sql<EntryRow>`select e.tx as id, t.kind, e.amount, t.note, t.at
    from ledger_entry e join ledger_tx t on t.id = e.tx
    where e.account = ${account} ${before} order by e.tx desc limit ${query.limit}`.execute(db)
  return rows
}
