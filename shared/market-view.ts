import type { Model } from './catalog/model.ts'
import type { MarketRow, OfferRow } from './contract/snapshot.ts'
import type { OfferTrades } from './contract/trades.ts'
import { keptToPercent } from './discount.ts'
import type { KeptBps, MicroUsd, PicoUsd } from './money.ts'
import { discountedPerMillion, KEEP_ALL, subtractToZero, ZERO } from './money.ts'
import type { UnitPrices } from './pricing.ts'
import { unitPrice } from './pricing.ts'
import type { Usage, UsageClass } from './usage.ts'

/**
 * The parts of a market page: the snapshot and the live state. The data plane's reads and the control plane's GraphQL
 * build the page from them alike. Prices are micro-USD per million tokens; null means that there is none.
 */
export type MarketParts = {
  readonly model: Model
  readonly unitPrices: UnitPrices
  readonly row: MarketRow | undefined
  /** Offers in the order of {@link byBookRank}. */
  readonly offers: readonly BookOffer[]
  /** Sales of offers over the last day, by id. An offer without an entry sold nothing. */
  readonly trades: ReadonlyMap<string, OfferTrades>
}

/** The members of an offer that a market page needs. */
export type BookOffer = Pick<
  OfferRow,
  'id' | 'sellerAlias' | 'provider' | 'isTrusted' | 'baseUrl' | 'keptBps' | 'capDailyMicro' | 'ttftMs'
>

/** The routing order: the kept share of the price first, then measured speed, then the id. */
export function byRank(left: RankedOffer, right: RankedOffer): number {
  if (left.keptBps !== right.keptBps) return left.keptBps < right.keptBps ? -1 : 1
  const [fast, slow] = [left.ttftMs ?? Number.MAX_SAFE_INTEGER, right.ttftMs ?? Number.MAX_SAFE_INTEGER]
  return fast - slow || (left.id < right.id ? -1 : left.id > right.id ? 1 : 0)
}
export type RankedOffer = Pick<BookOffer, 'keptBps' | 'ttftMs' | 'id'>

/**
 * The order of a book: that of default routing, which uses trusted offers only. Untrusted offers follow in the order in
 * which a call that allows them takes them.
 */
export function byBookRank(left: BookRank, right: BookRank): number {
  return left.isTrusted === right.isTrusted ? byRank(left, right) : left.isTrusted ? -1 : 1
}
export type BookRank = RankedOffer & Pick<BookOffer, 'isTrusted'>

/** The live state of offers. */
export type LiveState = {
  isHealthy(offer: BookOffer): boolean
  /** The used and held amount of today's cap. Undefined while unknown, which counts as nothing used. */
  usedToday(offer: BookOffer): MicroUsd | undefined
}

/** One offer in the public order book. No member tells who the seller is. */
export type BookEntry = {
  readonly offer: BookOffer
  readonly rank: number
  readonly direct: TokenPrices
  readonly effective: TokenPrices
  readonly discountPct: number
  readonly capRemaining: MicroUsd | null
  readonly isHealthy: boolean
  /** True when it is healthy and some of its cap is left. */
  readonly isAvailable: boolean
  readonly mediaUnitPrice: bigint | null
  readonly directMediaUnitPrice: bigint | null
  readonly trades: OfferTrades
}

export type TokenPrices = {
  readonly input: bigint | null
  readonly output: bigint | null
  readonly cacheRead: bigint | null
  readonly cacheWrite: bigint | null
}

/**
 * Best prices and liquidity of one model. All figures but those in `untrusted` and `providers` count only offers that
 * default routing would use now: trusted, healthy, with a rest of their cap.
 */
export type MarketSummary = {
  readonly best: TokenPrices
  readonly direct: TokenPrices
  readonly bestDiscountPct: number | null
  readonly bestMediaUnitPrice: bigint | null
  readonly healthySellerCount: number
  /** Sum of the daily caps of available offers; null when one of them has none. */
  readonly totalCap: bigint | null
  /** The same of available offers that a call uses only when it allows untrusted ones. */
  readonly untrusted: UntrustedSummary
  readonly providers: readonly ProviderSummary[]
}

export type UntrustedSummary = {
  readonly best: TokenPrices
  readonly bestDiscountPct: number | null
  readonly healthySellerCount: number
}

export type ProviderSummary = {
  readonly provider: string
  readonly isTrusted: boolean
  readonly healthySellerCount: number
  readonly best: TokenPrices
}

const NO_TRADES: OfferTrades = { count: 0, volumeMicro: ZERO }
const NO_PRICES: TokenPrices = { input: null, output: null, cacheRead: null, cacheWrite: null }
/**
 * The usage classes that media are sold by, each with the number of our units in one unit of the shown price, and the
 * name of that unit in price lists.
 */
const MEDIA_UNITS: readonly (readonly [UsageClass, bigint, string])[] = [
  ['images', 1n, 'image'],
  ['images2k', 1n, 'image_2k'],
  ['images4k', 1n, 'image_4k'],
  ['pixels', 1_000_000n, 'megapixel'],
  ['characters', 1n, 'character'],
  ['milliseconds', 1_000n, 'second'],
  ['milliseconds1080p', 1_000n, 'second_1080p'],
  ['milliseconds4k', 1_000n, 'second_4k'],
  ['calls', 1n, 'request'],
]
const PICO_PER_DOLLAR = 1e12
const BPS = 1e4
const PICO_PER_MICRO = 1_000_000n

