import { createHmac } from 'node:crypto'
import { z } from 'zod'
import { ModelSchema } from '#shared/catalog/model.ts'
import { SealedCredentialSchema } from '#shared/contract/sealed-credential.ts'
import type {
  LimitsDocumentSchema,
  MarketsDocumentSchema,
  OfferRowSchema,
  OffersDocumentSchema,
  PricesDocumentSchema,
  TradesDocumentSchema,
} from '#shared/contract/snapshot.ts'
import { accountOfDocument, DOCUMENT_SCHEMAS } from '#shared/contract/snapshot.ts'
import type { AccountId } from '#shared/ids.ts'
import type { Secret } from '#shared/secret.ts'
import { listModelBodies, listPricesAt, listProviders } from '../db/catalog.ts'
import type { Trx } from '../db/database.ts'
import { listTrades } from '../db/market-figures.ts'
import type { ListedOffer } from '../db/offers.ts'
import { listActiveOffers } from '../db/offers.ts'
import type { Ctx } from '../operation.ts'
import { buildAccountPolicy } from './buyers/account-policy.ts'
import { dayBefore, readRowBodies, readSpeedClasses } from './market/market-rows.ts'
import { readDataPlaneControls } from './operators/operator-controls.ts'

/** Documents that always exist. */
export const FIXED_DOCUMENTS = Object.keys(DOCUMENT_SCHEMAS)

const OFFERS = 'offers:'

/** The body of a document as Postgres has it now, in the form the contract's schema reads. */
export async function buildDocument(ctx: Pick<Ctx, 'settings' | 'clock'>, trx: Trx, name: string): Promise<unknown> {
  const account = accountOfDocument(name)
  if (account !== undefined) return buildAccountPolicy(trx, account)
  if (name.startsWith(OFFERS)) return buildOffers(ctx, trx, name.slice(OFFERS.length))
  switch (name) {
    case 'models':
      return { models: await listModels(trx) }
    case 'prices':
      return buildPrices(trx, ctx.clock.now())
    case 'providers':
      return { providers: await listProviders(trx) }
    case 'markets':
      return buildMarkets(trx)
    case 'trades':
      return buildTrades(trx, ctx.clock.now())
    case 'resources':
      return { resources: [] }
    case 'limits':
      return buildLimits(ctx, trx)
    default:
      throw new RangeError(`no document is called ${name}`)
  }
}

function listModels(trx: Trx) {
  return listModelBodies(trx).then((bodies) => bodies.map((body) => ModelSchema.parse(body)))
}

async function buildOffers(
  ctx: Pick<Ctx, 'settings' | 'clock'>,
  trx: Trx,
  model: string,
): Promise<z.input<typeof OffersDocumentSchema>> {
  const offers = await listActiveOffers(trx, model)
  const speeds = await readSpeedClasses(trx, model, ctx.clock.now())
  const aliases = new Map<AccountId, string>()
  const aliasOf = (account: AccountId): string => {
    const alias = aliases.get(account) ?? sellerAlias(account, ctx.settings.fingerprintPepper)
    aliases.set(account, alias)
    return alias
  }
  return { model, offers: offers.map((offer) => toRow(offer, aliasOf(offer.sellerAccount), speeds.get(offer.id))) }
}

function toRow(offer: ListedOffer, alias: string, ttftMs: number | undefined): z.input<typeof OfferRowSchema> {
  return {
    id: offer.id,
    model: offer.model,
    sellerAccount: offer.sellerAccount,
    sellerAlias: alias,
    provider: offer.provider,
    isTrusted: offer.isTrusted,
    baseUrl: offer.baseUrl,
    apiFormat: offer.apiFormat,
    providerModel: offer.providerModel,
    keptBps: offer.keptBps,
    capDailyMicro: offer.capDailyMicro?.toString() ?? null,
    credential: SealedCredentialSchema.parse(offer.sealed),
    ttftMs: ttftMs ?? null,
    createdAt: offer.createdAt.getTime(),
  }
}

/** The same seller has the same alias everywhere, and it tells nothing of the account. */
function sellerAlias(account: AccountId, pepper: Secret): string {
  return `seller-${createHmac('sha256', pepper.reveal()).update(`alias\n${account}`).digest('hex').slice(0, 8)}`
}

const StoredPrices = z.record(z.string(), z.string())

async function buildPrices(trx: Trx, at: number): Promise<z.input<typeof PricesDocumentSchema>> {
  const prices = await listPricesAt(trx, at)
  return {
    prices: Object.fromEntries(
      prices.map((price) => [
        price.model,
        {
          version: price.version,
          effectiveAt: price.effectiveAt.getTime(),
          source: price.source,
          unitPrices: StoredPrices.parse(price.unitPrices),
        },
      ]),
    ),
  }
}

async function buildMarkets(trx: Trx): Promise<z.input<typeof MarketsDocumentSchema>> {
  const models = await listModels(trx)
  const onMarket = models.filter((model) => !model.isSandbox).map((model) => model.id)
  return { rows: await readRowBodies(trx, onMarket) }
}

async function buildTrades(trx: Trx, now: number): Promise<z.input<typeof TradesDocumentSchema>> {
  return { models: Object.fromEntries(await listTrades(trx, dayBefore(now))) }
}

async function buildLimits(
  { settings }: Pick<Ctx, 'settings'>,
  trx: Trx,
): Promise<z.input<typeof LimitsDocumentSchema>> {
  return { ...(await readDataPlaneControls(trx, settings)), platformFeeBps: Number(settings.platformFeeBps) }
}
