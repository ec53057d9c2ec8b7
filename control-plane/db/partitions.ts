import { sql } from 'kysely'
import { MINUTE } from '#shared/clock.ts'
import type { Database } from './database.ts'
import { transact } from './database.ts'
import { readRows } from './rows.ts'
import { boolean, text } from './tables/column.ts'

/** Summing a month takes longer than the usual statement timeout allows. */
const ARCHIVE_TIMEOUT_MS = 10 * MINUTE

/** Creates the missing month partitions around an instant (Unix milliseconds). Returns their names. */
export async function makeMonthPartitions(db: Database, now: number, monthsAhead: number): Promise<string[]> {
  const rows = await readRows(
    db,
    { name: text() },
    sql`select make_month_partitions(${new Date(now)}, ${monthsAhead}) as name`,
  )
  return rows.map((row) => row.name)
}

/**
 * The default partitions that hold rows. Such rows have ids outside all months and block the creation of their month.
 */
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

/** The attached months as `2026-11`, oldest first. */
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
 * Detaches the tables of a month (`2026-11`), after carrying its sums over. The tables keep their rows. Returns false
 * when the month has no tables. Throws the database's error when the month is not over, is not the oldest, or has rows
 * that still wait.
 */
export function archiveMonth(db: Database, month: string): Promise<boolean> {
  return transact(db, async (trx) => {
    await sql`select set_config('statement_timeout', ${ARCHIVE_TIMEOUT_MS.toString()}, true)`.execute(trx)
    const rows = await readRows(trx, { done: boolean() }, sql`select archive_month(${`${month}-01`}::date) as done`)
    return rows[0]?.done === true
  })
}
