import { sql } from 'kysely'
import type { Database, Trx } from './database.ts'
import { knownSum } from './offer-figures.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { ACCOUNT_TABLES } from './tables/accounts.ts'
import { CATALOG_TABLES } from './tables/catalog.ts'
import { double, integer, nullable } from './tables/column.ts'
import type { OfferStatus } from './tables/offers.ts'
import { OFFER_TABLES } from './tables/offers.ts'
import { ORGANIZATION_TABLES } from './tables/organizations.ts'

/** The columns of an offer that operators see. */
const MARKET_OFFER_ROW = {
  id: OFFER_TABLES.offer.id,
  sellerAccount: OFFER_TABLES.offer.seller_account,
  /** The seller's wallet in lower case, `0x…`. An organisation's offers have a workspace instead. */
  wallet: nullable(ACCOUNT_TABLES.app_user.wallet),
  workspace: nullable(ORGANIZATION_TABLES.workspace.id),
  model: OFFER_TABLES.offer.model,
  provider: OFFER_TABLES.offer.provider,
  isTrusted: CATALOG_TABLES.provider.is_trusted,
  baseUrl: OFFER_TABLES.offer.base_url,
  status: OFFER_TABLES.offer.status,
  delistedReason: OFFER_TABLES.offer.delisted_reason,
  /** The share of the reference price that the buyer pays, in hundredths of a percent. */
  keptBps: OFFER_TABLES.offer.kept_bps,
  capDailyMicro: OFFER_TABLES.offer.cap_daily_micro,
  createdAt: OFFER_TABLES.offer.created_at,
  /** Sold calls, and attempts that the provider failed. Null while an hour is not summed in this form. */
  calls: nullable(double()),
  failures: nullable(double()),
}
export type OperatorOffer = RowOf<typeof MARKET_OFFER_ROW>

/** Filters of offers. An undefined field filters nothing. Ids come after `after`. */
export type OfferSearch = {
  readonly model: string | undefined
  readonly provider: string | undefined
  readonly status: OfferStatus | undefined
  readonly isDelisted: boolean | undefined
  readonly wallet: string | undefined
  readonly after: string | undefined
  readonly limit: number
  /** The first hour of the traffic, in Unix milliseconds. */
  readonly trafficFrom: number
}

/** Offers of all sellers, by id. */
export async function listMarketOffers(db: Database | Trx, offerSearch: OfferSearch): Promise<OperatorOffer[]> {
  const filters = [
    offerSearch.model === undefined ? undefined : sql`o.model = ${offerSearch.model}`,
    offerSearch.provider === undefined ? undefined : sql`o.provider = ${offerSearch.provider}`,
    offerSearch.status === undefined ? undefined : sql`o.status = ${offerSearch.status}`,
    offerSearch.isDelisted === undefined ? undefined : sql`(o.delisted_reason is not null) = ${offerSearch.isDelisted}`,
    offerSearch.wallet === undefined ? undefined : sql`u.wallet = ${offerSearch.wallet}`,
    offerSearch.after === undefined ? undefined : sql`o.id > ${offerSearch.after}`,
  ].filter((filter) => filter !== undefined)
  const where = filters.length === 0 ? sql`true` : sql.join(filters, sql` and `)
  const rows = await readRows(
    db,
    MARKET_OFFER_ROW,
    sql`select o.id, o.seller_account as "sellerAccount", o.wallet, w.id as workspace, o.model, o.provider,
      p.is_trusted as "isTrusted", o.base_url as "baseUrl", o.status, o.delisted_reason as "delistedReason",
      o.kept_bps as "keptBps", o.cap_daily_micro as "capDailyMicro", o.created_at as "createdAt",
      h.calls, h.failures
    from (select o.*, u.wallet from offer o left join app_user u on u.seller_account = o.seller_account
      where ${where} order by o.id limit ${offerSearch.limit}) o
    join provider p on p.id = o.provider
    left join workspace w on w.seller_account = o.seller_account
    cross join lateral (
      select (${knownSum('calls')})::float8 as calls, (${knownSum('failed')})::float8 as failures
      from market_offer_hour where offer = o.id and starts_at >= ${new Date(offerSearch.trafficFrom)}) h
    order by o.id`,
  )
  return rows
}

/** Counts the active offers of each provider. */
export async function countOffersByProvider(db: Database | Trx): Promise<{ provider: string; count: number }[]> {
  const rows = await readRows(
    db,
    { provider: OFFER_TABLES.offer.provider, count: integer() },
    sql`select provider, count(*)::int as count
    from offer where status = 'active' group by provider`,
  )
  return rows
}
