import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { Model } from '#shared/catalog/model.ts'
import { DEFAULT_IMAGE_TOKENS, ENDPOINTS, ModelSchema } from '#shared/catalog/model.ts'
import { ClipSchema } from '#shared/clips.ts'
import { ImageTokensSchema, PRICED_QUALITIES } from '#shared/images.ts'
import type { PicoUsd } from '#shared/money.ts'
import { parseUnitPrice, picoUsd } from '#shared/money.ts'
import type { Minimums, PriceLines, PriceOverride } from '#shared/price-list.ts'
import {
  MAX_OVERRIDES,
  MinimumsSchema,
  PixelSize,
  PriceOverridesSchema,
  Region,
  SEARCH_CONTEXTS,
  SERVICE_TIERS,
  UTC_DAYS,
  UtcDate,
  writeOverrides,
} from '#shared/price-list.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import { writeUnitPrices } from '#shared/pricing.ts'
import { manyLines, oneLine } from '#shared/texts.ts'
import type { UsageClass } from '#shared/usage.ts'

const UnitDollars = z
  .string()
  .max(40)
  .refine((text) => priceIn(text) !== undefined, 'a price must be a decimal number of US dollars, not finer than 1e-12')

function priceIn(text: string): PicoUsd | undefined {
  try {
    return parseUnitPrice(text)
  } catch {
    return undefined
  }
}

/** The highest plausible price of a token in pico-USD: 10,000 dollars a million. */
const MAX_TOKEN_PRICE = 10_000_000_000n

const TokenDollars = UnitDollars.refine(
  (text) => (priceIn(text) ?? 0n) <= MAX_TOKEN_PRICE,
  'a token must cost at most 0.01 US dollars: send the price of one token, not of a million',
)

/** The highest plausible price of an image, a second or a search in pico-USD: 1,000 dollars. */
const MAX_UNIT_PRICE = 1_000_000_000_000_000n

const PieceDollars = UnitDollars.refine(
  (text) => (priceIn(text) ?? 0n) <= MAX_UNIT_PRICE,
  'a unit must cost at most 1,000 US dollars',
)

/** The longest plausible minimum of billed time: an hour. */
const MAX_LEAST_SECONDS = 3_600

/** Prices of one token by the names of OpenRouter's list. `input_cache_write_1h` is a cache of an hour or longer. */
const TOKEN_PRICES = {
  prompt: TokenDollars.optional(),
  completion: TokenDollars.optional(),
  input_cache_read: TokenDollars.optional(),
  input_cache_write: TokenDollars.optional(),
  input_cache_write_1h: TokenDollars.optional(),
  input_audio_cache: TokenDollars.optional(),
  internal_reasoning: TokenDollars.optional(),
  audio: TokenDollars.optional(),
  audio_output: TokenDollars.optional(),
  /** A token of an input image, and of a generated image. */
  image_token: TokenDollars.optional(),
  image_output: TokenDollars.optional(),
}

/** A time of the UTC day as its four digits: 130 is 01:30. */
const UtcTime = z
  .int()
  .min(0)
  .max(2_359)
  .refine((time) => time % 100 < 60, 'a time of the UTC day must be a number such as 130 for 01:30')
const UtcDay = z
  .string()
  .refine((day) => UTC_DAYS.some((utcDay) => utcDay === day), `a day must be one of ${UTC_DAYS.join(', ')}`)

/**
 * Prices that replace the list's while all of their conditions hold, in the shape of OpenRouter's `pricing.overrides`
 * with the service tier and dates added. `min_prompt_tokens` itself is excluded.
 */
export const PricingOverride = z
  .strictObject({
    ...TOKEN_PRICES,
    web_search: PieceDollars.optional(),
    request: PieceDollars.optional(),
    /** A generated image. */
    image: PieceDollars.optional(),
    search_context_size: z.enum(SEARCH_CONTEXTS).optional(),
    regions: z.array(Region).optional(),
    image_sizes: z.array(PixelSize).optional(),
    image_quality: z.enum(PRICED_QUALITIES).optional(),
    min_prompt_tokens: z.int().optional(),
    service_tier: z.enum(SERVICE_TIERS).optional(),
    utc_start: UtcTime.optional(),
    utc_end: UtcTime.optional(),
    utc_days: z.array(UtcDay).optional(),
    except_dates: z.array(UtcDate).optional(),
  })
  .refine(
    ({ utc_start: start, utc_end: end }) => (start === undefined) === (end === undefined),
    'a window of the day needs a start and an end',
  )