/**
 * True for a model whose tokens have a price, and for one that is free. Lists of the field give media a token price of
 * zero; with a price for another unit beside it, that zero means that nothing is sold by the token.
 */
export function isSoldByTokens(prices: UnitPrices): boolean {
  if ((prices.input ?? 0n) > 0n || (prices.output ?? 0n) > 0n) return true
  return prices.input !== undefined && MEDIA_UNITS.every(([name]) => (prices[name] ?? 0n) === 0n)
}

/** Prices of a model's tokens at a kept share, rounded up for display; null for a model that is not sold by them. */
export function tokenPrices(prices: UnitPrices, kept: KeptBps): TokenPrices {
  if (!isSoldByTokens(prices)) return NO_PRICES
  const show = (price: PicoUsd | undefined) => (price === undefined ? null : discountedPerMillion(price, kept))
  return {
    input: show(prices.input),
    output: show(prices.output),
    cacheRead: show(prices.input === undefined ? undefined : unitPrice(prices, 'cacheRead')),
    cacheWrite: show(prices.input === undefined ? undefined : unitPrice(prices, 'cacheWrite')),
  }
}

/** Micro-USD of one image, megapixel, character, second or call at a kept share, rounded up for display. */
export function mediaUnitPrice(prices: UnitPrices, kept: KeptBps): bigint | null {
  for (const [name, units] of MEDIA_UNITS) {
    const price = prices[name]
    if (price === undefined) continue
    const divisor = PICO_PER_MICRO * 10_000n
    return (price * units * kept + divisor - 1n) / divisor
  }
  return null
}

/** US dollars of one image, megapixel, character, second or call at a kept share, by the name of the unit. */
export function mediaPricesInDollars(prices: UnitPrices, kept: KeptBps): Record<string, number> {
  return Object.fromEntries(
    MEDIA_UNITS.flatMap(([name, units, unit]): [string, number][] => {
      const price = prices[name]
      return price === undefined ? [] : [[unit, Number(price * units * kept) / (PICO_PER_DOLLAR * BPS)]]
    }),
  )
}

/** The unit that a job is sold by, and how many of our units are one of it. Undefined when it is sold by none. */
export function soldUnit(
  prices: UnitPrices,
  bound: Usage,
): { readonly name: UsageClass; readonly unit: string; readonly size: number } | undefined {
  const found = MEDIA_UNITS.find(([name]) => (prices[name] ?? 0n) > 0n && (bound[name] ?? 0) > 0)
  return found && { name: found[0], unit: found[2], size: Number(found[1]) }
}

/** A part of a book: `count` entries from an index on. */
export type BookPart = { readonly from: number; readonly count: number }
const WHOLE_BOOK: BookPart = { from: 0, count: Number.POSITIVE_INFINITY }

/** The public order book of one model, best offer first, or a part of it. */
export function buildBook(parts: MarketParts, live: LiveState, part = WHOLE_BOOK): BookEntry[] {
  const direct = tokenPrices(parts.unitPrices, KEEP_ALL)
  const directMedia = mediaUnitPrice(parts.unitPrices, KEEP_ALL)
  return parts.offers.slice(part.from, part.from + part.count).map((offer, index) => {
    const used = live.usedToday(offer)
    const cap = offer.capDailyMicro
    const capRemaining = cap === null ? null : used === undefined ? cap : subtractToZero(cap, used)
    const isHealthy = live.isHealthy(offer)
    return {
      offer,
      rank: part.from + index + 1,
      direct,
      effective: tokenPrices(parts.unitPrices, offer.keptBps),
      discountPct: keptToPercent(offer.keptBps),
      capRemaining,
      isHealthy,
      isAvailable: isHealthy && (capRemaining === null || capRemaining > 0n),
      mediaUnitPrice: mediaUnitPrice(parts.unitPrices, offer.keptBps),
      directMediaUnitPrice: directMedia,
      trades: parts.trades.get(offer.id) ?? NO_TRADES,
    }
  })
}

/** A model's line in the list of markets. It takes one walk over the offers and makes prices for the best one only. */
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
    direct: tokenPrices(parts.unitPrices, KEEP_ALL),
    bestDiscountPct: discountOf(best),
    bestMediaUnitPrice: best === undefined ? null : mediaUnitPrice(parts.unitPrices, best.keptBps),
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

/** Counts an available offer. Offers come in the order of the book, so the first one of a tally is its best. */
function count(tally: Tally, offer: BookOffer): void {
  tally.best ??= offer
  tally.sellers.add(offer.sellerAlias)
  tally.cap = tally.cap === null || offer.capDailyMicro === null ? null : tally.cap + offer.capDailyMicro
}

function isAvailable(offer: BookOffer, live: LiveState): boolean {
  if (!live.isHealthy(offer)) return false
  if (offer.capDailyMicro === null) return true
  const used = live.usedToday(offer)
  return used === undefined || used < offer.capDailyMicro
}

function bestOf(parts: MarketParts, best: BookOffer | undefined): TokenPrices {
  return best === undefined ? NO_PRICES : tokenPrices(parts.unitPrices, best.keptBps)
}

function discountOf(best: BookOffer | undefined): number | null {
  return best === undefined ? null : keptToPercent(best.keptBps)
}

/** The `cost_multiplier` of a kept share: 0.7 for a discount of 30 percent. */
export function costMultiplier(kept: KeptBps): number {
  return Number(kept) / 10_000
}
