import { createHash } from 'node:crypto'
import { makeMonthPartitions } from '#control-plane/db/partitions.ts'
import type { SellerActor } from '#control-plane/operation/actor.ts'
import { machineOperator } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { importCatalog, putProvider } from '#control-plane/services/catalog/catalog.ts'
import { readKeptProviders } from '#control-plane/services/catalog/kept/kept-providers.ts'
import { refreshCatalog } from '#control-plane/services/catalog/refresh.ts'
import { putResource } from '#control-plane/services/catalog/resources.ts'
import { createBuyerKey, revokeBuyerKey } from '#control-plane/services/keys/keys.ts'
import { grantCredit } from '#control-plane/services/ledger/ledger.ts'
import { createLentOffer } from '#control-plane/services/lending/create-lent-offer.ts'
import { listLentOffers } from '#control-plane/services/lending/lent-offers.ts'
import { bulkCreateOffers } from '#control-plane/services/offers/bulk.ts'
import { deleteOffer } from '#control-plane/services/offers/change.ts'
import { listOffers } from '#control-plane/services/offers/read.ts'
import { authenticate } from '#control-plane/services/sign-in/authenticate.ts'
import { holdPublication } from '#control-plane/services/snapshot/publication.ts'
import { createManagementKey, createUser } from '#control-plane/services/users/users.ts'
import type { Address } from '#dev/services/ports.ts'
import type { Provider } from '#shared/catalog/providers.ts'
import { AppError } from '#shared/errors.ts'
import { inParallel } from '#shared/in-parallel.ts'
import type { Secret } from '#shared/secret.ts'
import { modelsOf, readCatalog } from './catalog.ts'
import { inPast } from './in-past.ts'
import { readResources } from './resources.ts'
import type { SeededKeys } from './seeded-keys.ts'
import { readSeededKeys, writeSeededKeys } from './seeded-keys.ts'
import type { SeedBook, SeedSeller } from './sellers.ts'
import { readSandboxProviders, readSellers } from './sellers.ts'

const OPERATOR = machineOperator('seed')
const CREDIT_USD = 1_000
const MAX_CALLS_PER_MINUTE = 1_000_000
const PAGE_SIZE = 100
/** Rows of one bulk listing. */
const ROWS_A_LISTING = 200

export type SeedOptions = {
  /** The file with the keys of the seeded users. */
  readonly keysFile: string
  /** The wallet of the seeded buyer, in lower case. */
  readonly buyerWallet: string
  /** The addresses of the sample providers, by id. */
  readonly addresses: ReadonlyMap<string, Address>
}

/**
 * Fills a market through the public operations: catalogue, allow-list, users with their keys, a funded buyer, offers.
 * Existing records stay as they are, so a second run changes nothing.
 */
export async function applySeeds(ctx: Ctx, options: SeedOptions): Promise<void> {
  const quiet = quietly(ctx)
  const catalog = await readCatalog()
  const keys = await ensureKeys(quiet, options)
  await invoke(quiet, OPERATOR, refreshCatalog, { overwrite: true, accept: 'all' })
  await invoke(quiet, OPERATOR, importCatalog, { source: 'sandbox', models: catalog.sandbox })
  const sellers = await Promise.all(
    readSellers(modelsOf(catalog), catalog.packaged).map(async (seller) => ({
      ...seller,
      actor: await sellerOf(quiet, keys.seller_keys[seller.id]),
    })),
  )
  for (const provider of readKeptProviders()) await putProviderRecord(quiet, provider)
  for (const provider of sandboxProviders(options.addresses)) {
    const owners = sellers.filter(({ books }) => books.some((book) => book.provider === provider.id))
    await putSandboxProvider(
      quiet,
      provider,
      owners.map(({ actor }) => actor),
    )
  }
  for (const record of readResources(options.addresses)) {
    await invoke(quiet, OPERATOR, putResource, { record, source: 'seed' })
  }
  const plans = sellers.flatMap(({ actor, books }) => books.map((book) => ({ actor, book })))
  // A repeat begins only once no listing of this run is under way.
  await inParallel(plans, plans.length, ({ actor, book }) => createOffers(quiet, actor, { book, ...options }))
  for (const seller of sellers) await lendKeys(quiet, seller)
  await ctx.publication.reconcile()
}