const Words = z.array(oneLine(100).min(1)).max(80)

/** A complete model of an import, in the shape of OpenRouter's model list plus our canonical id. */
export const CatalogItem = z.object({
  id: z.string().regex(/^[\x21-\x7e]{1,128}$/),
  canonical: z.string().regex(/^[\x21-\x7e]{1,128}$/),
  aliases: z.array(z.string().regex(/^[\x21-\x7e]{1,128}$/)).max(40),
  name: oneLine(200).min(1),
  created: z.number().int(),
  description: manyLines(2_000),
  context_length: z.number().int().positive(),
  architecture: z.object({ input_modalities: Words, output_modalities: Words }),
  pricing: z.strictObject({
    ...TOKEN_PRICES,
    prompt: TokenDollars,
    completion: TokenDollars,
    /** A web search, and the call itself. */
    web_search: PieceDollars.optional(),
    request: PieceDollars.optional(),
    overrides: z.array(PricingOverride).max(MAX_OVERRIDES).optional(),
  }),
  /** Prices of media in dollars: of an image, a million pixels, a character, and a second or a minute. */
  unit_pricing: z
    .strictObject({
      images: PieceDollars.optional(),
      /** An image of the tier 2K or 4K. Without it the price of an image applies. */
      images_2k: PieceDollars.optional(),
      images_4k: PieceDollars.optional(),
      pixels_per_million: PieceDollars.optional(),
      characters: PieceDollars.optional(),
      seconds: PieceDollars.optional(),
      /** A second of video of the tier 1080p or 4K. Without it the price of the next lower tier applies. */
      seconds_1080p: PieceDollars.optional(),
      seconds_4k: PieceDollars.optional(),
      /** The same time in minutes, for models whose price list counts minutes. */
      minutes: PieceDollars.optional(),
      /** The least billed time and the least billed characters of a request. */
      minimum_seconds: z.int().min(1).max(MAX_LEAST_SECONDS).optional(),
      minimum_characters: MinimumsSchema.shape.characters,
    })
    .refine(
      ({ minutes, ...units }) => minutes === undefined || !hasSeconds(units),
      'give a price of the second or of the minute, not of both',
    )
    .refine(
      ({ seconds, minutes, minimum_seconds: least }) => least === undefined || (seconds ?? minutes) !== undefined,
      'a minimum of seconds needs a price of time',
    )
    .refine(
      ({ characters, minimum_characters: least }) => least === undefined || characters !== undefined,
      'a minimum of characters needs a price of characters',
    )
    .optional(),
  top_provider: z.object({ max_completion_tokens: z.number().int().positive().nullish() }),
  supported_parameters: Words,
  supported_features: Words,
  endpoints: z.array(z.enum(ENDPOINTS)).min(1),
  image_tokens: z.number().int().positive().optional(),
  image_output_tokens: ImageTokensSchema.optional(),
  /** Limits of a request for video or music. */
  clip: ClipSchema.optional(),
})
export type CatalogItem = z.infer<typeof CatalogItem>

const SANDBOX = 'sandbox/'

/** Converts an item to a model. */
export function modelOf(item: CatalogItem): Model {
  const isSandbox = item.canonical.startsWith(SANDBOX)
  const lab = item.id.split('/')[0] ?? item.id
  const openRouterName = `${lab}/${item.canonical}`
  const extraName = item.id === openRouterName || item.id === item.canonical ? [] : [item.id]
  return ModelSchema.parse({
    id: item.canonical,
    lab,
    name: item.name,
    description: item.description,
    created: item.created,
    aliases: [...item.aliases, ...extraName],
    contextLength: item.context_length,
    maxCompletionTokens: item.top_provider.max_completion_tokens ?? item.context_length,
    inputModalities: item.architecture.input_modalities,
    outputModalities: item.architecture.output_modalities,
    features: item.supported_features,
    parameters: item.supported_parameters,
    endpoints: item.endpoints,
    imageTokens: item.image_tokens ?? DEFAULT_IMAGE_TOKENS,
    imageOutput: item.image_output_tokens ?? null,
    clip: item.clip ?? null,
    isSandbox,
    mediaUnit: mediaUnitOf(item),
  })
}

