import { sql } from 'kysely'
import type { Endpoint } from '#shared/catalog/model.ts'
import type { AccountId, CredentialId, OfferId } from '#shared/ids.ts'
import type { Pass } from '#shared/members/surcharge.ts'
import type { KeptBps, MicroUsd } from '#shared/money.ts'
import { ZERO } from '#shared/money.ts'
import type { NewCredential } from './credentials.ts'
import { credentialUpsert } from './credentials.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { CATALOG_TABLES } from './tables/catalog.ts'
import { id, nullable, timestamp } from './tables/column.ts'
import type { ApiFormat, OfferStatus, PricingMode } from './tables/offers.ts'
import { OFFER_TABLES } from './tables/offers.ts'

/** The columns of an offer that its seller sees, with those of its provider. */
const OFFER_ROW = {
  id: id('ofr'),
  sellerAccount: OFFER_TABLES.offer.seller_account,
  model: OFFER_TABLES.offer.model,
  provider: OFFER_TABLES.offer.provider,
  isTrusted: CATALOG_TABLES.provider.is_trusted,
  fingerprint: OFFER_TABLES.offer.fingerprint,
  baseUrl: OFFER_TABLES.offer.base_url,
  apiFormat: OFFER_TABLES.offer.api_format,
  providerModel: OFFER_TABLES.offer.provider_model,
  pricingMode: OFFER_TABLES.offer.pricing_mode,
  keptBps: OFFER_TABLES.offer.kept_bps,
  capDailyMicro: OFFER_TABLES.offer.cap_daily_micro,
  passes: OFFER_TABLES.offer.passes,
  without: OFFER_TABLES.offer.without_endpoints,
  probeCostMicro: OFFER_TABLES.offer.probe_cost_micro,
  payoutAddress: OFFER_TABLES.offer.payout_address,
  label: OFFER_TABLES.offer.label,
  status: OFFER_TABLES.offer.status,
  delistedReason: OFFER_TABLES.offer.delisted_reason,
  createdAt: OFFER_TABLES.offer.created_at,
  updatedAt: OFFER_TABLES.offer.updated_at,
}
export type StoredOffer = RowOf<typeof OFFER_ROW>

const SELECTED = sql`o.id, o.seller_account as "sellerAccount", o.model, o.provider, p.is_trusted as "isTrusted",
  o.fingerprint, o.base_url as "baseUrl", o.api_format as "apiFormat", o.provider_model as "providerModel",
  o.pricing_mode as "pricingMode", o.kept_bps as "keptBps", o.cap_daily_micro as "capDailyMicro", o.passes,
  o.without_endpoints as without, o.probe_cost_micro as "probeCostMicro",
  o.payout_address as "payoutAddress", o.label, o.status, o.delisted_reason as "delistedReason",
  o.created_at as "createdAt", o.updated_at as "updatedAt"`

export type NewOffer = {
  readonly id: OfferId
  readonly sellerAccount: AccountId
  readonly model: string
  readonly provider: string
  readonly apiFormat: ApiFormat
  readonly providerModel: string
  readonly pricingMode: PricingMode
  readonly keptBps: KeptBps
  readonly capDailyMicro: MicroUsd | null
  readonly passes: readonly Pass[]
  readonly without: readonly Endpoint[]
  readonly probeCostMicro: MicroUsd | null
  readonly payoutAddress: string | null
  /** Since when the address cools, in Unix milliseconds. Undefined for a known address. */
  readonly payoutAddressSince: number | undefined
  readonly label: string | null
  readonly at: number
  /** The provider key, saved for the offer's address. */
  readonly credential: NewCredential
  /** The time of the first probe, unless one is planned. */
  readonly firstProbeAt: number
}

/**
 * Adds an active offer with its credential, which may be saved already, and plans the first probe. It is one statement,
 * because sellers list hundreds of offers. The one-active index refuses a second active offer for the same credential,
 * address and model.
 */
