import { sql } from 'kysely'
import type { Database } from './database.ts'
import { readRows } from './rows.ts'
import { double, integer } from './tables/column.ts'

/** Committed changes that another store has not received. `ageSeconds` is null for an outbox without times. */
export type Outbox = { readonly outbox: string; readonly rows: number; readonly ageSeconds: number | null }

const MOST_ROWS = 10_000

/** Counts the rows of every outbox, up to 10,000. */
export async function readOutboxes(db: Database): Promise<Outbox[]> {
  const rows = await readRows(
    db,
    { balances: integer(), keys: integer(), age: integer() },
    sql`
    select
      (select count(*)::int from (select 1 from account_change limit ${MOST_ROWS}) as some_changes) as balances,
      (select count(*)::int from (select 1 from key_change limit ${MOST_ROWS}) as some_keys) as keys,
      (select coalesce(extract(epoch from clock_timestamp() - min(changed_at)), 0)::float8 from account_change) as age
  `,
  )
  const { balances = 0, keys = 0, age = 0 } = rows[0] ?? {}
  return [
    { outbox: 'balances', rows: balances, ageSeconds: Math.max(0, age) },
    { outbox: 'keys', rows: keys, ageSeconds: null },
  ]
}

/** The present time of Postgres in Unix milliseconds. */
export async function readDatabaseClock(db: Database): Promise<number> {
  const rows = await readRows(
    db,
    { now: double() },
    sql`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as now
  `,
  )
  const now = rows[0]?.now
  if (now === undefined) throw new Error('Postgres did not return the time')
  return now
}
