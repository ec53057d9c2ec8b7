import { createHmac } from 'node:crypto'
import { z } from 'zod'
import { ModelSchema } from '#shared/catalog/model.ts'
import { SealedCredentialSchema } from '#shared/contract/sealed-credential.ts'
import type {
  LimitsDocumentSchema,
  MarketRowSchema,
  MarketsDocumentSchema,
  OfferRowSchema,
  OffersDocumentSchema,
  PricesDocumentSchema,
} from '#shared/contract/snapshot.ts'
import { accountOfDocument, DOCUMENT_SCHEMAS } from '#shared/contract/snapshot.ts'
import type { AccountId } from '#shared/ids.ts'
import type { Secret } from '#shared/secret.ts'
import { listModelBodies, listPricesAt, listProviders } from '../db/catalog.ts'
import type { Trx } from '../db/database.ts'
import type { ListedOffer } from '../db/offers.ts'
import { listActiveOffers } from '../db/offers.ts'
import type { Ctx } from '../operation.ts'
import { buildAccountPolicy } from './account-policy.ts'

import { dayBefore } from './market-rollup.ts'
import { readMarketRows, readSpeedClasses } from './market-rows.ts'
import { readDataPlaneControls } from './operator-controls.ts'
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
  ctx: Pick<Ctx, 'settings'>,
  trx: Trx,
  model: string,
): Promise<z.input<typeof OffersDocumentSchema>> {
  const offers = await listActiveOffers(trx, model)
  return { model, offers: offers.map((offer) => toRow(offer, ctx.settings.fingerprintPepper)) }
}

function toRow(offer: ListedOffer, pepper: Secret): z.input<typeof OfferRowSchema> {
  return {
    id: offer.id,
    model: offer.model,
    sellerAccount: offer.sellerAccount,
    sellerAlias: sellerAlias(offer.sellerAccount, pepper),
    provider: offer.provider,
    isTrusted: offer.isTrusted,
    baseUrl: offer.baseUrl,
    apiFormat: offer.apiFormat,
    providerModel: offer.providerModel,
    keptBps: offer.keptBps,
    capDailyMicro: offer.capDailyMicro?.toString() ?? null,
    credential: SealedCredentialSchema.parse(offer.sealed),
    ttftMs: null,
    createdAt: offer.createdAt.getTime(),
    stats: { trades24h: 0, volume24hMicro: '0' },
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

/** Rows without figures until the roll-ups measure some: null means unknown, counts begin at zero. */
async function buildMarkets(trx: Trx): Promise<z.input<typeof MarketsDocumentSchema>> {
  const models = await listModels(trx)
  const rows = models.filter((model) => !model.isSandbox).map((model) => emptyMarketRow(model.id))
  return { rows }
}

function emptyMarketRow(model: string): z.input<typeof MarketRowSchema> {
  return {
    model,
    ttftP50Ms: null,
    ttftSamples: 0,
    tpsP50: null,
    tpsSamples: 0,
    uptimePct: null,
    cacheHitRatePct: null,
    requests24h: 0,
    volume24hMicro: '0',
    discountTrend: null,
    providers: [],
  }
}

async function buildLimits(
  { settings }: Pick<Ctx, 'settings'>,
  trx: Trx,
): Promise<z.input<typeof LimitsDocumentSchema>> {
  return { ...(await readDataPlaneControls(trx, settings)), platformFeeBps: Number(settings.platformFeeBps) }
}