/** Publishes hundreds of offers in one step at the end, without counting them against rate limits. */
function quietly(ctx: Ctx): Ctx {
  return {
    ...ctx,
    publication: holdPublication(ctx.publication),
    limiter: async (_scope, limit) => ({ limit, remaining: limit, resetsAt: ctx.clock.now(), isExceeded: false }),
  }
}

/** The still valid keys of an earlier run, or new ones of the same wallets. */
async function ensureKeys(ctx: Ctx, { keysFile: file, buyerWallet: wallet }: SeedOptions): Promise<SeededKeys> {
  const kept = readSeededKeys(file)
  const keys = kept && (await isKnown(ctx, kept, wallet)) ? kept : await makeKeys(ctx, wallet)
  writeSeededKeys(file, keys)
  const ticket = `seed:${wallet}`
  const past = inPast(ctx)
  await makeMonthPartitions(ctx.db, past.clock.now(), 1)
  await invoke(past, OPERATOR, grantCredit, { wallet, amountUsd: CREDIT_USD, ticket, note: 'Sample credit' })
  return keys
}

/** Creates keys that are older than the past calls. */
async function makeKeys(present: Ctx, buyerWallet: string): Promise<SeededKeys> {
  const ctx = inPast(present)
  const make = (name: string, keys: readonly ('buyer' | 'seller')[], wallet = developmentWallet(name)) =>
    invoke(ctx, OPERATOR, createUser, {
      wallet,
      label: `Sample ${name}`,
      keys,
    })
  const buyer = await make('buyer', ['buyer'], buyerWallet)
  const wideKey = await makeWideKey(ctx, buyer.buyerKey)
  const sellers: Record<string, string> = {}
  for (const { id } of readSellers([], new Set())) sellers[id] = (await make(id, ['seller'])).sellerKey?.reveal() ?? ''
  const management = await invoke(ctx, OPERATOR, createManagementKey, { label: 'development', scope: 'operator' })
  return {
    buyer_key: wideKey.reveal(),
    seller_keys: sellers,
    management_key: management.key.reveal(),
  }
}

/** Tests and loads use the seeded buyer, so its key may make more calls per minute than a first key. */
async function makeWideKey(ctx: Ctx, firstKey: Secret | null): Promise<Secret> {
  const actor = await authenticate(ctx, firstKey?.reveal())
  if (actor.kind !== 'buyer') throw new AppError('internal_error', { message: 'the seeded buyer has no key' })
  const input = { label: 'development', rateLimitRpm: MAX_CALLS_PER_MINUTE }
  const created = await invoke(ctx, actor, createBuyerKey, input, { idempotencyKey: `seed:${ctx.ids.ulid()}` })
  await invoke(ctx, actor, revokeBuyerKey, { id: actor.keyId })
  if (created.secret === null) throw new AppError('internal_error', { message: 'the seeded buyer key was not shown' })
  return created.secret
}

/** False also for the keys of an earlier release, whose buyer had another wallet. */
async function isKnown(ctx: Ctx, keys: SeededKeys, buyerWallet: string): Promise<boolean> {
  try {
    const all = [keys.buyer_key, keys.management_key, ...Object.values(keys.seller_keys)]
    const [buyer] = await Promise.all(all.map((key) => authenticate(ctx, key)))
    return buyer?.kind === 'buyer' && buyer.wallet === buyerWallet
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_api_key') return false
    throw error
  }
}

async function sellerOf(ctx: Ctx, key: string | undefined): Promise<SellerActor> {
  const actor = await authenticate(ctx, key)
  if (actor.kind !== 'seller') throw new AppError('internal_error', { message: 'a seeded seller has no key' })
  return actor
}

/** A wallet of the development market. Its private key does not exist. */
function developmentWallet(name: string): string {
  return `0x${createHash('sha256').update(`development ${name}`).digest('hex').slice(0, 40)}`
}

