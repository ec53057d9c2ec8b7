import { z } from 'zod'
import { DAY, HOUR, MINUTE } from './clock.ts'
import { PRICED_QUALITIES } from './images.ts'
import type { UnitPrices } from './pricing.ts'
import { FALLING_CLASSES, fallbackPrice, UnitPricesSchema, writeUnitPrices } from './pricing.ts'
import type { Usage, UsageClass } from './usage.ts'

/** The most overrides of a price list, and the most excluded dates of one override. */
export const MAX_OVERRIDES = 40
const MAX_EXCEPTED_DATES = 400
/** More prompt tokens than any model reads. */
const MAX_PROMPT_TOKENS = 100_000_000
/** More characters than any speech model bills for a single word. */
const MAX_LEAST_CHARACTERS = 10_000

/** Service tiers that a price list may name. A provider's `fast` mode is a tier, too. */
export const SERVICE_TIERS = ['flex', 'priority', 'fast'] as const
export type ServiceTier = (typeof SERVICE_TIERS)[number]

/** Amounts of search context that a call may ask for. Some providers price searches by them. */
export const SEARCH_CONTEXTS = ['low', 'medium', 'high'] as const
export type SearchContext = (typeof SEARCH_CONTEXTS)[number]

/** The size of an image in pixels: `1792x1024`. */
export const PixelSize = z.string().regex(/^[1-9]\d{1,3}x[1-9]\d{1,3}$/)

/** A region in which a provider processes a call: `us`, `eu`. */
export const Region = z.string().regex(/^[a-z][a-z0-9-]{0,19}$/)
/** The most regions, and the most image sizes, of an override. */
const MAX_REGIONS = 10
const MAX_SIZES = 10

/** Days of the UTC week by their number, under their names in price lists. */
export const UTC_DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const

/** A minute of the UTC day. */
const UtcMinute = z.int().min(0).max(1_439)
/** A date of the UTC calendar: `2027-01-01`. */
export const UtcDate = z.string().regex(/^\d{4}-\d{2}-\d{2}$/)

/**
 * The conditions of an override. All named ones must hold, and at least one is named. Conditions of time concern the
 * instant at which a call arrived, so that a price never changes during an answer.
 */
export const PriceConditionsSchema = z
  .strictObject({
    /**
     * The whole prompt has this many tokens or more, including those read from caches and written to them. A provider
     * that charges more above a number of tokens is written with the next number.
     */
    minPromptTokens: z.int().min(1).max(MAX_PROMPT_TOKENS).optional(),
    /** The tier that served the call, as its provider reports it. */
    serviceTier: z.enum(SERVICE_TIERS).optional(),
    /** The amount of search context, as the call asks for it or as its provider reports it. */
    searchContext: z.enum(SEARCH_CONTEXTS).optional(),
    /** Regions, one of which the call asks for. */
    regions: z.array(Region).min(1).max(MAX_REGIONS).readonly().optional(),
    /** Sizes of an image in pixels: `1792x1024`. */
    imageSizes: z.array(PixelSize).min(1).max(MAX_SIZES).readonly().optional(),
    imageQuality: z.enum(PRICED_QUALITIES).optional(),
    /** Start (inclusive) and end (exclusive) of a window of the UTC day. It may pass midnight. */
    utcWindow: z
      .tuple([UtcMinute, UtcMinute])
      .readonly()
      .refine(([start, end]) => start !== end, 'a window begins and ends at different minutes')
      .optional(),
    /** Days of the UTC week; 0 is Sunday. */
    utcDays: z.array(z.int().min(0).max(6)).min(1).max(6).readonly().optional(),
    /** UTC dates on which the override does not apply, such as holidays: `2027-01-01`. */
    exceptDates: z.array(UtcDate).min(1).max(MAX_EXCEPTED_DATES).readonly().optional(),
  })
  .refine((when) => Object.values(when).some((value) => value !== undefined), 'an override needs a condition')
export type PriceConditions = z.infer<typeof PriceConditionsSchema>

/** Prices that replace others while the conditions hold. A class without a price here keeps its own. */
export type PriceOverride = {
  /** The conditions in words: `prompt_tokens>=272001 service_tier=priority`. Events and look-ups name it. */
  readonly name: string
  readonly when: PriceConditions
  readonly unitPrices: UnitPrices
}

/** Reference prices: unconditional and conditional ones. */
export type PriceLines = {
  readonly unitPrices: UnitPrices
  /** The last matching override applies, class by class. Absent without any. */
  readonly overrides?: readonly PriceOverride[] | undefined
  /** The least billed amount of a class, for a request that uses any. Absent without one. */
  readonly minimums?: Minimums | undefined
}

/** Least units of a request, by class: 10,000 milliseconds of a transcript. */
export const MinimumsSchema = z.strictObject({
  milliseconds: z.int().min(1).max(HOUR).optional(),
  characters: z.int().min(1).max(MAX_LEAST_CHARACTERS).optional(),
})
export type Minimums = z.infer<typeof MinimumsSchema>