function hasSeconds(units: { readonly [Name in 'seconds' | 'seconds_1080p' | 'seconds_4k']?: string | undefined }) {
  return [units.seconds, units.seconds_1080p, units.seconds_4k].some((price) => price !== undefined)
}

/** Every exact name of a model, in lower case. */
export function namesOf(model: Model): string[] {
  return [...new Set([model.id, `${model.lab}/${model.id}`, ...model.aliases].map((name) => name.toLowerCase()))]
}

const MEDIA_UNITS = {
  images: 'per image',
  pixels_per_million: 'per megapixel',
  characters: 'per character',
  seconds: 'per second',
  minutes: 'per minute',
} as const

function mediaUnitOf({ unit_pricing: units }: CatalogItem): string | null {
  if (units?.pixels_per_million !== undefined) return MEDIA_UNITS.pixels_per_million
  if (units?.images !== undefined) return MEDIA_UNITS.images
  if (units?.characters !== undefined) return MEDIA_UNITS.characters
  if (units?.seconds !== undefined) return MEDIA_UNITS.seconds
  if (units?.minutes !== undefined) return MEDIA_UNITS.minutes
  return null
}

const PIXELS_PER_MEGAPIXEL = 1_000_000n
const MILLISECONDS_PER_SECOND = 1_000n
const MILLISECONDS_PER_MINUTE = 60_000n

/**
 * Returns an item's reference prices by usage class. Areas are priced by pixel and times by millisecond. Throws a
 * RangeError for a price that does not divide into whole pico-USD, and for an override without a condition or a price,
 * with the conditions of another override, or that never applies.
 */
export function priceLinesOf({
  pricing,
  unit_pricing: units,
}: Pick<CatalogItem, 'pricing' | 'unit_pricing'>): PriceLines {
  const { overrides = [] } = pricing
  const unitPrices = statedPrices([
    ...pricesByCall(pricing),
    ['images', read(units?.images)],
    ['images2k', read(units?.images_2k)],
    ['images4k', read(units?.images_4k)],
    ['pixels', read(units?.pixels_per_million, PIXELS_PER_MEGAPIXEL)],
    ['characters', read(units?.characters)],
    ['milliseconds', read(units?.seconds, MILLISECONDS_PER_SECOND) ?? read(units?.minutes, MILLISECONDS_PER_MINUTE)],
    ['milliseconds1080p', read(units?.seconds_1080p, MILLISECONDS_PER_SECOND)],
    ['milliseconds4k', read(units?.seconds_4k, MILLISECONDS_PER_SECOND)],
  ])
  const minimums = minimumsOf(units)
  const base = { unitPrices, ...(minimums && { minimums }) }
  if (overrides.length === 0) return base
  const named = PriceOverridesSchema.safeParse(overrides.map(overrideOf))
  if (named.success) {
    const idle = named.data.findIndex((override, at) =>
      named.data.some((other, rank) => rank > at && hides(other, override)),
    )
    if (idle >= 0) throw new RangeError(`overrides.${idle}: a later override hides this one in every case`)
    const lackingIndex = named.data.findIndex((override) => lacksRegion(override, named.data))
    if (lackingIndex >= 0)
      throw new RangeError(`overrides.${lackingIndex}: a region has no line under the same conditions`)
    const unsold = named.data.findIndex(({ unitPrices: own }) => 'images' in own && unitPrices.images === undefined)
    if (unsold >= 0) throw new RangeError(`overrides.${unsold}: a picture is not sold by the piece`)
    return { ...base, overrides: named.data }
  }
  const [issue] = named.error.issues
  throw new RangeError(`overrides.${issue?.path.map(String).join('.')}: ${issue?.message}`)
}

function minimumsOf(units: CatalogItem['unit_pricing']): Minimums | undefined {
  const { minimum_seconds: seconds, minimum_characters: characters } = units ?? {}
  if (seconds === undefined && characters === undefined) return undefined
  return {
    ...(seconds !== undefined && { milliseconds: seconds * Number(MILLISECONDS_PER_SECOND) }),
    ...(characters !== undefined && { characters }),
  }
}

