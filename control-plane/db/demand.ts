import { sql } from 'kysely'
import type { Database } from './database.ts'
import type { Newest } from './newest-calls.ts'
import { newestCalls } from './newest-calls.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { bigint, integer } from './tables/column.ts'

/** The charged calls that were served at one whole percentage below the reference price, and their sums. */
const DEMAND_STEP_ROW = {
  /** Rounded down: 25 covers 25 to below 26 percent. */
  discountPct: integer(),
  calls: integer(),
  /** The cost at the reference price, and the amount paid; micro-USD. */
  listMicro: bigint(),
  paidMicro: bigint(),
}
export type DemandStep = RowOf<typeof DEMAND_STEP_ROW>

/**
 * Groups a model's charged calls that sellers served by discount, the smallest first. Only the newest calls of all
 * models are read.
 */
export async function sumDemand(db: Database, model: string, newest: Newest): Promise<DemandStep[]> {
  const rows = await readRows(
    db,
    DEMAND_STEP_ROW,
    sql`select (10000 - kept_bps) / 100 as "discountPct", count(*)::int as calls,
      sum(list_cost)::bigint as "listMicro", sum(charge)::bigint as "paidMicro"
    from ${newestCalls(newest)} where model = ${model} and offer is not null and charge > 0
    group by 1 order by 1`,
  )
  return rows
}