function sandboxProviders(addresses: ReadonlyMap<string, Address>): Provider[] {
  return readSandboxProviders().map(({ id, name, isTrusted }) => {
    const baseUrl = baseUrlOf(addresses, id)
    return {
      id,
      name,
      baseUrl,
      host: new URL(baseUrl).host,
      isTrusted,
      costReferenceUrl: null,
      endpoints: null,
      hosts: [],
      // Paths of a resource of Azure. Every sample provider also plays one.
      basePaths: ['/openai/v1', '/openai'],
      fileHosts: [],
    }
  })
}

function baseUrlOf(addresses: ReadonlyMap<string, Address>, id: string): string {
  const { host, port } = addresses.get(id) ?? { host: '127.0.0.1', port: 0 }
  return `http://${host}:${port}/v1`
}

/**
 * Stores a sample provider. One that moved to another port loses its offers first, because their keys are bound to the
 * old host.
 */
async function putSandboxProvider(ctx: Ctx, provider: Provider, owners: readonly SellerActor[]): Promise<void> {
  try {
    await putProviderRecord(ctx, provider)
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'conflict')) throw error
    for (const owner of owners) {
      for (const offer of await offersOf(ctx, owner)) {
        if (offer.provider === provider.id) await invoke(ctx, owner, deleteOffer, { id: offer.id })
      }
    }
    await putProviderRecord(ctx, provider)
  }
}

/** The host is derived from the base URL. */
function putProviderRecord(ctx: Ctx, { host: _host, ...provider }: Provider): Promise<unknown> {
  return invoke(ctx, OPERATOR, putProvider, provider)
}

type OfferPlan = Pick<SeedOptions, 'addresses'> & { readonly book: SeedBook }

/**
 * Creates the offers that the seller does not have there. Offers that the seller paused, changed or removed stay so.
 */
async function createOffers(ctx: Ctx, seller: SellerActor, { book, addresses }: OfferPlan): Promise<void> {
  const sellerBaseUrl = baseUrlOf(addresses, book.provider)
  const known = new Set((await offersOf(ctx, seller)).map((offer) => `${offer.sellerBaseUrl} ${offer.model}`))
  const missing = book.offers.filter(({ model }) => !known.has(`${sellerBaseUrl} ${model}`))
  const { provider, apiFormat } = book
  const place = { sellerBaseUrl, apiFormat, apiKey: `sk-${provider}-development` }
  for (let from = 0; from < missing.length; from += ROWS_A_LISTING) {
    const rows = missing.slice(from, from + ROWS_A_LISTING)
    const offers = rows.map(({ discountPercent, ...named }) => ({ ...named, discount: discountPercent }))
    const run = await invoke(ctx, seller, bulkCreateOffers, { ...place, offers })
    for (const line of await run.done)
      if (line.status === 'error')
        throw new AppError(line.code === 'service_unavailable' ? line.code : 'internal_error', {
          message: `${line.model} was not listed: ${line.error}`,
        })
  }
}

/** Lends the keys that the seller has never lent. */
async function lendKeys(
  ctx: Ctx,
  { id, actor, lentKeys }: SeedSeller & { readonly actor: SellerActor },
): Promise<void> {
  const { items } = await invoke(ctx, actor, listLentOffers, { maxItems: PAGE_SIZE })
  const known = new Set(items.map(({ resourceType }) => resourceType))
  for (const { resource: resourceType, discountPercent, traits } of lentKeys) {
    if (known.has(resourceType)) continue
    const terms = { resourceType, discountPercent, traits: [...traits], apiKey: `sk-${id}-${resourceType}-development` }
    const input = { ...terms, ackPersistsState: true, ackProviderTerms: true } as const
    await invoke(ctx, actor, createLentOffer, input, { idempotencyKey: `seed:${id}:${resourceType}` })
  }
}

async function offersOf(ctx: Ctx, seller: SellerActor) {
  const all = []
  let nextToken: string | undefined
  do {
    const page = await invoke(ctx, seller, listOffers, { maxItems: PAGE_SIZE, ...(nextToken ? { nextToken } : {}) })
    all.push(...page.items)
    nextToken = page.nextToken ?? undefined
  } while (nextToken !== undefined)
  return all
}
