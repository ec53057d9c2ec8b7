import type { Market } from '#data-plane/store/market.ts'
import type { Model } from '#shared/catalog/model.ts'
import type { OfferRow } from '#shared/contract/snapshot.ts'
import { meetsFloor } from '#shared/discount.ts'
import { modelPrices } from '#shared/market-view.ts'
import type { KeptBps } from '#shared/money.ts'
import type { ReferencePrice } from '#shared/price-list.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import { shownConditions } from './price-overrides.ts'
import { shownMinimums } from './pricing.ts'
import type { Read } from './read.ts'

const MAX_AGE_SECONDS = 60
const MICRO_PER_USD = 1e6

/**
 * `GET /v1/prices`: the price of each provider's best offer for each model, in USD per million tokens. A model that is
 * not priced by the token has null as `input` and `output`, and its price under the name of its unit. Image and audio
 * tokens with their own price are listed the same way, per million. `overrides` are the conditional prices. With a
 * discount floor in the path, only offers at or above the floor count.
 */
export const listPrices: Read = ({ market, memory }, { floorPercent = 0 }) => {
  const now = market()
  const from = [now.models, now.offers, now.prices]
  const json = memory.textOf(`prices from ${floorPercent}`, from, () => priceList(now, floorPercent))
  return { json, maxAgeSeconds: MAX_AGE_SECONDS }
}

type Priced = Pick<Market, 'models' | 'offers' | 'prices'>

function priceList({ models, offers, prices }: Priced, floorPercent: number): string {
  return JSON.stringify({
    models: sandboxLast(models).flatMap((model) => {
      const price = prices.get(model.id)
      const rows = (offers.get(model.id)?.ranked ?? []).filter(({ keptBps }) => meetsFloor(keptBps, floorPercent))
      if (!price || rows.length === 0) return []
      return [{ model: model.id, providers: bestByProvider(rows).map((offer) => priceOf(model, offer, price)) }]
    }),
  })
}

function sandboxLast(models: Market['models']): Market['models'] {
  return models.toSorted((left, right) => Number(left.isSandbox) - Number(right.isSandbox))
}

/** The first offer of each provider. Offers are ranked, so it is the cheapest. */
function bestByProvider(ranked: readonly OfferRow[]): OfferRow[] {
  const best = new Map<string, OfferRow>()
  for (const offer of ranked) if (!best.has(offer.provider)) best.set(offer.provider, offer)
  return [...best.values()]
}

function priceOf(model: Model, offer: OfferRow, price: ReferencePrice): object {
  const least = shownMinimums(price.minimums)
  return {
    provider: offer.provider,
    provider_model_id: offer.providerModel,
    pricing: { ...pricingAt(model, price.unitPrices, offer.keptBps), ...least },
    // Each override, with the prices of the list for the classes that it does not name.
    overrides: price.overrides?.map(({ when, unitPrices }) => ({
      ...shownConditions(when),
      pricing: { ...pricingAt(model, { ...price.unitPrices, ...unitPrices }, offer.keptBps), ...least },
    })),
  }
}

function pricingAt(model: Model, unitPrices: UnitPrices, keptBps: KeptBps) {
  const prices = modelPrices(model, unitPrices, keptBps)
  const dollars = (micro: bigint | null) => (micro === null ? null : Number(micro) / MICRO_PER_USD)
  return {
    input: dollars(prices.input),
    output: dollars(prices.output),
    cache_read: dollars(prices.cacheRead) ?? undefined,
    cache_write: dollars(prices.cacheWrite) ?? undefined,
    // Some clients read these two names.
    cacheRead: dollars(prices.cacheRead) ?? undefined,
    cacheWrite: dollars(prices.cacheWrite) ?? undefined,
    ...Object.fromEntries(prices.unitPrices.map(({ unit, usd }) => [unit, usd])),
  }
}