export async function insertOffer(db: Database, offer: NewOffer): Promise<StoredOffer> {
  const { credential } = offer
  const at = new Date(offer.at)
  const since = offer.payoutAddressSince === undefined ? null : new Date(offer.payoutAddressSince)
  const rows = await readRows(
    db,
    OFFER_ROW,
    sql`
    with saved as (${credentialUpsert(credential)}),
    made as (
      insert into offer (id, seller_account, model, provider, credential_id, fingerprint, base_url, api_format,
        provider_model, pricing_mode, kept_bps, cap_daily_micro, passes, without_endpoints, probe_cost_micro, payout_address, payout_address_since, label, status,
        created_at, updated_at)
      select ${offer.id}, ${offer.sellerAccount}, ${offer.model}, ${offer.provider}, id, ${credential.fingerprint},
        ${credential.baseUrl}, ${offer.apiFormat}, ${offer.providerModel}, ${offer.pricingMode}, ${offer.keptBps},
        ${offer.capDailyMicro}, ${[...offer.passes]}::text[], ${[...offer.without]}::text[], ${offer.probeCostMicro},
        ${offer.payoutAddress}, ${since}, ${offer.label}, 'active', ${at}, ${at} from saved
      returning *
    ), planned as (
      insert into offer_probe (credential_id, base_url, next_at)
      select id, ${credential.baseUrl}, ${new Date(offer.firstProbeAt)} from saved on conflict do nothing
    ), token as (
      insert into credential_token (credential_id, next_at)
      select id, ${at} from saved where ${credential.isAccount} on conflict do nothing
    )
    select ${SELECTED} from made o join provider p on p.id = o.provider`,
  )
  const [made] = rows
  if (made === undefined) throw new Error('an insert answered no row')
  return made
}

/** Since when an address is a payee of a seller's offers; `since` is null for an address that never had to cool. */
export async function findPayee(
  trx: Trx,
  seller: AccountId,
  address: string,
): Promise<{ readonly since: Date | null } | undefined> {
  const rows = await readRows(
    trx,
    { since: nullable(timestamp()) },
    sql`select payout_address_since as since from offer where seller_account = ${seller} and payout_address = ${address}
    order by payout_address_since nulls first limit 1`,
  )
  return rows[0]
}

/** An offer of a seller. */
export async function findOffer(db: Database | Trx, seller: AccountId, id: string): Promise<StoredOffer | undefined> {
  const rows = await readRows(
    db,
    OFFER_ROW,
    sql`select ${SELECTED} from offer o join provider p on p.id = o.provider
    where o.seller_account = ${seller} and o.id = ${id}`,
  )
  return rows[0]
}

/** The given offers that belong to the seller, in no order. */
export async function listOffersById(
  db: Database | Trx,
  seller: AccountId,
  ids: readonly string[],
): Promise<StoredOffer[]> {
  const rows = await readRows(
    db,
    OFFER_ROW,
    sql`select ${SELECTED} from offer o join provider p on p.id = o.provider
    where o.seller_account = ${seller} and o.id = any(${[...ids]}::text[])`,
  )
  return rows
}

/** Reads an offer of a seller and locks it until the transaction ends. */
export async function lockOffer(trx: Trx, seller: AccountId, id: string): Promise<StoredOffer | undefined> {
  const rows = await readRows(
    trx,
    OFFER_ROW,
    sql`select ${SELECTED} from offer o join provider p on p.id = o.provider
    where o.seller_account = ${seller} and o.id = ${id} for update of o`,
  )
  return rows[0]
}

/** Reads an offer of any seller. */
export async function findAnyOffer(db: Database | Trx, id: string): Promise<StoredOffer | undefined> {
  const rows = await readRows(
    db,
    OFFER_ROW,
    sql`select ${SELECTED} from offer o join provider p on p.id = o.provider
    where o.id = ${id}`,
  )
  return rows[0]
}

/** Reads an offer of any seller and locks it until the transaction ends. Only operators may use it. */
export async function lockAnyOffer(trx: Trx, id: string): Promise<StoredOffer | undefined> {
  const rows = await readRows(
    trx,
    OFFER_ROW,
    sql`select ${SELECTED} from offer o join provider p on p.id = o.provider
    where o.id = ${id} for update of o`,
  )
  return rows[0]
}

