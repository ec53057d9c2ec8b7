import type { Model } from './catalog/model.ts'
import type { MarketRow, OfferRow } from './contract/snapshot.ts'
import type { OfferTrades } from './contract/trades.ts'
import { keptToPercent } from './discount.ts'
import type { KeptBps, MicroUsd, PicoUsd } from './money.ts'
import { discountedPerMillion, KEEP_ALL, subtractToZero, ZERO } from './money.ts'
import type { PriceLines } from './price-list.ts'
import type { ShownUnitPrice } from './price-units.ts'
import { isSoldByTokens, mediaUnitOf, mediaUnitPrice, shownUnitPrices } from './price-units.ts'
import type { UnitPrices } from './pricing.ts'
import { unitPrice } from './pricing.ts'

/**
 * The parts of a market page: the snapshot and the live state. The data plane's reads and the control plane's GraphQL
 * build the page from them alike. Prices are micro-USD per million tokens; null without one.
 */
export type MarketParts = PriceLines & {
  readonly model: Model
  readonly row: MarketRow | undefined
  /** Offers in the order of {@link byBookRank}. */
  readonly offers: readonly BookOffer[]
  /** Sales of offers over the last day, by id; null while unknown. An offer without an entry sold nothing. */
  readonly trades: ReadonlyMap<string, OfferTrades> | null
}

/** The members of an offer that a market page needs. */
export type BookOffer = Pick<
  OfferRow,
  | 'id'
  | 'sellerAlias'
  | 'provider'
  | 'isTrusted'
  | 'baseUrl'
  | 'apiFormat'
  | 'keptBps'
  | 'capDailyMicro'
  | 'ttftMs'
  | 'without'
>

/** The routing order: the kept share of the price first, then measured speed, then the id. */
export function byRank(left: RankedOffer, right: RankedOffer): number {
  if (left.keptBps !== right.keptBps) return left.keptBps < right.keptBps ? -1 : 1
  const [fast, slow] = [left.ttftMs ?? Number.MAX_SAFE_INTEGER, right.ttftMs ?? Number.MAX_SAFE_INTEGER]
  return fast - slow || (left.id < right.id ? -1 : left.id > right.id ? 1 : 0)
}
export type RankedOffer = Pick<BookOffer, 'keptBps' | 'ttftMs' | 'id'>

/**
 * The order of a book: that of default routing, which uses trusted offers only. Untrusted offers follow in the order of
 * calls that allow them.
 */
export function byBookRank(left: BookRank, right: BookRank): number {
  return left.isTrusted === right.isTrusted ? byRank(left, right) : left.isTrusted ? -1 : 1
}
export type BookRank = RankedOffer & Pick<BookOffer, 'isTrusted'>

/** The live state of offers. */
export type LiveState = {
  isHealthy(offer: BookOffer): boolean
  /** An offer in the public order book, without its seller. */
  usedToday(offer: BookOffer): MicroUsd | undefined
}

/** True for a healthy offer whose cap is not used up. */
export type BookEntry = {
  readonly offer: BookOffer
  readonly rank: number
  readonly direct: ModelPrices
  readonly effective: ModelPrices
  readonly discountPct: number
  readonly capRemaining: MicroUsd | null
  readonly isHealthy: boolean
  /** The used and held amount of today's cap. Undefined while unknown, which counts as nothing used. */
  readonly isAvailable: boolean
  /** Null until the calls of the day are summed. */
  readonly trades: OfferTrades | null
}

/** The prices of a model at one kept share of the reference. Prices of tokens are for a million of them. */
export type ModelPrices = {
  readonly input: bigint | null
  readonly output: bigint | null
  readonly cacheRead: bigint | null
  readonly cacheWrite: bigint | null
  /** The unit of its media in words, and the price of one. Null for a model with token prices alone. */
  readonly mediaUnit: string | null
  readonly mediaUnitPrice: bigint | null
  /** Every price besides those of plain tokens. */
  readonly unitPrices: readonly ShownUnitPrice[]
}

/**
 * Best prices and liquidity of one model. All figures but those in `untrusted` and `providers` count only offers that
 * default routing would use now: trusted, healthy, with a cap that is not used up.
 */
export type MarketSummary = {
  readonly best: ModelPrices
  readonly direct: ModelPrices
  readonly bestDiscountPct: number | null
  readonly healthySellerCount: number
  /** Sum of the daily caps of available offers; null when one of them has no cap. */
  readonly totalCap: bigint | null
  /** The same for available offers that only calls with untrusted providers use. */
  readonly untrusted: UntrustedSummary
  readonly providers: readonly ProviderSummary[]
}

export type UntrustedSummary = {
  readonly best: ModelPrices
  readonly bestDiscountPct: number | null
  readonly healthySellerCount: number
}

export type ProviderSummary = {
  readonly provider: string
  readonly isTrusted: boolean
  readonly healthySellerCount: number
  readonly best: ModelPrices
}

