import { sql } from 'kysely'
import type { AccountId, CredentialId, OfferId } from '#shared/ids.ts'
import type { KeptBps, MicroUsd } from '#shared/money.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { double, nullable, text } from './tables/column.ts'
import type { LentStatus } from './tables/resources.ts'
import { RESOURCE_TABLES } from './tables/resources.ts'

const { lent_offer: LENT } = RESOURCE_TABLES

/** A lent key for its seller, without the key itself. */
const LENT_ROW = {
  id: LENT.id,
  sellerAccount: LENT.seller_account,
  resource: LENT.resource,
  fingerprint: LENT.fingerprint,
  purgedAt: LENT.purged_at,
  keptBps: LENT.kept_bps,
  capDailyMicro: LENT.cap_daily_micro,
  label: LENT.label,
  models: LENT.models,
  methods: LENT.methods,
  paths: LENT.paths,
  ratePerMinute: LENT.rate_per_minute,
  buyerSharePct: LENT.buyer_share_pct,
  traitsDeclared: LENT.traits_declared,
  traitsProbed: LENT.traits_probed,
  status: LENT.status,
  delistedReason: LENT.delisted_reason,
  createdAt: LENT.created_at,
  updatedAt: LENT.updated_at,
}
export type StoredLentOffer = RowOf<typeof LENT_ROW>

const SELECTED = sql`id, seller_account as "sellerAccount", resource, fingerprint, purged_at as "purgedAt",
  kept_bps as "keptBps", cap_daily_micro as "capDailyMicro", label, models, methods, paths,
  rate_per_minute as "ratePerMinute", buyer_share_pct as "buyerSharePct", traits_declared as "traitsDeclared",
  traits_probed as "traitsProbed", status, delisted_reason as "delistedReason", created_at as "createdAt",
  updated_at as "updatedAt"`

/** The fields that a seller sets. */
export type LentOfferTerms = {
  readonly keptBps: KeptBps
  readonly capDailyMicro: MicroUsd | null
  readonly label: string | null
  readonly models: readonly string[] | null
  readonly methods: readonly string[] | null
  readonly paths: readonly string[] | null
  readonly ratePerMinute: number | null
  readonly buyerSharePct: number | null
}

export type NewLentOffer = LentOfferTerms & {
  readonly id: OfferId
  readonly sellerAccount: AccountId
  readonly resource: string
  readonly credentialId: CredentialId
  readonly fingerprint: string
  readonly sealed: object
  readonly traitsDeclared: readonly string[]
  readonly traitsProbed: readonly string[]
  /** Unix milliseconds. */
  readonly at: number
}

/** Adds an active offer. The one-active index refuses a second active offer of the same key. */
export async function insertLentOffer(trx: Trx, offer: NewLentOffer): Promise<void> {
  const at = new Date(offer.at)
  await trx
    .insertInto('lent_offer')
    .values({
      ...termColumns(offer),
      id: offer.id,
      seller_account: offer.sellerAccount,
      resource: offer.resource,
      credential_id: offer.credentialId,
      fingerprint: offer.fingerprint,
      sealed: JSON.stringify(offer.sealed),
      purged_at: null,
      traits_declared: [...offer.traitsDeclared],
      traits_probed: [...offer.traitsProbed],
      acknowledged_at: at,
      status: 'active',
      delisted_reason: null,
      created_at: at,
      updated_at: at,
    })
    .execute()
}

function termColumns(terms: LentOfferTerms) {
  const { models, methods, paths } = terms
  return {
    kept_bps: Number(terms.keptBps),
    cap_daily_micro: terms.capDailyMicro,
    label: terms.label,
    models: models && [...models],
    methods: methods && [...methods],
    paths: paths && [...paths],
    rate_per_minute: terms.ratePerMinute,
    buyer_share_pct: terms.buyerSharePct,
  }
}

/** Changes an offer. `at` is Unix milliseconds. */
export async function updateLentOffer(
  trx: Trx,
  id: OfferId,
  { terms, status, delistedReason }: LentChange,
  at: number,
): Promise<void> {
  await trx
    .updateTable('lent_offer')
    .set({
      ...(terms === undefined ? {} : termColumns(terms)),
      status,
      delisted_reason: delistedReason,
      updated_at: new Date(at),
    })
    .where('id', '=', id)
    .execute()
}
export type LentChange = {
  readonly terms?: LentOfferTerms
  readonly status: LentStatus
  readonly delistedReason: string | null
}

/**
 * Destroys the keys of offers: the wrapped data key and the ciphertext are deleted in one statement. The fingerprint
 * stays, which opens nothing.
 */
export async function destroyLentKey(trx: Trx, id: string, at: number): Promise<void> {
  await sql`update lent_offer set sealed = null, purged_at = ${new Date(at)}
    where id = ${id} and purged_at is null`.execute(trx)
}

/** An offer of a seller. With `isLocked` it is locked until the transaction ends. */
export async function findLentOffer(
  db: Database | Trx,
  seller: AccountId,
  id: string,
  isLocked = false,
): Promise<StoredLentOffer | undefined> {
  const rows = await readRows(
    db,
    LENT_ROW,
    sql`select ${SELECTED} from lent_offer where seller_account = ${seller} and id = ${id}
    ${isLocked ? sql`for update` : sql``}`,
  )
  return rows[0]
}