/** The billed usage: the used amount of a class counts as at least its minimum. */
export function billedUsage({ minimums }: Pick<PriceLines, 'minimums'>, usage: Usage): Usage {
  if (minimums === undefined) return usage
  const billed: { -readonly [Class in UsageClass]?: number } = { ...usage }
  for (const key in minimums) {
    const name = key as keyof Minimums
    const count = usage[name] ?? 0
    if (count > 0) billed[name] = Math.max(count, minimums[name] ?? 0)
  }
  return billed
}

/** A dated version of a model's reference prices. A call carries the version of its price. */
export type ReferencePrice = PriceLines & {
  readonly version: string
  /** The names of conditions that were decided when the call arrived, and whose prices `unitPrices` holds. */
  readonly held?: readonly string[]
}

/** The facts of a call that conditions concern. The instant of the call is not here: see {@link priceAt}. */
export type PriceFacts = {
  /** Tokens of the whole prompt of one exchange with the provider. */
  readonly promptTokens: number
  /** The tier that served the call. Undefined for the standard one. */
  readonly serviceTier?: ServiceTier | undefined
  /** Undefined when neither the call nor its provider names one. {@link dearestPrices} then assumes any amount. */
  readonly searchContext?: SearchContext | undefined
  /** Undefined when the call names none. */
  readonly region?: string | undefined
  /** The size and the quality of the images. Undefined when the call names none. */
  readonly imageSize?: string | undefined
  readonly imageQuality?: string | undefined
}

/**
 * The price list of a call that arrives at an instant (Unix milliseconds): conditions of time are decided, and those
 * that do not hold are removed. Later overrides have precedence over earlier ones, class by class. A list without
 * conditions of time is returned unchanged.
 */
export function priceAt(price: ReferencePrice, at: number): ReferencePrice {
  const { overrides = [] } = price
  if (!overrides.some(({ when }) => isTimed(when))) return price
  let base = price.unitPrices
  let open: PriceOverride[] = []
  const conditions: string[] = []
  for (const override of overrides) {
    if (!isTime(override.when, at)) continue
    if (isOpen(override.when)) {
      open.push(override)
      continue
    }
    base = { ...base, ...override.unitPrices }
    // Earlier overrides that may still match lose the classes that this one sets.
    open = open.map((earlier) => ({ ...earlier, unitPrices: without(earlier.unitPrices, override.unitPrices) }))
    conditions.push(override.name)
  }
  const { version, minimums } = price
  return { version, unitPrices: base, overrides: open, held: conditions, minimums }
}

function isTimed({ utcWindow, utcDays, exceptDates }: PriceConditions): boolean {
  return utcWindow !== undefined || utcDays !== undefined || exceptDates !== undefined
}

/** True for conditions about the call itself, besides those of time. */
function isOpen(when: PriceConditions): boolean {
  // Runs for every call, so it makes no list of them.
  for (const name in when) {
    if (!TIMES.has(name) && when[name as keyof PriceConditions] !== undefined) return true
  }
  return false
}

const TIMES: ReadonlySet<string> = new Set(['utcWindow', 'utcDays', 'exceptDates'] satisfies (keyof PriceConditions)[])

function isTime({ utcWindow, utcDays, exceptDates }: PriceConditions, at: number): boolean {
  if (utcWindow !== undefined) {
    const minute = (at % DAY) / MINUTE
    const [start, end] = utcWindow
    const isWithin = start < end ? minute >= start && minute < end : minute >= start || minute < end
    if (!isWithin) return false
  }
  const day = new Date(at)
  if (utcDays !== undefined && !utcDays.includes(day.getUTCDay())) return false
  return exceptDates === undefined || !exceptDates.includes(day.toISOString().slice(0, 10))
}

function without(prices: UnitPrices, removedPrices: UnitPrices): UnitPrices {
  const rest = Object.entries(prices).filter(([name]) => removedPrices[name as UsageClass] === undefined)
  return Object.fromEntries(rest)
}

/** The prices of one exchange at its facts. The list has been through {@link priceAt}. */
export function unitPricesFor({ unitPrices, overrides }: ReferencePrice, facts: PriceFacts): UnitPrices {
  if (overrides === undefined) return unitPrices
  let prices = unitPrices
  for (const { when, unitPrices: own } of overrides) if (holds(when, facts)) prices = { ...prices, ...own }
  return prices
}

/** The names of the matching conditions of a call, for its event. */
export function heldConditions({ overrides = [], held = [] }: ReferencePrice, facts: PriceFacts): readonly string[] {
  let names = held
  for (const { when, name } of overrides) if (holds(when, facts)) names = [...names, name]
  return names
}

