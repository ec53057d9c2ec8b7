import type { Model } from './catalog/model.ts'
import type { KeptBps } from './money.ts'
import { PICO_PER_MICRO } from './money.ts'
import type { UnitPrices } from './pricing.ts'
import { dearestInput, dearestOutput } from './pricing.ts'
import type { Usage, UsageClass } from './usage.ts'

/** A unit that prices are shown by: so many units of a usage class. */
type PriceUnit = {
  readonly usageClass: UsageClass
  readonly units: bigint
  /** The unit's name in price lists. */
  readonly name: string
  /** The unit's name in words, for readers of market rows. */
  readonly words: string
}

const MINUTE_WORDS = 'per minute'
const MINUTE: PriceUnit = { usageClass: 'milliseconds', units: 60_000n, name: 'minute', words: MINUTE_WORDS }

/**
 * The units of media. The first one that has a price is a model's media unit. Area comes first, because pictures that
 * have a price for it are charged by it.
 */
const MEDIA_UNITS: readonly PriceUnit[] = [
  { usageClass: 'pixels', units: 1_000_000n, name: 'megapixel', words: 'per megapixel' },
  { usageClass: 'images', units: 1n, name: 'image', words: 'per image' },
  { usageClass: 'images2k', units: 1n, name: 'image_2k', words: 'per 2K image' },
  { usageClass: 'images4k', units: 1n, name: 'image_4k', words: 'per 4K image' },
  { usageClass: 'characters', units: 1n, name: 'character', words: 'per character' },
  { usageClass: 'milliseconds', units: 1_000n, name: 'second', words: 'per second' },
  { usageClass: 'milliseconds1080p', units: 1_000n, name: 'second_1080p', words: 'per second of 1080p' },
  { usageClass: 'milliseconds4k', units: 1_000n, name: 'second_4k', words: 'per second of 4K' },
  { usageClass: 'calls', units: 1n, name: 'request', words: 'per request' },
]

/** Units that are billed beside tokens and that no model is sold by. */
const EXTRA_UNITS: readonly PriceUnit[] = [
  { usageClass: 'searches', units: 1n, name: 'search', words: 'per web search' },
]

/** Other tokens that have a price of their own, by the million like all tokens. */
const TOKEN_UNITS: readonly (readonly [UsageClass, string])[] = [
  ['imageInput', 'image_input'],
  ['imageOutput', 'image_output'],
  ['audioInput', 'audio_input'],
  ['audioOutput', 'audio_output'],
  ['cacheWriteLong', 'cache_write_1h'],
  ['cachedAudio', 'cached_audio'],
]
const TOKENS_OF_A_PRICE = 1_000_000n

/** True for the name of a unit whose price is of a million tokens. */
export function isOfTokens(unit: string): boolean {
  return TOKEN_UNITS.some(([, name]) => name === unit)
}

const BPS = 10_000n
/** Decimals of a price in pico-USD times basis points. */
const DECIMALS = 16

/** The part of a model that decides its media unit beside its prices. */
type Sold = Pick<Model, 'mediaUnit'>

/** The price of one unit at a kept share, in US dollars. It is exact as far as a double is. */
export type ShownUnitPrice = { readonly unit: string; readonly usd: number }

/**
 * True for a model whose tokens have a price, and for one that is free. Lists of the field give media a token price of
 * zero; with a price for another unit beside it, that zero means that nothing is sold by the token.
 */
export function isSoldByTokens(prices: UnitPrices): boolean {
  if ((prices.input ?? 0n) > 0n || (prices.output ?? 0n) > 0n) return true
  return prices.input !== undefined && MEDIA_UNITS.every(({ usageClass }) => (prices[usageClass] ?? 0n) === 0n)
}

/** The unit of a model's media in words. It is null exactly where there is no {@link mediaUnitPrice}. */
export function mediaUnitOf(model: Sold, prices: UnitPrices): string | null {
  return mainUnit(model, prices)?.words ?? null
}