export type OfferFilter = {
  readonly status: OfferStatus | undefined
  readonly model: string | undefined
  /** The last id on the page before. */
  readonly before: string | undefined
}

/** Offers of a seller, newest first. */
export async function listOffers(
  db: Database | Trx,
  seller: AccountId,
  filter: OfferFilter,
  limit: number,
): Promise<StoredOffer[]> {
  const conditions = [
    sql`o.seller_account = ${seller}`,
    ...(filter.status === undefined ? [] : [sql`o.status = ${filter.status}`]),
    ...(filter.model === undefined ? [] : [sql`o.model = ${filter.model}`]),
    ...(filter.before === undefined ? [] : [sql`o.id < ${filter.before}`]),
  ]
  const rows = await readRows(
    db,
    OFFER_ROW,
    sql`select ${SELECTED} from offer o join provider p on p.id = o.provider
    where ${sql.join(conditions, sql` and `)} order by o.id desc limit ${limit}`,
  )
  return rows
}

/** The active offer for a credential, address and model, of any seller. */
export async function findActiveTwin(
  db: Database | Trx,
  twin: { readonly fingerprint: string; readonly baseUrl: string; readonly model: string },
): Promise<{ readonly id: OfferId; readonly sellerAccount: AccountId } | undefined> {
  return db
    .selectFrom('offer')
    .select(['id', 'seller_account as sellerAccount'])
    .where('fingerprint', '=', twin.fingerprint)
    .where('base_url', '=', twin.baseUrl)
    .where('model', '=', twin.model)
    .where('status', '=', 'active')
    .executeTakeFirst()
}

/** The fields to change. An absent field stays. */
export type OfferChange = {
  readonly status?: OfferStatus
  readonly delistedReason?: string | null
  readonly pricingMode?: PricingMode
  readonly keptBps?: KeptBps
  readonly capDailyMicro?: MicroUsd | null
  readonly passes?: readonly Pass[]
  readonly payoutAddress?: string | null
  /** The instant of the address's last change, in Unix milliseconds. */
  readonly payoutAddressSince?: number
  readonly label?: string | null
}

export async function updateOffer(trx: Trx, id: OfferId, change: OfferChange, at: number): Promise<void> {
  await trx
    .updateTable('offer')
    .set({
      updated_at: new Date(at),
      ...(change.status === undefined ? {} : { status: change.status }),
      ...(change.delistedReason === undefined ? {} : { delisted_reason: change.delistedReason }),
      ...(change.pricingMode === undefined ? {} : { pricing_mode: change.pricingMode }),
      ...(change.keptBps === undefined ? {} : { kept_bps: Number(change.keptBps) }),
      ...(change.capDailyMicro === undefined ? {} : { cap_daily_micro: change.capDailyMicro }),
      ...(change.passes === undefined ? {} : { passes: [...change.passes] }),
      ...(change.payoutAddress === undefined ? {} : { payout_address: change.payoutAddress }),
      ...(change.payoutAddressSince === undefined ? {} : { payout_address_since: new Date(change.payoutAddressSince) }),
      ...(change.label === undefined ? {} : { label: change.label }),
    })
    .where('id', '=', id)
    .execute()
}

/**
 * Replaces the credential of an offer. The one-active index refuses a second active offer for the same credential,
 * address and model.
 */
export async function updateOfferCredential(
  trx: Trx,
  change: {
    readonly id: OfferId
    readonly credentialId: CredentialId
    readonly fingerprint: string
    readonly without: readonly Endpoint[]
    readonly at: number
  },
): Promise<void> {
  await trx
    .updateTable('offer')
    .set({
      credential_id: change.credentialId,
      fingerprint: change.fingerprint,
      without_endpoints: [...change.without],
      updated_at: new Date(change.at),
    })
    .where('id', '=', change.id)
    .execute()
}

/** Adds the cost of a test call to the cost of earlier ones. An unknown cost makes the sum unknown. */
export async function addProbeCost(db: Database | Trx, offer: OfferId, cost: MicroUsd | null): Promise<void> {
  if (cost === ZERO) return
  await sql`update offer set probe_cost_micro = probe_cost_micro + ${cost} where id = ${offer}`.execute(db)
}
