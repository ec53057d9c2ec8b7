import { sql } from 'kysely'
import type { Database } from './database.ts'

/** Makes the missing month partitions around an instant (Unix milliseconds) and answers their names. */
export async function makeMonthPartitions(db: Database, now: number, monthsAhead: number): Promise<string[]> {
  const { rows } = await sql<{
    name: string
  }>`select make_month_partitions(${new Date(now)}, ${monthsAhead}) as name`.execute(db)
  return rows.map((row) => row.name)
}

/** The default partitions that hold rows: ids outside all months, which block the partition they belong to. */
export async function listStrayPartitions(db: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select 'settlement' as name where exists (select 1 from settlement_default)
    union all select 'ledger_tx' where exists (select 1 from ledger_tx_default)
    union all select 'ledger_entry' where exists (select 1 from ledger_entry_default)`.execute(db)
  return rows.map((row) => row.name)
}