function holds(when: PriceConditions, facts: PriceFacts): boolean {
  const { minPromptTokens, serviceTier, searchContext, regions, imageSizes, imageQuality } = when
  // Most calls name no region and no tier.
  if (regions !== undefined && (facts.region === undefined || !regions.includes(facts.region))) return false
  if (serviceTier !== undefined && serviceTier !== facts.serviceTier) return false
  if (minPromptTokens !== undefined && facts.promptTokens < minPromptTokens) return false
  if (searchContext !== undefined && searchContext !== facts.searchContext) return false
  if (imageQuality !== undefined && imageQuality !== facts.imageQuality) return false
  return imageSizes === undefined || (facts.imageSize !== undefined && imageSizes.includes(facts.imageSize))
}

/** True for conditions that a call may meet. A call without a search context may meet any. */
function isReached(when: PriceConditions, most: PriceFacts): boolean {
  const { searchContext } = when
  return holds(
    when,
    searchContext === undefined || most.searchContext !== undefined ? most : { ...most, searchContext },
  )
}

/**
 * The highest price of each class that can apply to a call: an upper bound of {@link unitPricesFor} for every prompt of
 * at most this many tokens, in the requested tier and region and in the standard ones. Holds are computed from these
 * prices.
 */
export function dearestPrices({ unitPrices, overrides }: ReferencePrice, most: PriceFacts): UnitPrices {
  const open = overrides?.filter(({ when }) => isReached(when, most))
  if (open === undefined || open.length === 0) return unitPrices
  const top: { -readonly [Class in UsageClass]?: UnitPrices[Class] } = { ...unitPrices }
  for (const { unitPrices: own } of open) {
    for (const key in own) {
      const name = key as UsageClass
      const price = own[name]
      if (price !== undefined && price > (top[name] ?? -1n)) top[name] = price
    }
  }
  // A class that only an override prices costs as much as its fallback when the override does not match.
  for (const name of FALLING_CLASSES) {
    const own = unitPrices[name] === undefined ? top[name] : undefined
    const price = own === undefined ? undefined : fallbackPrice(top, name)
    if (own !== undefined && price !== undefined && price > own) top[name] = price
  }
  return top
}

/** The conditions in words, which events, look-ups and differences of price lists use as an override's name. */
function nameOf(when: PriceConditions): string {
  const { minPromptTokens, serviceTier, utcWindow, utcDays, exceptDates } = when
  const words = [
    minPromptTokens === undefined ? [] : `prompt_tokens>=${minPromptTokens}`,
    serviceTier === undefined ? [] : `service_tier=${serviceTier}`,
    when.searchContext === undefined ? [] : `search_context=${when.searchContext}`,
    when.regions === undefined ? [] : `region=${when.regions.join(',')}`,
    when.imageSizes === undefined ? [] : `size=${when.imageSizes.join(',')}`,
    when.imageQuality === undefined ? [] : `quality=${when.imageQuality}`,
    utcWindow === undefined ? [] : `utc=${utcWindow.map(writeUtcMinute).join('-')}`,
    utcDays === undefined ? [] : `utc_days=${utcDays.join(',')}`,
    exceptDates === undefined ? [] : `but_dates=${exceptDates.length}`,
  ]
  return words.flat().join(' ')
}

/** `90` as `01:30`. */
export function writeUtcMinute(minute: number): string {
  return [Math.floor(minute / 60), minute % 60].map((part) => String(part).padStart(2, '0')).join(':')
}

/** Overrides in the contract: decimal strings of pico-USD by class. Two with the same conditions are refused. */
export const PriceOverridesSchema = z
  .array(
    z
      .strictObject({ when: PriceConditionsSchema, unitPrices: UnitPricesSchema })
      .transform(({ when, unitPrices }): PriceOverride => ({ name: nameOf(when), when: inOneShape(when), unitPrices })),
  )
  .max(MAX_OVERRIDES)
  .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, 'two overrides have the same conditions')

/** The same conditions with every name, so that the engine reads those of all overrides alike. */
function inOneShape(when: PriceConditions): PriceConditions {
  return {
    minPromptTokens: when.minPromptTokens,
    serviceTier: when.serviceTier,
    searchContext: when.searchContext,
    regions: when.regions,
    imageSizes: when.imageSizes,
    imageQuality: when.imageQuality,
    utcWindow: when.utcWindow,
    utcDays: when.utcDays,
    exceptDates: when.exceptDates,
  }
}

/** Writes overrides in the contract's form. */
export function writeOverrides(overrides: readonly PriceOverride[]) {
  return overrides.map(({ when, unitPrices }) => ({ when, unitPrices: writeUnitPrices(unitPrices) }))
}

/** The conditional prices that a settled call names. A condition that the list no longer has is ignored. */
export function unitPricesUnder({ unitPrices, overrides = [] }: PriceLines, conditions: readonly string[]): UnitPrices {
  const heldOverrides = overrides.filter(({ name }) => conditions.includes(name))
  return Object.assign({}, unitPrices, ...heldOverrides.map((override) => override.unitPrices))
}
