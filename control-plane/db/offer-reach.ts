import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import type { Database } from './database.ts'
import type { Newest } from './newest-calls.ts'
import { newestCalls } from './newest-calls.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { bigint, boolean, integer } from './tables/column.ts'
import { OFFER_TABLES } from './tables/offers.ts'

/** Charged calls of a model that were served at one price, by the seller or by others. */
const SERVED_ROW = {
  /** Share of the reference price that buyers paid. */
  keptBps: integer(),
  isOwn: boolean(),
  /** Trust of the provider as it is now. */
  isTrusted: boolean(),
  calls: integer(),
  /** The cost at the reference price, micro-USD. */
  listMicro: bigint(),
}
export type ServedCalls = RowOf<typeof SERVED_ROW>

/** Groups a model's charged calls by price and by seller. Only the newest calls of all models are read. */
export function sumServedCalls(
  db: Database,
  { model, seller }: { readonly model: string; readonly seller: AccountId },
  newest: Newest,
): Promise<ServedCalls[]> {
  return readRows(
    db,
    SERVED_ROW,
    sql`select kept_bps::int as "keptBps", coalesce(seller_account = ${seller}, false) as "isOwn",
      coalesce(provider.is_trusted, false) as "isTrusted", count(*)::int as calls, sum(list_cost)::bigint as "listMicro"
    from ${newestCalls(newest)} left join provider on provider.id = newest.provider
    where model = ${model} and offer is not null and charge > 0
    group by 1, 2, 3 order by 1 desc`,
  )
}

const OWN_OFFER_ROW = { id: OFFER_TABLES.offer.id, keptBps: integer() }
export type OwnOfferPrice = RowOf<typeof OWN_OFFER_ROW>

/** The active offers of a seller for a model, the largest discount first. */
export function listOwnPrices(
  db: Database,
  { model, seller }: { readonly model: string; readonly seller: AccountId },
): Promise<OwnOfferPrice[]> {
  return readRows(
    db,
    OWN_OFFER_ROW,
    sql`select id, kept_bps::int as "keptBps" from offer
      where seller_account = ${seller} and model = ${model} and status = 'active' order by kept_bps, id`,
  )
}
