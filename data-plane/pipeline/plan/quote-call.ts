import type { Demand, DemandBounds, ModelTarget, Offer, ServedFacts, Target } from '#data-plane/call.ts'
import type { Quote } from '#data-plane/payment.ts'
import { INPUT_OVERHEAD_TOKENS, paidSearches, readableInput } from '#data-plane/pipeline/meter/clip-usage.ts'
import { asksLongCache } from '#data-plane/pipeline/meter/meter-usage.ts'
import { pricedPicture } from '#data-plane/pipeline/meter/priced-picture.ts'
import { clipOf } from '#shared/catalog/model.ts'
import { clipUsage, shapeOf } from '#shared/clips.ts'
import { AppError } from '#shared/errors.ts'
import { isHeardByTokens, mostHeardTokens } from '#shared/heard-audio.ts'
import type { RequestId } from '#shared/ids.ts'
import type { ImageBounds } from '#shared/images.ts'
import { imageUsage, mostImageTokens } from '#shared/images.ts'
import { askedRegion, askedSearchContext, askedTier } from '#shared/members/surcharge.ts'
import type { KeptBps, MicroUsd, PicoUsd } from '#shared/money.ts'
import {
  billOf,
  chargeShare,
  formatMicroUsd,
  keptBps,
  max,
  min,
  subtractToZero,
  unitsWithin,
  ZERO,
} from '#shared/money.ts'
import { billedUsage, dearestPrices } from '#shared/price-list.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import { billLines, dearestInput, dearestOutput, unpricedClasses } from '#shared/pricing.ts'
import { leastOutputTokensOf } from '#shared/protocols/index.ts'
import type { SpokenText } from '#shared/spoken-text.ts'
import { isSpokenByTokens, mostSpokenTokens } from '#shared/spoken-text.ts'
import type { Usage } from '#shared/usage.ts'
import { inputTokens as inputTokensOf } from '#shared/usage.ts'
import { nobodySells } from './resolve-target.ts'

/** The output limit when the buyer gave none, unless the model's own is lower. In tokens. */
const DEFAULT_MAX_OUTPUT_TOKENS = 8_192
/** A call is refused when its balance covers fewer output tokens than this. */
const LEAST_OUTPUT_TOKENS = 256
const FREE = keptBps(0)
/** A hold outlives the hard time limit of its call by these milliseconds. */
const HOLD_SLACK_MS = 30_000

/** The most that a call may consume. Its hold is computed from it. */
export type Bound = {
  readonly inputTokens: number
  /** Output tokens of all choices together. */
  readonly outputTokens: number
  /** The output limit of one choice when the money suffices. */
  readonly maxOutputTokens: number
  readonly choices: number
  /** Exchanges with the provider, which have a price each in some markets. */
  readonly calls: number
  readonly isGiven: boolean
  /** True for a purchase that no limit can shorten. It is covered as a whole or not made. */
  readonly isWhole: boolean
  /** The most of units other than tokens that the call may use; undefined for a price by tokens. */
  readonly units: Usage | undefined
  /** The highest prices that can apply to the call under the conditions of its price list. */
  readonly prices: UnitPrices
  /** The whole bound at the reference price. {@link chargeShare} turns it into the ceiling at an offer. */
  readonly bill: PicoUsd
}

/** The amounts that make up a ceiling, and their prices. */
export type Size = Pick<Bound, 'inputTokens' | 'outputTokens' | 'calls' | 'units' | 'prices'>

export type CallQuote = Quote & { readonly bound: Bound }

/** Bounds the usage of a call: tokens by the model's input and output limits, anything else by its units. */
export function boundOf(target: Target, demand: Demand): Bound {
  if (demand.kind !== 'model' || target.kind !== 'model') return unitBound(target, demand.bounds.units?.most ?? {})
  const { model } = target
  const { bounds } = demand
  if (bounds.images !== undefined) return imageBound(target, bounds, bounds.images)
  if (bounds.speech !== undefined && isSpokenByTokens(target.price.unitPrices)) {
    return speechBound(target, bounds.speech)
  }
  if (bounds.audio !== undefined && isHeardByTokens(target.price.unitPrices)) {
    return unitBound(target, mostHeardTokens(bounds.audio, model))
  }
  if (bounds.clip !== undefined) {
    return unitBound(target, clipUsage(target.price.unitPrices, shapeOf(clipOf(model), bounds.clip)))
  }
  const statedLimit = bounds.maxOutputTokens
  const maxOutputTokens = Math.min(statedLimit ?? DEFAULT_MAX_OUTPUT_TOKENS, model.maxCompletionTokens)
  const searches = paidSearches(demand, target.price.unitPrices)
  const inputTokens = readableInput(model, bounds, searches)
  // A provider's own frame around the request can lift it over a threshold.
  const promptTokens = inputTokens + INPUT_OVERHEAD_TOKENS
  const { costly } = demand.needs
  const reach = {
    promptTokens,
    serviceTier: askedTier(costly),
    region: askedRegion(costly),
    searchContext: askedSearchContext(costly),
  }
  const dearest = dearestPrices(target.price, reach)
  const prices = dearest.cacheWriteLong === undefined || asksLongCache(demand) ? dearest : withoutLongCache(dearest)
  const outputTokens = maxOutputTokens * bounds.choices
  const calls = bounds.each?.length ?? 1
  const most = bounds.units && billedUsage(target.price, bounds.units.most)
  const units = searches === 0 ? most : { ...most, searches: searches * calls }
  return {
    inputTokens,
    outputTokens,
    maxOutputTokens,
    choices: bounds.choices,
    calls,
    isGiven: statedLimit !== undefined,
    isWhole: false,
    units,
    prices,
    bill: ceilingBill({ inputTokens, outputTokens, calls, units, prices }),
  }
}

