import type { Model } from './catalog/model.ts'
import type { KeptBps } from './money.ts'
import { PICO_PER_MICRO } from './money.ts'
import type { UnitPrices } from './pricing.ts'
import { dearestInput, dearestOutput } from './pricing.ts'
import type { Usage, UsageClass } from './usage.ts'

/** A displayed price unit: this many units of a usage class. */
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
 * The units of media. The first one with a price is a model's media unit. Area comes first, because images with a price
 * for it are charged by it.
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

/** Units that are billed in addition to tokens and that are no model's priced unit. */
const EXTRA_UNITS: readonly PriceUnit[] = [
  { usageClass: 'searches', units: 1n, name: 'search', words: 'per web search' },
]

/** Other tokens with a price of their own, by the million like all tokens. */
const TOKEN_UNITS: readonly (readonly [UsageClass, string])[] = [
  ['imageInput', 'image_input'],
  ['imageOutput', 'image_output'],
  ['audioInput', 'audio_input'],
  ['audioOutput', 'audio_output'],
  ['cacheWriteLong', 'cache_write_1h'],
  ['cachedAudio', 'cached_audio'],
]
const TOKENS_OF_A_PRICE = 1_000_000n

/** True for a unit of a million tokens. */
export function isOfTokens(unit: string): boolean {
  return TOKEN_UNITS.some(([, name]) => name === unit)
}

const BPS = 10_000n
/** Decimals of a price in pico-USD times basis points. */
const DECIMALS = 16

/** The part of a model that decides its media unit, besides its prices. */
type Sold = Pick<Model, 'mediaUnit'>

/** The price of one unit at a kept share, in US dollars. It is as exact as a double. */
export type ShownUnitPrice = { readonly unit: string; readonly usd: number }

/**
 * True for a model with a token price, and for a free one. Some price lists give media a token price of zero; with a
 * price for another unit beside it, that zero means that tokens have no price.
 */
export function isSoldByTokens(prices: UnitPrices): boolean {
  if ((prices.input ?? 0n) > 0n || (prices.output ?? 0n) > 0n) return true
  return prices.input !== undefined && MEDIA_UNITS.every(({ usageClass }) => (prices[usageClass] ?? 0n) === 0n)
}

/** The unit of a model's media in words. It is null exactly where there is no {@link mediaUnitPrice}. */
export function mediaUnitOf(model: Sold, prices: UnitPrices): string | null {
  return mainUnit(model, prices)?.words ?? null
}

/** Micro-USD of one media unit at a kept share, rounded up for display. Null for media without a price. */
export function mediaUnitPrice(model: Sold, prices: UnitPrices, keptBps: KeptBps): bigint | null {
  const unit = mainUnit(model, prices)
  const price = unit && prices[unit.usageClass]
  if (price === undefined) return null
  const divisor = PICO_PER_MICRO * BPS
  return (price * (unit?.units ?? 1n) * keptBps + divisor - 1n) / divisor
}

/**
 * Every price of a model besides those of plain tokens, at a kept share: of each media unit, and of a million other
 * tokens with a price of their own.
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
 * True when calls can cost more than the first figures of a model show, which are input and output or one media unit: a
 * class of tokens or a tier of images may cost more, and other units may be billed in addition.
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

/** Classes that are billed in place of another, not in addition. */
const TIERS: { readonly [Class in UsageClass]?: UsageClass } = {
  images2k: 'images',
  images4k: 'images',
  milliseconds1080p: 'milliseconds',
  milliseconds4k: 'milliseconds',
}

/** The priced unit of a job, and how many of our units make one. Undefined for a job without such a unit. */
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

/** Time is priced by the second, or by the minute if a catalogue says so. */
function asSold({ mediaUnit }: Sold, unit: PriceUnit): PriceUnit {
  return unit.usageClass === MINUTE.usageClass && mediaUnit === MINUTE_WORDS ? MINUTE : unit
}

/** Converts by text, because a quotient of doubles can be off in its last digit. */
function inDollars(amount: bigint): number {
  const digits = amount.toString().padStart(DECIMALS + 1, '0')
  return Number(`${digits.slice(0, -DECIMALS)}.${digits.slice(-DECIMALS)}`)
}