/** An offer of any seller, locked until the transaction ends. Only operators may use it. */
export async function lockAnyLentOffer(trx: Trx, id: string): Promise<StoredLentOffer | undefined> {
  const rows = await readRows(trx, LENT_ROW, sql`select ${SELECTED} from lent_offer where id = ${id} for update`)
  return rows[0]
}

export type LentFilter = {
  readonly status: LentStatus | undefined
  readonly resource: string | undefined
  /** The last id on the page before. */
  readonly before: string | undefined
}

/** Offers of a seller, newest first. */
export async function listLentOffers(
  db: Database | Trx,
  seller: AccountId,
  { status, resource, before }: LentFilter,
  limit: number,
): Promise<StoredLentOffer[]> {
  const rows = await readRows(
    db,
    LENT_ROW,
    sql`select ${SELECTED} from lent_offer where seller_account = ${seller}
    ${status === undefined ? sql`` : sql`and status = ${status}`}
    ${resource === undefined ? sql`` : sql`and resource = ${resource}`}
    ${before === undefined ? sql`` : sql`and id < ${before}`}
    order by id desc limit ${limit}`,
  )
  return rows
}

/** The offers of a seller that are not delisted, locked until the transaction ends, by id. */
export async function lockListedLentOffers(trx: Trx, seller: AccountId): Promise<StoredLentOffer[]> {
  const rows = await readRows(
    trx,
    LENT_ROW,
    sql`select ${SELECTED} from lent_offer where seller_account = ${seller} and status <> 'delisted'
    order by id for update`,
  )
  return rows
}

/** The active offer of a key, with its owner. */
export async function findActiveLender(
  db: Database,
  fingerprint: string,
): Promise<{ readonly id: OfferId; readonly sellerAccount: AccountId } | undefined> {
  return db
    .selectFrom('lent_offer')
    .select(['id', 'seller_account as sellerAccount'])
    .where('fingerprint', '=', fingerprint)
    .where('status', '=', 'active')
    .executeTakeFirst()
}

/** The columns of an offer that is published. */
const PUBLISHED_ROW = {
  id: LENT.id,
  sellerAccount: LENT.seller_account,
  keptBps: LENT.kept_bps,
  /** Micro-USD as plain digits. */
  capDailyMicro: nullable(text()),
  models: LENT.models,
  methods: LENT.methods,
  paths: LENT.paths,
  ratePerMinute: LENT.rate_per_minute,
  buyerSharePct: LENT.buyer_share_pct,
  traitsDeclared: LENT.traits_declared,
  traitsProbed: LENT.traits_probed,
  status: LENT.status,
  /** The sealed key, as the text of a JSON object. */
  sealed: text(),
  /** Unix milliseconds. */
  createdAt: double(),
}
export type PublishedLentOffer = RowOf<typeof PUBLISHED_ROW>

/** The active offers of a resource, best discount first, and those with a key that were active after an instant. */
export async function listPublishedLentOffers(
  db: Database | Trx,
  resource: string,
  leftAfter: number,
): Promise<PublishedLentOffer[]> {
  const rows = await readRows(
    db,
    PUBLISHED_ROW,
    sql`select id, seller_account as "sellerAccount", kept_bps as "keptBps", cap_daily_micro::text as "capDailyMicro",
      models, methods, paths, rate_per_minute as "ratePerMinute", buyer_share_pct as "buyerSharePct",
      traits_declared as "traitsDeclared", traits_probed as "traitsProbed", status, sealed::text as sealed,
      floor(extract(epoch from created_at) * 1000)::float8 as "createdAt"
    from lent_offer where resource = ${resource} and sealed is not null
      and (status = 'active' or updated_at > ${new Date(leftAfter)})
    order by kept_bps, id`,
  )
  return rows
}

/** The resources with offers that are published, or were. */
export async function listLentResources(db: Database | Trx): Promise<string[]> {
  const rows = await db.selectFrom('lent_offer').select('resource').distinct().orderBy('resource').execute()
  return rows.map((row) => row.resource)
}

/** Numbers of active offers by resource. */
export async function countLentOffers(db: Database | Trx): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('lent_offer')
    .select(['resource', (count) => count.fn.countAll<bigint>().as('count')])
    .where('status', '=', 'active')
    .groupBy('resource')
    .execute()
  return new Map(rows.map(({ resource, count }) => [resource, Number(count)]))
}

/** A lent key for polls of jobs. `sealed` is JSON; the caller parses it with its schema. */
const LENT_PLACE_ROW = { offer: LENT.id, resource: LENT.resource, sealed: LENT.sealed }
export type LentPlace = RowOf<typeof LENT_PLACE_ROW>

/** The keys of lent offers, on sale or not. Destroyed keys are left out. */
export async function listLentPlaces(db: Database, offers: readonly string[]): Promise<LentPlace[]> {
  if (offers.length === 0) return []
  return readRows(
    db,
    LENT_PLACE_ROW,
    sql`select id as offer, resource, sealed from lent_offer
    where id = any(${[...offers]}::text[]) and sealed is not null`,
  )
}
