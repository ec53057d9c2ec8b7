import { sql } from 'kysely'
import type { Database, Trx } from './database.ts'
import { NEWEST_CALLS_OF_PERIOD, newestCalls } from './newest-calls.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { integer, text } from './tables/column.ts'

/** The rows that a change of a model affects: its active offers, their sellers, and the buyers of its calls. */
const IMPACT_ROW = { model: text(), offers: integer(), sellers: integer(), buyers: integer() }
export type ImpactRow = RowOf<typeof IMPACT_ROW>

/**
 * Counts the offers, sellers and buyers that a change of the models affects, by model. Buyers have a charged call since
 * an instant (Unix milliseconds).
 */
export function countImpact(db: Database | Trx, models: readonly string[], since: number): Promise<ImpactRow[]> {
  return readRows(
    db,
    IMPACT_ROW,
    sql`with named as (select unnest(${[...models]}::text[]) as model),
      sold as (
        select model, count(*)::int as offers, count(distinct seller_account)::int as sellers
        from offer where status = 'active' and model = any(${[...models]}::text[]) group by model),
      bought as (
        select model, count(distinct account)::int as buyers from ${newestCalls({ since, limit: NEWEST_CALLS_OF_PERIOD })}
        where charge > 0 and model = any(${[...models]}::text[]) group by model)
      select named.model, coalesce(offers, 0) as offers, coalesce(sellers, 0) as sellers, coalesce(buyers, 0) as buyers
      from named left join sold using (model) left join bought using (model) order by named.model`,
  )
}
