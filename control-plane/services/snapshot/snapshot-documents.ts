import { z } from 'zod'
import { listModelBodies, listPricesAt, listProviders } from '#control-plane/db/catalog.ts'
import type { Trx } from '#control-plane/db/database.ts'
import type { ListedOffer } from '#control-plane/db/listed-offers.ts'
import { listActiveOffers } from '#control-plane/db/listed-offers.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { readPriceLines } from '#control-plane/services/catalog/catalog-plan.ts'
import { readDataPlaneControls } from '#control-plane/services/controls/operator-controls.ts'
import { buildLent, buildResources, buildSold } from '#control-plane/services/lending/lent-documents.ts'
import { readRowBodies, readSpeedClasses, readTradesTexts } from '#control-plane/services/market/market-rows.ts'
import { buildAccountPolicy } from '#control-plane/services/routing/account-policy.ts'
import { ModelSchema } from '#shared/catalog/model.ts'
import type {
  LimitsDocumentSchema,
  MarketsDocumentSchema,
  OfferRowSchema,
  PricesDocumentSchema,
  TradesDocumentSchema,
} from '#shared/contract/snapshot.ts'
import { accountOfDocument, DOCUMENT_SCHEMAS, modelOfDocument, resourceOfDocument } from '#shared/contract/snapshot.ts'
import { writeOverrides } from '#shared/price-list.ts'

/** Documents that always exist. */
export const FIXED_DOCUMENTS = Object.keys(DOCUMENT_SCHEMAS)

/** The source of a model's document without offers. */
export const NO_OFFERS = 'none'

/**
 * The present body of a document in Postgres, as JSON for the contract's schema. `source` is the fingerprint of a
 * model's offers, null for any other document.
 */
export type BuiltDocument = { readonly body: string; readonly source: string | null }

export async function buildDocument(ctx: BuildCtx, trx: Trx, name: string): Promise<BuiltDocument> {
  const model = modelOfDocument(name)
  if (model !== undefined) return buildOffers(ctx, trx, model)
  const resource = resourceOfDocument(name)
  if (resource !== undefined) return { body: await buildLent(ctx, trx, resource), source: null }
  return { body: JSON.stringify(await readBody(ctx, trx, name)), source: null }
}
type BuildCtx = Pick<Ctx, 'settings' | 'clock' | 'sellerAlias'>

async function readBody(ctx: BuildCtx, trx: Trx, name: string): Promise<unknown> {
  const account = accountOfDocument(name)
  if (account !== undefined) return buildAccountPolicy(trx, account, ctx.clock.now())
  switch (name) {
    case 'models':
      return { models: await listModels(trx) }
    case 'prices':
      return buildPrices(trx, ctx.clock.now())
    case 'providers':
      return { providers: await listProviders(trx) }
    case 'resources':
      return buildResources(trx)
    case 'sold':
      return buildSold(trx, ctx.clock.now())
    case 'markets':
      return buildMarkets(trx, ctx.clock.now())
    case 'trades':
      return buildTrades(trx, ctx.clock.now())
    case 'limits':
      return buildLimits(ctx, trx)
    default:
      throw new RangeError(`no document is called ${name}`)
  }
}

function listModels(trx: Trx) {
  return listModelBodies(trx).then((bodies) => bodies.map((body) => ModelSchema.parse(body)))
}

async function buildOffers({ sellerAlias, clock }: BuildCtx, trx: Trx, model: string): Promise<BuiltDocument> {
  const { offers, source } = await listActiveOffers(trx, model, clock.now())
  const speeds = await readSpeedClasses(trx, [model], clock.now())
  const rows = offers.map((offer) => {
    const alias = sellerAlias(offer.sellerAccount)
    return writeOffer(offer, alias, speeds.get(offer.id))
  })
  return { body: `{"model":${JSON.stringify(model)},"offers":[${rows.join(',')}]}`, source: source ?? NO_OFFERS }
}

/** Writes an offer as JSON. The sealed credential is copied from the database as it is. */
function writeOffer(offer: ListedOffer, alias: string, ttftMs: number | undefined): string {
  const row: Omit<z.input<typeof OfferRowSchema>, 'credential'> = {
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
    capDailyMicro: offer.capDailyMicro,
    ...(offer.passes.length > 0 && { passes: offer.passes }),
    ...(offer.without.length > 0 && { without: offer.without }),
    ttftMs: ttftMs ?? null,
    createdAt: offer.createdAt,
  }
  return `${JSON.stringify(row).slice(0, -1)},"credential":${offer.sealed}}`
}

const StoredPrices = z.record(z.string(), z.string())

async function buildPrices(trx: Trx, at: number): Promise<z.input<typeof PricesDocumentSchema>> {
  const prices = await listPricesAt(trx, at)
  return {
    prices: Object.fromEntries(
      prices.map((price) => {
        const { overrides = [], minimums } = readPriceLines(price)
        return [
          price.model,
          {
            version: price.version,
            effectiveAt: price.effectiveAt.getTime(),
            source: price.source,
            unitPrices: StoredPrices.parse(price.unitPrices),
            ...(overrides.length > 0 && { overrides: writeOverrides(overrides) }),
            ...(minimums && { minimums }),
          },
        ]
      }),
    ),
  }
}

async function buildMarkets(trx: Trx, now: number): Promise<z.input<typeof MarketsDocumentSchema>> {
  const models = await listModels(trx)
  const onMarket = models.filter((model) => !model.isSandbox).map((model) => model.id)
  return { rows: await readRowBodies(trx, onMarket, now) }
}

async function buildTrades(trx: Trx, now: number): Promise<z.input<typeof TradesDocumentSchema>> {
  const trades = await readTradesTexts(trx, now)
  return { models: trades && Object.fromEntries(trades) }
}

async function buildLimits(
  { settings }: Pick<Ctx, 'settings'>,
  trx: Trx,
): Promise<z.input<typeof LimitsDocumentSchema>> {
  return { ...(await readDataPlaneControls(trx, settings)), platformFeeBps: Number(settings.platformFeeBps) }
}