const NO_TRADES: OfferTrades = { count: 0, volumeMicro: ZERO }
const NO_TOKEN_PRICES = { input: null, output: null, cacheRead: null, cacheWrite: null }
const NO_PRICES: ModelPrices = { ...NO_TOKEN_PRICES, mediaUnit: null, mediaUnitPrice: null, unitPrices: [] }
/** The prices of a model at a kept share, rounded up for display. A unit without a price is null. */
export function modelPrices(model: Pick<Model, 'mediaUnit'>, prices: UnitPrices, keptBps: KeptBps): ModelPrices {
  return {
    ...tokenPrices(prices, keptBps),
    mediaUnit: mediaUnitOf(model, prices),
    mediaUnitPrice: mediaUnitPrice(model, prices, keptBps),
    unitPrices: shownUnitPrices(model, prices, keptBps),
  }
}

function tokenPrices(prices: UnitPrices, keptBps: KeptBps) {
  if (!isSoldByTokens(prices)) return NO_TOKEN_PRICES
  const show = (price: PicoUsd | undefined) => (price === undefined ? null : discountedPerMillion(price, keptBps))
  return {
    input: show(prices.input),
    output: show(prices.output),
    cacheRead: show(prices.input === undefined ? undefined : unitPrice(prices, 'cacheRead')),
    cacheWrite: show(prices.input === undefined ? undefined : unitPrice(prices, 'cacheWrite')),
  }
}

/** A part of a book: `count` entries from an index on. */
export type BookPart = { readonly from: number; readonly count: number }
const WHOLE_BOOK: BookPart = { from: 0, count: Number.POSITIVE_INFINITY }

/** The public order book of one model, best offer first, or a part of it. */
export function buildBook(parts: MarketParts, live: LiveState, part = WHOLE_BOOK): BookEntry[] {
  const { model, unitPrices } = parts
  const direct = modelPrices(model, unitPrices, KEEP_ALL)
  return parts.offers.slice(part.from, part.from + part.count).map((offer, index) => {
    const used = live.usedToday(offer)
    const cap = offer.capDailyMicro
    const capRemaining = cap === null ? null : used === undefined ? cap : subtractToZero(cap, used)
    const isHealthy = live.isHealthy(offer)
    return {
      offer,
      rank: part.from + index + 1,
      direct,
      effective: modelPrices(model, unitPrices, offer.keptBps),
      discountPct: keptToPercent(offer.keptBps),
      capRemaining,
      isHealthy,
      isAvailable: isHealthy && (capRemaining === null || capRemaining > 0n),
      trades: parts.trades && (parts.trades.get(offer.id) ?? NO_TRADES),
    }
  })
}

/** A model's line in the list of markets. It takes one walk over the offers and prices the best one only. */
export function summarizeMarket(parts: MarketParts, live: LiveState): MarketSummary {
  const [all, untrusted] = [newTally(), newTally()]
  const byProvider = new Map<string, Tally>()
  for (const offer of parts.offers) {
    const tally = byProvider.get(offer.provider) ?? newTally()
    byProvider.set(offer.provider, tally)
    tally.isTrusted ||= offer.isTrusted
    if (!isAvailable(offer, live)) continue
    count(offer.isTrusted ? all : untrusted, offer)
    count(tally, offer)
  }
  const { best } = all
  return {
    best: bestOf(parts, best),
    direct: modelPrices(parts.model, parts.unitPrices, KEEP_ALL),
    bestDiscountPct: discountOf(best),
    healthySellerCount: all.sellers.size,
    totalCap: best === undefined ? null : all.cap,
    untrusted: {
      best: bestOf(parts, untrusted.best),
      bestDiscountPct: discountOf(untrusted.best),
      healthySellerCount: untrusted.sellers.size,
    },
    providers: [...byProvider].map(([provider, tally]) => ({
      provider,
      isTrusted: tally.isTrusted,
      healthySellerCount: tally.sellers.size,
      best: bestOf(parts, tally.best),
    })),
  }
}

type Tally = {
  best: BookOffer | undefined
  readonly sellers: Set<string>
  /** Null as soon as one offer has no cap. */
  cap: bigint | null
  isTrusted: boolean
}

function newTally(): Tally {
  return { best: undefined, sellers: new Set(), cap: 0n, isTrusted: false }
}

/** Counts an available offer. Offers are in the order of the book, so the first one of a tally is its best. */
function count(tally: Tally, offer: BookOffer): void {
  tally.best ??= offer
  tally.sellers.add(offer.sellerAlias)
  tally.cap = tally.cap === null || offer.capDailyMicro === null ? null : tally.cap + offer.capDailyMicro
}

/** True for a healthy offer whose cap is not used up. */
export function isAvailable(offer: BookOffer, live: LiveState): boolean {
  if (!live.isHealthy(offer)) return false
  if (offer.capDailyMicro === null) return true
  const used = live.usedToday(offer)
  return used === undefined || used < offer.capDailyMicro
}

function bestOf(parts: MarketParts, best: BookOffer | undefined): ModelPrices {
  return best === undefined ? NO_PRICES : modelPrices(parts.model, parts.unitPrices, best.keptBps)
}

function discountOf(best: BookOffer | undefined): number | null {
  return best === undefined ? null : keptToPercent(best.keptBps)
}

/** The `cost_multiplier` of a kept share: 0.7 for a discount of 30 percent. */
export function costMultiplier(keptBps: KeptBps): number {
  return Number(keptBps) / 10_000
}