function withoutLongCache({ cacheWriteLong: _, ...prices }: UnitPrices): UnitPrices {
  return prices
}

/** Bounds a call for images. It is paid whole or not bought. */
function imageBound(target: ModelTarget, bounds: DemandBounds, images: ImageBounds): Bound {
  const { model, price } = target
  const units = imageUsage(price.unitPrices, images, images.count)
  if (units !== undefined) return unitBound(target, units, pricedPicture(target, images))
  const inputTokens = readableInput(model, bounds)
  const maxOutputTokens = mostImageTokens(model.imageOutput, images)
  const prices = dearestPrices(price, { promptTokens: inputTokens + INPUT_OVERHEAD_TOKENS })
  const size = { inputTokens, outputTokens: maxOutputTokens * images.count, calls: 1, units: undefined, prices }
  return {
    ...size,
    maxOutputTokens,
    choices: images.count,
    isGiven: true,
    isWhole: true,
    bill: ceilingBill(size),
  }
}

/** Bounds speech that is priced by tokens. Its sound is paid whole or not bought. */
function speechBound({ model, price }: ModelTarget, text: SpokenText): Bound {
  const { inputTokens } = text
  const maxOutputTokens = mostSpokenTokens(text, model.maxCompletionTokens)
  const prices = dearestPrices(price, { promptTokens: inputTokens })
  const size = { inputTokens, outputTokens: maxOutputTokens, calls: 1, units: undefined, prices }
  return { ...size, maxOutputTokens, choices: 1, isGiven: true, isWhole: true, bill: ceilingBill(size) }
}

/** Bounds a call whose answer no limit shortens. It is paid whole or not bought. */
function unitBound({ price }: Target, units: Usage, facts: ServedFacts = {}): Bound {
  const prices = dearestPrices(price, { ...facts, promptTokens: inputTokensOf(units) })
  const size = { inputTokens: 0, outputTokens: 0, calls: 1, units, prices }
  return { ...size, maxOutputTokens: 0, choices: 1, isGiven: true, isWhole: true, bill: ceilingBill(size) }
}

/** The price of a size at an offer's share. */
export function ceilingAt(kept: KeptBps, size: Size): MicroUsd {
  return chargeShare(ceilingBill(size), kept)
}

function ceilingBill({ inputTokens, outputTokens, calls, units, prices }: Size): PicoUsd {
  const perCall = prices.calls
  const lines = [
    { units: inputTokens, price: dearestInput(prices) },
    { units: outputTokens, price: dearestOutput(prices) },
  ]
  if (perCall !== undefined && units?.calls === undefined) lines.push({ units: calls, price: perCall })
  if (units !== undefined) lines.push(...billLines(prices, units))
  return billOf(lines)
}

/**
 * Quotes a call. `wantMicro` is its bound at the most expensive offer that failover may use. `minMicro` is the least
 * that the cheapest offer needs: for the whole limit when the buyer gave one, otherwise for a short answer.
 *
 * Throws `cost_ceiling_reached`, and `no_sellers_for_model` when no price is set.
 */
