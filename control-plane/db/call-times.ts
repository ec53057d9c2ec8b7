import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import { ulidFloor } from '#shared/ids.ts'
import type { Database } from './database.ts'
import { readRows } from './rows.ts'
import { doubles, integer, nullable } from './tables/column.ts'

/** Milliseconds within which 50% and 95% of the calls ended. */
export type Percentiles = { readonly p50: number; readonly p95: number }

/** `ttftMs` covers the `timed` calls, which were streamed. Null without calls. */
export type CallTimes = {
  readonly calls: number
  readonly timed: number
  readonly ttftMs: Percentiles | null
  readonly durationMs: Percentiles | null
}

const CALL_TIMES_ROW = {
  calls: integer(),
  timed: integer(),
  ttft: nullable(doubles()),
  duration: nullable(doubles()),
}

const QUANTILES = sql.raw('percentile_disc(array[0.5, 0.95]::float8[])')

/**
 * Measures the newest successful calls of a buyer that were admitted from `since` (Unix milliseconds) on, at most
 * `limit`.
 */
export async function measureCallTimes(
  db: Database,
  account: AccountId,
  newest: { readonly since: number; readonly limit: number },
): Promise<CallTimes> {
  const rows = await readRows(
    db,
    CALL_TIMES_ROW,
    sql`select count(*)::int as calls, count(ttft_ms)::int as timed,
      ${QUANTILES} within group (order by ttft_ms) as ttft,
      ${QUANTILES} within group (order by duration_ms) as duration
    from (select ttft_ms, duration_ms from settlement
      where account = ${account} and rid >= ${ulidFloor(newest.since)} and outcome = 'succeeded'
      order by rid desc limit ${newest.limit}) newest`,
  )
  const [row] = rows
  return {
    calls: row?.calls ?? 0,
    timed: row?.timed ?? 0,
    ttftMs: pairOf(row?.ttft),
    durationMs: pairOf(row?.duration),
  }
}

function pairOf(quantiles: readonly (number | null)[] | null | undefined): Percentiles | null {
  const [p50, p95] = quantiles ?? []
  return p50 == null || p95 == null ? null : { p50, p95 }
}