/** True when an override replaces every price of an earlier override wherever that one applies. */
function hides({ when, unitPrices }: PriceOverride, earlier: PriceOverride): boolean {
  const { minPromptTokens = 0, serviceTier, ...times } = when
  const { minPromptTokens: earlierMin = 0, serviceTier: earlierTier, ...earlierTimes } = earlier.when
  const isAlwaysThen =
    Object.values(times).every((value) => value === undefined) || isDeepStrictEqual(times, earlierTimes)
  if (!isAlwaysThen || minPromptTokens > earlierMin) return false
  if (serviceTier !== undefined && serviceTier !== earlierTier) return false
  return Object.keys(earlier.unitPrices).every((name) => name in unitPrices)
}

/**
 * True for an override of every region, next to a regional override, where no regional override has the same
 * conditions.
 */
function lacksRegion({ when, unitPrices }: PriceOverride, all: readonly PriceOverride[]): boolean {
  const { regions, ...conditions } = when
  if (regions !== undefined) return false
  const namedRegions = new Set(all.flatMap((other) => other.when.regions ?? []))
  return [...namedRegions].some((region) => {
    const same = all.find(({ when: { regions: own, ...others } }) => {
      return own?.includes(region) === true && isDeepStrictEqual(others, conditions)
    })
    const covered = new Set(Object.keys(same?.unitPrices ?? {}))
    // Fees of searches and of requests are the same everywhere.
    return Object.keys(unitPrices).some((name) => !FEES.has(name) && !covered.has(name))
  })
}

const FEES: ReadonlySet<string> = new Set(['searches', 'calls'])

type Priced = readonly (readonly [UsageClass, PicoUsd | undefined])[]

function pricesByCall(pricing: z.output<typeof PricingOverride> | CatalogItem['pricing']): Priced {
  return [
    ['input', read(pricing.prompt)],
    ['cacheRead', read(pricing.input_cache_read)],
    ['cacheWrite', read(pricing.input_cache_write)],
    ['cacheWriteLong', read(pricing.input_cache_write_1h)],
    ['cachedAudio', read(pricing.input_audio_cache)],
    ['output', read(pricing.completion)],
    ['reasoning', read(pricing.internal_reasoning)],
    ['audioInput', read(pricing.audio)],
    ['audioOutput', read(pricing.audio_output)],
    ['imageInput', read(pricing.image_token)],
    ['imageOutput', read(pricing.image_output)],
    ['searches', read(pricing.web_search)],
    ['calls', read(pricing.request)],
    ...('image' in pricing ? [['images', read(pricing.image)] as const] : []),
  ]
}

function statedPrices(prices: Priced): UnitPrices {
  return Object.fromEntries(prices.filter(([, price]) => price !== undefined))
}

/** An override in the contract's form. The contract's schema checks the conditions. */
function overrideOf(override: z.output<typeof PricingOverride>) {
  const unitPrices = writeUnitPrices(statedPrices(pricesByCall(override)))
  if (Object.keys(unitPrices).length === 0) throw new RangeError('an override needs a price')
  const { utc_start: start, utc_end: end } = override
  return {
    unitPrices,
    when: {
      minPromptTokens: override.min_prompt_tokens === undefined ? undefined : override.min_prompt_tokens + 1,
      serviceTier: override.service_tier,
      searchContext: override.search_context_size,
      regions: override.regions,
      imageSizes: override.image_sizes,
      imageQuality: override.image_quality,
      utcWindow: start === undefined || end === undefined ? undefined : [utcMinute(start), utcMinute(end)],
      utcDays: override.utc_days?.map((day) => UTC_DAYS.findIndex((known) => known === day)),
      exceptDates: override.except_dates,
    },
  }
}

function utcMinute(time: number): number {
  return Math.floor(time / 100) * 60 + (time % 100)
}

/** Price lines in the form in which they are stored and shown. */
export function storedLines({ unitPrices, overrides = [], minimums = {} }: PriceLines) {
  return { unitPrices: writeUnitPrices(unitPrices), overrides: writeOverrides(overrides), minimums }
}

function read(dollars: string | undefined, unitsPerPrice = 1n): PicoUsd | undefined {
  if (dollars === undefined) return undefined
  const price = parseUnitPrice(dollars)
  if (price % unitsPerPrice !== 0n) throw new RangeError('a unit price is finer than 1e-12 US dollars')
  return picoUsd(price / unitsPerPrice)
}
