import { sql } from 'kysely'
import { MINUTE } from '#shared/clock.ts'
import type { Database } from './database.ts'
import { transact } from './database.ts'
import { readRows } from './rows.ts'
import { boolean, text } from './tables/column.ts'

/** Summing up a month takes longer than any statement of a call may. */
const ARCHIVE_TIMEOUT_MS = 10 * MINUTE

/** Makes the missing month partitions around an instant (Unix milliseconds) and answers their names. */
export async function makeMonthPartitions(db: Database, now: number, monthsAhead: number): Promise<string[]> {
  const rows = await readRows(
    db,
    { name: text() },
    sql`select make_month_partitions(${new Date(now)}, ${monthsAhead}) as name`,
  )
  return rows.map((row) => row.name)
}

/** The default partitions that hold rows: ids outside all months, which block the partition they belong to. */
export async function listStrayPartitions(db: Database): Promise<string[]> {
  const rows = await readRows(
    db,
    { name: text() },
    sql`
    select 'settlement' as name where exists (select 1 from settlement_default)
    union all select 'ledger_tx' where exists (select 1 from ledger_tx_default)
    union all select 'ledger_entry' where exists (select 1 from ledger_entry_default)`,
  )
  return rows.map((row) => row.name)
}

/** The attached months as `2026-11`, from the oldest up. */
export async function listAttachedMonths(db: Database): Promise<string[]> {
  const rows = await readRows(
    db,
    { month: text() },
    sql`
    select replace(substring(c.relname from '_(\\d{4}_\\d\\d)$'), '_', '-') as month
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'settlement'::regclass and c.relname ~ '_\\d{4}_\\d\\d$' order by 1`,
  )
  return rows.map((row) => row.month)
}

/**
 * Detaches the tables of a month (`2026-11`), which stay as they are, with its sums carried. False when the month has
 * none. Throws what the database says to a month that is not over, not the oldest, or of which something still waits.
 */
export function archiveMonth(db: Database, month: string): Promise<boolean> {
  return transact(db, async (trx) => {
    await sql`select set_config('statement_timeout', ${ARCHIVE_TIMEOUT_MS.toString()}, true)`.execute(trx)
    const rows = await readRows(trx, { done: boolean() }, sql`select archive_month(${`${month}-01`}::date) as done`)
    return rows[0]?.done === true
  })
}
