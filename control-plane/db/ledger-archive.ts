import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import type { Database } from './database.ts'

/** A line that was booked at any time, detached months included; signed micro-USD. */
export type BookedLine = { readonly kind: string; readonly account: AccountId; readonly amount: bigint }

/** The lines under a ledger key, or under the id of a transaction, in the order of their accounts. */
export async function listBookedEntries(db: Database, keyOrId: string): Promise<BookedLine[]> {
  const { rows } = await sql<BookedLine>`select t.kind, e.account, e.amount
    from every_ledger_entry e join every_ledger_tx t on t.id = e.tx
    where e.tx = coalesce((select tx from ledger_key where key = ${keyOrId}), ${keyOrId}) order by e.account`.execute(
    db,
  )
  return rows
}
