import { sql } from 'kysely'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { CATALOG_TABLES } from './tables/catalog.ts'
import { double, id, integer, nullable, text } from './tables/column.ts'
import { OFFER_TABLES } from './tables/offers.ts'

/** The columns of an active offer in an order book. */
const BOOKED_OFFER_ROW = {
  id: id('ofr'),
  sellerAccount: OFFER_TABLES.offer.seller_account,
  model: OFFER_TABLES.offer.model,
  provider: OFFER_TABLES.offer.provider,
  isTrusted: CATALOG_TABLES.provider.is_trusted,
  baseUrl: OFFER_TABLES.offer.base_url,
  keptBps: OFFER_TABLES.offer.kept_bps,
  /** Micro-USD as plain digits. */
  capDailyMicro: nullable(text()),
  apiFormat: OFFER_TABLES.offer.api_format,
  without: OFFER_TABLES.offer.without_endpoints,
}
export type BookedOffer = RowOf<typeof BOOKED_OFFER_ROW>

/** The columns of an active offer that is published. */
const LISTED_OFFER_ROW = {
  ...BOOKED_OFFER_ROW,
  providerModel: OFFER_TABLES.offer.provider_model,
  passes: OFFER_TABLES.offer.passes,
  /** The sealed credential, as the text of a JSON object. */
  sealed: text(),
  /** Unix milliseconds. */
  createdAt: double(),
}
export type ListedOffer = RowOf<typeof LISTED_OFFER_ROW>

const BOOKED = sql`o.id, o.seller_account as "sellerAccount", o.model, o.provider, p.is_trusted as "isTrusted",
  o.base_url as "baseUrl", o.kept_bps as "keptBps", o.cap_daily_micro::text as "capDailyMicro",
  o.api_format as "apiFormat", o.without_endpoints as without`

/**
 * A hash over the transactions that last wrote an offer, its provider and its credential. It changes when the published
 * offer may change.
 */
const SOURCE = sql`hashtextextended(o.id || ':' || o.xmin::text || ':' || p.xmin::text || ':' || c.xmin::text || coalesce(':' || t.xmin::text, ''), 0)`
const JOINED = sql`offer o join provider p on p.id = o.provider join credential c on c.id = o.credential_id
  left join credential_token t on t.credential_id = c.id`

/** The active offers of models, by model and id. */
export async function listBookedOffers(db: Database | Trx, models: readonly string[]): Promise<BookedOffer[]> {
  const rows = await readRows(
    db,
    BOOKED_OFFER_ROW,
    sql`select ${BOOKED} from offer o join provider p on p.id = o.provider
    where o.model = any(${[...models]}::text[]) and o.status = 'active' order by o.model, o.id`,
  )
  return rows
}

/**
 * The active offers of one model by id, and their fingerprint as {@link listOfferSources} computes it. A credential
 * that is an account is replaced by its token. Offers of an account without a token that is valid at `at` are left out.
 */
export async function listActiveOffers(
  db: Database | Trx,
  model: string,
  at: number,
): Promise<{ readonly offers: readonly ListedOffer[]; readonly source: string | undefined }> {
  const rows = await readRows(
    db,
    { ...LISTED_OFFER_ROW, source: text() },
    sql`with listed as materialized (
      select ${BOOKED}, o.provider_model as "providerModel", o.passes,
        case when t.credential_id is null then c.sealed else t.sealed end::text as sealed,
        t.credential_id is null or t.expires_at > ${new Date(at)} as is_callable,
        floor(extract(epoch from o.created_at) * 1000)::float8 as "createdAt", ${SOURCE} as source
      from ${JOINED} where o.model = ${model} and o.status = 'active')
    select id, "sellerAccount", model, provider, "isTrusted", "baseUrl", "keptBps", "capDailyMicro", "apiFormat", without,
      "providerModel", passes, sealed, "createdAt",
      (select count(*) || ':' || bit_xor(source) from listed) as source
    from listed where is_callable order by id`,
  )
  return { offers: rows, source: rows[0]?.source }
}

/** A fingerprint of all published data about each model's active offers. Covers all models, or one. */
export async function listOfferSources(db: Database | Trx, model?: string): Promise<ReadonlyMap<string, string>> {
  const chosen = model === undefined ? sql`` : sql`and o.model = ${model}`
  const rows = await readRows(
    db,
    { model: text(), source: text() },
    sql`select o.model,
      count(*) || ':' || bit_xor(${SOURCE}) as source
    from ${JOINED} where o.status = 'active' ${chosen} group by o.model`,
  )
  return new Map(rows.map((row) => [row.model, row.source]))
}

/** A model at a provider. */
const MODEL_AT_PROVIDER_ROW = {
  model: OFFER_TABLES.offer.model,
  provider: OFFER_TABLES.offer.provider,
}
export type ModelAtProvider = RowOf<typeof MODEL_AT_PROVIDER_ROW>

/** Counts the active offers of models at each provider that has any. */
export async function countActiveOffers(
  db: Database,
  models: readonly string[],
): Promise<(ModelAtProvider & { readonly count: number })[]> {
  const rows = await readRows(
    db,
    { ...MODEL_AT_PROVIDER_ROW, count: integer() },
    sql`select model, provider, count(*)::int as count
    from offer where model = any(${[...models]}::text[]) and status = 'active' group by model, provider`,
  )
  return rows
}

/** The models with active offers. */
export async function listOfferedModels(db: Database | Trx): Promise<string[]> {
  const rows = await db
    .selectFrom('offer')
    .select('model')
    .where('status', '=', 'active')
    .distinct()
    .orderBy('model')
    .execute()
  return rows.map((row) => row.model)
}

/** The models with active offers at a provider. */
export async function listModelsOfProvider(db: Database | Trx, provider: string): Promise<string[]> {
  const rows = await db
    .selectFrom('offer')
    .select('model')
    .where('provider', '=', provider)
    .where('status', '=', 'active')
    .distinct()
    .execute()
  return rows.map((row) => row.model)
}
