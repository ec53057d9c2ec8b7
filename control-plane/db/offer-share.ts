import { sql } from 'kysely'
import type { OfferId } from '#shared/ids.ts'
import type { Database } from './database.ts'
import type { Newest } from './newest-calls.ts'
import { newestCalls } from './newest-calls.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { integer, json } from './tables/column.ts'

/** The results of an offer in the calls that considered it. */
const OFFER_SHARE_ROW = {
  /** Calls that the offer served. */
  won: integer(),
  /** Calls that tried the offer, failed, and went on to another offer. */
  failedOver: integer(),
  /** Calls that could have used the offer and were served by a better offer. */
  outranked: integer(),
  /** Calls that could not use the offer, by routing's reason. */
  excluded: json<readonly { readonly reason: string; readonly calls: number }[]>(),
}
export type OfferShare = RowOf<typeof OFFER_SHARE_ROW>

/**
 * Adds up the explanations of the newest calls of all buyers. A call names at most 20 offers of either kind, so offers
 * further down a longer book are not counted.
 */
export async function sumOfferShare(
  db: Database,
  { id, model }: { readonly id: OfferId; readonly model: string },
  newest: Newest,
): Promise<OfferShare> {
  const offerName = JSON.stringify([{ offer: id }])
  const rows = await readRows(
    db,
    OFFER_SHARE_ROW,
    sql`with calls as materialized (
      select offer, attempts, explanation from ${newestCalls(newest)} where model = ${model}),
    placed as (
      select coalesce(offer = ${id}, false) as "isWinner", attempts @> ${offerName}::jsonb as "isTried",
        coalesce(explanation -> 'ranked' @> ${offerName}::jsonb, false) as "isRanked" from calls),
    reasons as (
      select entry ->> 'reason' as reason, count(*)::int as calls
      from calls, jsonb_array_elements(explanation -> 'excluded') entry
      where entry ->> 'offer' = ${id} group by 1)
    select count(*) filter (where "isWinner")::int as won,
      count(*) filter (where "isTried" and not "isWinner")::int as "failedOver",
      count(*) filter (where "isRanked" and not "isTried" and not "isWinner")::int as outranked,
      (select coalesce(jsonb_agg(jsonb_build_object('reason', reason, 'calls', calls) order by calls desc, reason), '[]')
        from reasons) as excluded
    from placed`,
  )
  return rows[0] ?? { won: 0, failedOver: 0, outranked: 0, excluded: [] }
}
