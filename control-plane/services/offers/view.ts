import { z } from 'zod'
import { listMediaUnits, listPricesAt } from '#control-plane/db/catalog.ts'
import type { StoredOffer } from '#control-plane/db/offers.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { ProbeCost, shownCost } from '#control-plane/services/providers/probe-cost.ts'
import { viewCap } from '#control-plane/services/view-cap.ts'
import { UnitPriceList } from '#control-plane/services/view-fields.ts'
import { ENDPOINTS } from '#shared/catalog/model.ts'
import { keptToPercent } from '#shared/discount.ts'
import { costMultiplier, modelPrices } from '#shared/market-view.ts'
import { PASSES } from '#shared/members/surcharge.ts'
import { KEEP_ALL, keptBps, microUsd } from '#shared/money.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import { UnitPricesSchema } from '#shared/pricing.ts'
import { ProtocolNameSchema } from '#shared/protocols/index.ts'
import { PROBE_FIELDS } from './probe-listing.ts'

/**
 * An offer for its seller. Prices per million tokens and per media unit are whole micro-USD: `direct` is the reference,
 * `effective` is what a buyer pays. Instants are Unix milliseconds.
 */
export const OfferViewSchema = z.object({
  id: z.string(),
  model: z.string(),
  sellerBaseUrl: z.string(),
  provider: z.string(),
  providerModel: z.string(),
  apiFormat: ProtocolNameSchema,
  trusted: z.boolean(),
  status: z.enum(['active', 'paused', 'inactive']),
  healthy: z.boolean(),
  consecutiveFailures: z.number(),
  backedOffUntil: z.number().nullable(),
  delistedReason: z.string().nullable(),
  pricingMode: z.enum(['discount', 'cost_multiplier']),
  costMultiplier: z.number(),
  discount: z.number(),
  directInputPer1m: z.number().nullable(),
  directOutputPer1m: z.number().nullable(),
  effectiveInputPer1m: z.number().nullable(),
  effectiveOutputPer1m: z.number().nullable(),
  mediaUnit: z.string().nullable(),
  directMediaUnitPrice: z.number().nullable(),
  effectiveMediaUnitPrice: z.number().nullable(),
  directUnitPrices: UnitPriceList,
  effectiveUnitPrices: UnitPriceList,
  capDailyUsd: z.number().nullable(),
  capDailyRemainingUsd: z.number().nullable(),
  passes: z.array(z.enum(PASSES)),
  payoutAddress: z.string().nullable(),
  label: z.string().nullable(),
  keyFingerprint: z.string(),
  createdAt: z.number(),
  updatedAt: z.number(),
  withoutEndpoints: z
    .array(z.enum(ENDPOINTS))
    .describe('Endpoints of the model that the provider refused in a test call: not sold there.'),
  probeCostTotalUsd: ProbeCost.describe(
    'The approximate cost of all test calls of the offer; null where it is unknown.',
  ),
  /** The test calls that a change has just made. */
  ...PROBE_FIELDS,
})
export type OfferView = z.infer<typeof OfferViewSchema>

/**
 * Returns the reason why an offer gets no calls at present, or null. Decisions of its seller or an operator come first.
 */
export function stopOf(offer: OfferView): 'delisted' | 'inactive' | 'paused' | 'backed_off' | 'cap_used' | null {
  if (offer.delistedReason !== null) return 'delisted'
  if (offer.status !== 'active') return offer.status
  if (!offer.healthy) return 'backed_off'
  return offer.capDailyRemainingUsd === 0 ? 'cap_used' : null
}

/** The parts of the context that the view of an offer needs. */
export type ViewCtx = Pick<Ctx, 'db' | 'clock' | 'liveOffers'>

/** Adds prices, health and the remaining caps to offers, in the given order. */
export async function viewOffers(ctx: ViewCtx, offers: readonly StoredOffer[]): Promise<OfferView[]> {
  if (offers.length === 0) return []
  const ids = offers.map((offer) => offer.id)
  const capped = offers.filter((offer) => offer.capDailyMicro !== null).map((offer) => offer.id)
  const models = [...new Set(offers.map((offer) => offer.model))]
  const [prices, mediaUnits, health, usedMicro] = await Promise.all([
    listPricesAt(ctx.db, ctx.clock.now(), models),
    listMediaUnits(ctx.db, models),
    ctx.liveOffers.health(ids),
    ctx.liveOffers.capTaken(capped),
  ])
  const byModel = new Map(prices.map((price) => [price.model, UnitPricesSchema.parse(price.unitPrices)]))
  return offers.map((offer) => {
    const record = health.get(offer.id)
    const backedOffUntil = record?.backedOffUntil ?? null
    return {
      ...viewFacts(offer),
      ...viewPrices(offer, byModel.get(offer.model) ?? {}, mediaUnits.get(offer.model) ?? null),
      ...viewCap(offer.capDailyMicro, usedMicro.get(offer.id) ?? 0n),
      healthy: backedOffUntil === null || backedOffUntil <= ctx.clock.now(),
      consecutiveFailures: record?.consecutiveFailures ?? 0,
      backedOffUntil,
    }
  })
}

function viewFacts(offer: StoredOffer) {
  const share = keptBps(offer.keptBps)
  return {
    id: offer.id,
    model: offer.model,
    sellerBaseUrl: offer.baseUrl,
    provider: offer.provider,
    providerModel: offer.providerModel,
    apiFormat: offer.apiFormat,
    trusted: offer.isTrusted,
    status: offer.status,
    delistedReason: offer.delistedReason,
    pricingMode: offer.pricingMode,
    costMultiplier: costMultiplier(share),
    discount: keptToPercent(share),
    passes: offer.passes,
    withoutEndpoints: offer.without,
    probeCostTotalUsd: shownCost(offer.probeCostMicro === null ? null : microUsd(offer.probeCostMicro)),
    payoutAddress: offer.payoutAddress,
    label: offer.label,
    keyFingerprint: offer.fingerprint,
    createdAt: offer.createdAt.getTime(),
    updatedAt: offer.updatedAt.getTime(),
  }
}

function viewPrices(offer: StoredOffer, prices: UnitPrices, mediaUnit: string | null) {
  const shownPrice = (price: bigint | null) => (price === null ? null : Number(price))
  const direct = modelPrices({ mediaUnit }, prices, KEEP_ALL)
  const effective = modelPrices({ mediaUnit }, prices, keptBps(offer.keptBps))
  return {
    directInputPer1m: shownPrice(direct.input),
    directOutputPer1m: shownPrice(direct.output),
    effectiveInputPer1m: shownPrice(effective.input),
    effectiveOutputPer1m: shownPrice(effective.output),
    mediaUnit: direct.mediaUnit,
    directMediaUnitPrice: shownPrice(direct.mediaUnitPrice),
    effectiveMediaUnitPrice: shownPrice(effective.mediaUnitPrice),
    directUnitPrices: direct.unitPrices,
    effectiveUnitPrices: effective.unitPrices,
  }
}
