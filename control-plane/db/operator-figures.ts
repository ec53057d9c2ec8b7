import { sql } from 'kysely'
import { ulidFloor } from '#shared/ids.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import type { Database } from './database.ts'
import type { Newest } from './newest-calls.ts'
import { newestCalls, PROVIDER_OF_CALL } from './newest-calls.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { bigint, double, integer, nullable, text } from './tables/column.ts'

/** A period in Unix milliseconds. `to` is excluded. */
type Period = { readonly from: number; readonly to: number }

const CALLS_ROW = {
  calls: integer(),
  buyers: integer(),
  sellers: integer(),
  failed: integer(),
  /** Failed calls that were charged for what they delivered. */
  chargedFailures: integer(),
  /** Calls that did not fail and had no charge. */
  free: integer(),
  overheadCalls: integer(),
  overheadP50Ms: nullable(double()),
  overheadP99Ms: nullable(double()),
}
export type CallFigures = RowOf<typeof CALLS_ROW>

/** The condition of a call that ended badly. A buyer who leaves ends a call well. */
const IS_FAILED = sql`(outcome in ('failed', 'cut'))`

/** Counts buyers and sellers with a charged call, failed calls, and the time that the market added to calls. */
export async function countCallFigures(db: Database, calls: Newest): Promise<CallFigures | undefined> {
  const rows = await readRows(
    db,
    CALLS_ROW,
    sql`select count(*)::int as calls,
      count(distinct account) filter (where charge > 0)::int as buyers,
      count(distinct seller_account) filter (where charge > 0)::int as sellers,
      count(*) filter (where ${IS_FAILED})::int as failed,
      count(*) filter (where ${IS_FAILED} and charge > 0)::int as "chargedFailures",
      count(*) filter (where not ${IS_FAILED} and charge = 0)::int as free,
      count(*) filter (where ${PROVIDER_OF_CALL} is not null)::int as "overheadCalls",
      percentile_disc(0.5) within group (order by overhead_ms) filter (where ${PROVIDER_OF_CALL} is not null)::float8 as "overheadP50Ms",
      percentile_disc(0.99) within group (order by overhead_ms) filter (where ${PROVIDER_OF_CALL} is not null)::float8 as "overheadP99Ms"
    from ${newestCalls(calls)}`,
  )
  return rows[0]
}

/** Failed calls with one error at one provider. The provider is empty where none was tried. */
const ERROR_ROW = { errorCode: text(), provider: text(), calls: integer() }
export type ErrorCount = RowOf<typeof ERROR_ROW>

/**
 * The errors of calls by provider, the most frequent first. A failed call counts at the provider of its last attempt.
 */
export function countErrors(db: Database, calls: Newest, most: number): Promise<ErrorCount[]> {
  return readRows(
    db,
    ERROR_ROW,
    sql`select coalesce(error_code, outcome) as "errorCode", coalesce(${PROVIDER_OF_CALL}, '') as provider,
        count(*)::int as calls
      from ${newestCalls(calls)} where ${IS_FAILED} group by 1, 2 order by 3 desc, 1, 2 limit ${most}`,
  )
}

/** Fees booked in a period, less those given back by refunds, in micro-USD. */
export async function sumFees(db: Database, { from, to }: Period): Promise<bigint> {
  const rows = await readRows(
    db,
    { total: bigint() },
    sql`select coalesce(sum(amount), 0)::bigint as total from every_ledger_entry
      where account = ${PLATFORM_ACCOUNTS.fee} and tx >= ${ulidFloor(from)} and tx < ${ulidFloor(to)}`,
  )
  return rows[0]?.total ?? 0n
}