/** Micro-USD of one media unit at a kept share, rounded up for display. Null where media have no price. */
export function mediaUnitPrice(model: Sold, prices: UnitPrices, keptBps: KeptBps): bigint | null {
  const unit = mainUnit(model, prices)
  const price = unit && prices[unit.usageClass]
  if (price === undefined) return null
  const divisor = PICO_PER_MICRO * BPS
  return (price * (unit?.units ?? 1n) * keptBps + divisor - 1n) / divisor
}

/**
 * Every price of a model beside those of plain tokens, at a kept share: of each media unit, and of a million tokens of
 * other tokens where these cost something else.
 */
export function shownUnitPrices(model: Sold, prices: UnitPrices, keptBps: KeptBps): ShownUnitPrice[] {
  const rows: ShownUnitPrice[] = []
  for (const unit of [...MEDIA_UNITS, ...EXTRA_UNITS]) {
    const price = prices[unit.usageClass]
    if (price === undefined) continue
    const { name, units } = asSold(model, unit)
    rows.push({ unit: name, usd: inDollars(price * units * keptBps) })
  }
  for (const [usageClass, unit] of TOKEN_UNITS) {
    const price = prices[usageClass]
    if (price !== undefined) rows.push({ unit, usd: inDollars(price * TOKENS_OF_A_PRICE * keptBps) })
  }
  return rows
}

/**
 * True when calls can cost more than the first figures of a model say, which are input and output or one media unit: a
 * class of tokens or a tier of pictures may be dearer, and something else may be billed beside them.
 */
export function isFloor(prices: UnitPrices): boolean {
  const { input = 0n, output = 0n } = prices
  const isCharged = ({ usageClass }: PriceUnit) => (prices[usageClass] ?? 0n) > 0n
  if (isSoldByTokens(prices)) {
    return (
      dearestInput(prices) > input || dearestOutput(prices) > output || [...MEDIA_UNITS, ...EXTRA_UNITS].some(isCharged)
    )
  }
  const [main, ...others] = MEDIA_UNITS.filter(({ usageClass }) => prices[usageClass] !== undefined)
  return others.some(({ usageClass }) => {
    const isTier = main !== undefined && TIERS[usageClass] === main.usageClass
    return (prices[usageClass] ?? 0n) > (isTier ? (prices[main.usageClass] ?? 0n) : 0n)
  })
}

/** Classes that are billed in place of another, not beside it. */
const TIERS: { readonly [Class in UsageClass]?: UsageClass } = {
  images2k: 'images',
  images4k: 'images',
  milliseconds1080p: 'milliseconds',
  milliseconds4k: 'milliseconds',
}

/** The unit that a job is sold by, and how many of our units are one of it. Undefined for a job without such a unit. */
export function soldUnit(
  prices: UnitPrices,
  bound: Usage,
): { readonly name: UsageClass; readonly unit: string; readonly size: number } | undefined {
  const unit = MEDIA_UNITS.find(({ usageClass }) => (prices[usageClass] ?? 0n) > 0n && (bound[usageClass] ?? 0) > 0)
  return unit && { name: unit.usageClass, unit: unit.name, size: Number(unit.units) }
}

function mainUnit(model: Sold, prices: UnitPrices): PriceUnit | undefined {
  const unit = MEDIA_UNITS.find(({ usageClass }) => prices[usageClass] !== undefined)
  return unit && asSold(model, unit)
}

/** Time is sold by the second, or by the minute where a catalogue says so. */
function asSold({ mediaUnit }: Sold, unit: PriceUnit): PriceUnit {
  return unit.usageClass === MINUTE.usageClass && mediaUnit === MINUTE_WORDS ? MINUTE : unit
}

/** Converts by text, because a quotient of doubles can be off in its last digit. */
function inDollars(amount: bigint): number {
  const digits = amount.toString().padStart(DECIMALS + 1, '0')
  return Number(`${digits.slice(0, -DECIMALS)}.${digits.slice(-DECIMALS)}`)
}