export function quoteCall(
  call: { readonly rid: RequestId; readonly target: Target; readonly demand: Demand; readonly totalMs: number },
  offers: readonly Offer[],
): CallQuote {
  const { rid, target, demand, totalMs } = call
  const bound = boundOf(target, demand)
  let dearest: KeptBps | undefined
  let cheapest: KeptBps | undefined
  for (const { keptBps } of offers) {
    if (dearest === undefined || keptBps > dearest) dearest = keptBps
    if (cheapest === undefined || keptBps < cheapest) cheapest = keptBps
  }
  // A free offer needs no price. Some units of a forwarded call are facts without a price.
  const isPriced =
    target.kind !== 'model' ||
    bound.units === undefined ||
    dearest === FREE ||
    unpricedClasses(bound.prices, bound.units).length === 0
  if (dearest === undefined || cheapest === undefined || !isPriced) throw nobodySells(target)
  const least = bound.isGiven ? bound.outputTokens : Math.min(bound.outputTokens, LEAST_OUTPUT_TOKENS * bound.choices)
  const { maxCostMicro } = demand
  const isFull = least === bound.outputTokens
  const raised = isRaised(bound, offers, maxCostMicro) ? raisedQuote(bound, offers, least) : undefined
  let wantMicro = raised?.wantMicro ?? chargeShare(bound.bill, dearest)
  let minMicro =
    raised?.minMicro ?? (isFull ? chargeShare(bound.bill, cheapest) : ceilingAt(cheapest, withOutput(bound, least)))
  if (maxCostMicro !== undefined) {
    // The buyer's own ceiling shortens the answer, even one with a given limit. At least one token must fit.
    const shortest = bound.isWhole ? bound.outputTokens : bound.choices
    const leastMicro = raised?.leastMicro ?? ceilingAt(cheapest, withOutput(bound, shortest))
    minMicro = min(minMicro, max(maxCostMicro, leastMicro))
    if (minMicro > maxCostMicro) {
      throw new AppError('cost_ceiling_reached', {
        detail: {
          limit_source: 'max_cost',
          limit_scope: 'call',
          limit_usdc: formatMicroUsd(maxCostMicro),
          spent_usdc: '0',
          required_usdc: formatMicroUsd(minMicro),
          resets_at: null,
        },
      })
    }
    wantMicro = max(minMicro, min(wantMicro, maxCostMicro))
  }
  return { rid, wantMicro, minMicro, ttlMs: totalMs + HOLD_SLACK_MS, bound }
}

/** True for a call whose output a limit can shorten. */
function hasLimit({ isWhole, maxOutputTokens }: Bound): boolean {
  return !isWhole && maxOutputTokens > 0
}

/** True when an offer's protocol accepts no limit as small as the call's may be. */
function isRaised(bound: Bound, offers: readonly Offer[], maxCostMicro: MicroUsd | undefined): boolean {
  if (!hasLimit(bound)) return false
  const smallest = maxCostMicro === undefined ? bound.maxOutputTokens : Math.min(bound.maxOutputTokens, 1)
  return offers.some((offer) => leastOutputTokensOf(offer) > smallest)
}

/**
 * The amounts of a quote when each offer gets at least the smallest limit of its protocol: for the most
 * expensive offer, for the cheapest offer, and for the shortest answer at the cheapest offer.
 */
function raisedQuote(bound: Bound, offers: readonly Offer[], outputTokens: number) {
  const needed = (tokens: number) =>
    offers.map((offer) => {
      const most = Math.max(tokens, leastOutputTokensOf(offer) * bound.choices)
      return ceilingAt(offer.keptBps, withOutput(bound, most))
    })
  return {
    wantMicro: needed(bound.outputTokens).reduce(max),
    minMicro: needed(outputTokens).reduce(min),
    leastMicro: needed(bound.choices).reduce(min),
  }
}

/** The size of the same bound with another number of output tokens. */
export function withOutput({ inputTokens, calls, units, prices }: Bound, outputTokens: number): Size {
  return { inputTokens, outputTokens, calls, units, prices }
}

/**
 * The output limit of one choice at an offer under a hold; undefined when the hold does not cover the offer at all.
 * `least` is the smallest limit that its protocol accepts: a smaller limit is raised to it if the hold covers that.
 */
export function limitWithin(bound: Bound, kept: KeptBps, grantedMicro: MicroUsd, least = 1): number | undefined {
  if (hasLimit(bound) && bound.maxOutputTokens < least) {
    const isCovered = ceilingAt(kept, withOutput(bound, least * bound.choices)) <= grantedMicro
    return isCovered ? least : undefined
  }
  const limit = affordableLimit(bound, kept, grantedMicro)
  return limit !== undefined && hasLimit(bound) && limit < least ? undefined : limit
}

function affordableLimit(bound: Bound, kept: KeptBps, grantedMicro: MicroUsd): number | undefined {
  if (chargeShare(bound.bill, kept) <= grantedMicro) return bound.maxOutputTokens
  const inputMicro = ceilingAt(kept, withOutput(bound, 0))
  const left = subtractToZero(grantedMicro, inputMicro)
  if (left === ZERO) return undefined
  const tokens = unitsWithin(left, dearestOutput(bound.prices), kept)
  if (tokens === undefined) return bound.maxOutputTokens
  const each = Math.floor(tokens / bound.choices)
  return each < 1 ? undefined : Math.min(each, bound.maxOutputTokens)
}
