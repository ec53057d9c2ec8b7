import { sql } from 'kysely'
import type { AccountId, OfferId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { ApiFormat } from './tables/offers.ts'

/** An active offer as an order book has it. */
export type BookedOffer = {
  readonly id: OfferId
  readonly sellerAccount: AccountId
  readonly model: string
  readonly provider: string
  readonly isTrusted: boolean
  readonly baseUrl: string
  readonly keptBps: number
  /** Micro-USD in digits. */
  readonly capDailyMicro: string | null
}

/** An active offer as it is published. */
export type ListedOffer = BookedOffer & {
  readonly apiFormat: ApiFormat
  readonly providerModel: string
  /** Its credential, sealed: the text of a JSON object. */
  readonly sealed: string
  /** Unix milliseconds. */
  readonly createdAt: number
}

const BOOKED = sql`o.id, o.seller_account as "sellerAccount", o.model, o.provider, p.is_trusted as "isTrusted",
  o.base_url as "baseUrl", o.kept_bps as "keptBps", o.cap_daily_micro::text as "capDailyMicro"`

/** What an offer is published from: the transactions that last wrote it, its provider and its credential. */
const SOURCE = sql`hashtextextended(o.id || ':' || o.xmin::text || ':' || p.xmin::text || ':' || c.xmin::text, 0)`
const JOINED = sql`offer o join provider p on p.id = o.provider join credential c on c.id = o.credential_id`

/** The active offers of models, in order of model and id. */
export async function listBookedOffers(db: Database | Trx, models: readonly string[]): Promise<BookedOffer[]> {
  const { rows } = await sql<BookedOffer>`select ${BOOKED} from offer o join provider p on p.id = o.provider
    where o.model = any(${[...models]}::text[]) and o.status = 'active' order by o.model, o.id`.execute(db)
  return rows
}

/** The active offers of one model in order of id, and their source as {@link listOfferSources} tells it. */
export async function listActiveOffers(
  db: Database | Trx,
  model: string,
): Promise<{ readonly offers: readonly ListedOffer[]; readonly source: string | undefined }> {
  const { rows } = await sql<ListedOffer & { source: string }>`with listed as materialized (
      select ${BOOKED}, o.api_format as "apiFormat", o.provider_model as "providerModel", c.sealed::text as sealed,
        floor(extract(epoch from o.created_at) * 1000)::float8 as "createdAt", ${SOURCE} as source
      from ${JOINED} where o.model = ${model} and o.status = 'active')
    select id, "sellerAccount", model, provider, "isTrusted", "baseUrl", "keptBps", "capDailyMicro", "apiFormat",
      "providerModel", sealed, "createdAt",
      (select count(*) || ':' || bit_xor(source) from listed) as source
    from listed order by id`.execute(db)
  return { offers: rows, source: rows[0]?.source }
}

/**
 * A fingerprint of everything that the offers of each model are published from: how many are active, and what each of
 * them comes from. Of all models, or of one.
 */
export async function listOfferSources(db: Database | Trx, model?: string): Promise<ReadonlyMap<string, string>> {
  const chosen = model === undefined ? sql`` : sql`and o.model = ${model}`
  const { rows } = await sql<{ model: string; source: string }>`select o.model,
      count(*) || ':' || bit_xor(${SOURCE}) as source
    from ${JOINED} where o.status = 'active' ${chosen} group by o.model`.execute(db)
  return new Map(rows.map((row) => [row.model, row.source]))
}

/** A model at a provider. */
export type ModelAtProvider = { readonly model: string; readonly provider: string }

/** How many offers of models are active at each provider that has any. */
export async function countActiveOffers(
  db: Database,
  models: readonly string[],
): Promise<(ModelAtProvider & { readonly count: number })[]> {
  const { rows } = await sql<ModelAtProvider & { count: number }>`select model, provider, count(*)::int as count
    from offer where model = any(${[...models]}::text[]) and status = 'active' group by model, provider`.execute(db)
  return rows
}

/** Models with active offers. */
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

/** Models with active offers at a provider. */
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
