import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'

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

/** What an account has put into another in transactions of both, detached months included; signed micro-USD. */
export async function sumMoved(trx: Trx, from: AccountId, to: AccountId): Promise<bigint> {
  const { rows } = await sql<{ total: bigint }>`select coalesce(sum(e.amount), 0)::bigint as total
    from every_ledger_entry e where e.account = ${to}
      and e.tx in (select mine.tx from every_ledger_entry mine where mine.account = ${from})`.execute(trx)
  return rows[0]?.total ?? 0n
}
