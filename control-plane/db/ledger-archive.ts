import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { bigint } from './tables/column.ts'
import { LEDGER_TABLES } from './tables/ledger.ts'
import { MONTH_VIEWS } from './tables/months.ts'

/** A booked line, including detached months, in signed micro-USD. */
const BOOKED_LINE_ROW = {
  kind: MONTH_VIEWS.every_ledger_tx.kind,
  account: MONTH_VIEWS.every_ledger_entry.account,
  amount: MONTH_VIEWS.every_ledger_entry.amount,
}
export type BookedLine = RowOf<typeof BOOKED_LINE_ROW>

/** The lines under a ledger key or a transaction id, by account id. */
export async function listBookedEntries(db: Database, keyOrId: string): Promise<BookedLine[]> {
  const rows = await readRows(
    db,
    BOOKED_LINE_ROW,
    sql`select t.kind, e.account, e.amount
    from every_ledger_entry e join every_ledger_tx t on t.id = e.tx
    where e.tx = coalesce((select tx from ledger_key where key = ${keyOrId}), ${keyOrId}) order by e.account`,
  )
  return rows
}

/**
 * The sum that one account has moved to another in transactions of both, including detached months; signed micro-USD.
 */
export async function sumMoved(trx: Trx, from: AccountId, to: AccountId): Promise<bigint> {
  const rows = await readRows(
    trx,
    { total: bigint() },
    sql`select coalesce(sum(e.amount), 0)::bigint as total
    from every_ledger_entry e where e.account = ${to}
      and e.tx in (select mine.tx from every_ledger_entry mine where mine.account = ${from})`,
  )
  return rows[0]?.total ?? 0n
}

/** The names of a transaction of the ledger: its id, and its key where it is no call. */
const NAMES_ROW = { tx: LEDGER_TABLES.ledger_key.tx, key: LEDGER_TABLES.ledger_key.key }

/** The id and the key of a transaction, by either of them. Undefined for a call, which has an id alone. */
export async function findLedgerNames(db: Database, keyOrId: string): Promise<RowOf<typeof NAMES_ROW> | undefined> {
  const rows = await readRows(
    db,
    NAMES_ROW,
    sql`select tx, key from ledger_key where key = ${keyOrId} or tx = ${keyOrId}`,
  )
  return rows[0]
}
