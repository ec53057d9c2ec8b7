import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import type { Database } from './database.ts'
import type { Newest } from './newest-calls.ts'
import { newestCalls } from './newest-calls.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { bigint, integer, nullable } from './tables/column.ts'
import { OFFER_TABLES } from './tables/offers.ts'

/**
 * A model of a seller's offers, and the money that the newest calls for it brought to the seller and to others. Amounts
 * are micro-USD.
 */
const OFFER_YIELD_ROW = {
  model: OFFER_TABLES.offer.model,
  /** The seller's offers that are active. */
  offers: integer(),
  /** Kept basis points of the largest discount. Null without an active offer. */
  bestKeptBps: nullable(integer()),
  /** Charged calls that the seller served, and their earnings. */
  won: integer(),
  earnedMicro: bigint(),
  /** Charged calls that others served, and the payments for them. */
  passed: integer(),
  passedMicro: bigint(),
  /** The number of all models of the seller. */
  total: integer(),
}
export type OfferYield = RowOf<typeof OFFER_YIELD_ROW>

/**
 * The models that a seller has on sale or sold, those with the most money first, of the seller and of others together.
 * Only the newest calls of all models are read.
 */
export function sumOfferYield(db: Database, seller: AccountId, newest: Newest, most: number): Promise<OfferYield[]> {
  return readRows(
    db,
    OFFER_YIELD_ROW,
    sql`with own as (
      select model, count(*) filter (where status = 'active')::int as offers,
        min(kept_bps) filter (where status = 'active')::int as "bestKeptBps"
      from offer where seller_account = ${seller} group by model),
    called as (
      select model, count(*) filter (where "isOwn")::int as won, count(*) filter (where not "isOwn")::int as passed,
        coalesce(sum(seller_net) filter (where "isOwn"), 0)::bigint as "earnedMicro",
        coalesce(sum(charge) filter (where not "isOwn"), 0)::bigint as "passedMicro"
      from (select model, seller_net, charge, coalesce(seller_account = ${seller}, false) as "isOwn"
        from ${newestCalls(newest)} where offer is not null and charge > 0) calls
      group by model)
    select model, offers, "bestKeptBps", coalesce(won, 0) as won, coalesce("earnedMicro", 0) as "earnedMicro",
      coalesce(passed, 0) as passed, coalesce("passedMicro", 0) as "passedMicro", (count(*) over ())::int as total
    from own left join called using (model) where offers > 0 or won > 0
    order by coalesce("earnedMicro" + "passedMicro", 0) desc, offers desc, model limit ${most}`,
  )
}
