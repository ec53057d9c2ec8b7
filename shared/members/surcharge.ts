import type { Model } from '#shared/catalog/model.ts'
import type { PriceLines, SearchContext, ServiceTier } from '#shared/price-list.ts'
import { Region } from '#shared/price-list.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'

/** Reasons for which a provider bills a call above its plain price, each with the purchase in words. */
export const SURCHARGES = {
  service_tier: 'another service tier',
  region: 'work in a chosen region',
  cache_write: 'writes to a prompt cache',
  cache_write_long: 'a prompt cache that lasts longer',
  search: 'searches',
  cache_storage: 'a cache that is kept at the provider and paid for by the hour',
  deep_search: 'deeper searches',
  thinking: 'reasoning of a model that can also answer without it',
  prediction: 'a predicted text, whose rejected tokens are billed',
  plugins: 'plugins',
  other_model: 'an answer of another model',
  audio_output: 'spoken answers',
  picture_quality: 'a better image',
  picture_kind: 'an image of this kind',
  steps: 'more steps',
  film_audio: 'films with sound',
  frame_rate: 'more frames a second',
} as const
export type Surcharge = keyof typeof SURCHARGES

/**
 * Surcharges that a provider bills at its discretion, such as a tier that it may refuse. A seller allows each by name.
 * All others are counted by the provider's report, or are in the price.
 */
const ALLOWED_BY_NAME = [
  'service_tier',
  'region',
  'deep_search',
  'plugins',
  'other_model',
  'prediction',
] as const satisfies readonly Surcharge[]

/** The names by which an offer allows members: `unknown` for unknown ones, and surcharges. */
export const PASSES = ['unknown', ...ALLOWED_BY_NAME] as const
export type Pass = (typeof PASSES)[number]

/** The name by which a seller must allow a surcharge. Undefined when no permission is needed. */
export function passOf(surcharge: Surcharge): Pass | undefined {
  return ALLOWED_BY_NAME.find((name) => name === surcharge)
}

/** True when the seller of an offer allows the members of a name. */
export function allows({ passes }: { readonly passes?: readonly string[] | undefined }, word: Pass): boolean {
  return passes?.includes(word) === true
}

/** A member of a request that raises the cost of its call. */
export type CostlyMember = {
  /** The member's path in refusals. */
  readonly param: string
  readonly surcharge: Surcharge
  /** The requested service tier. Absent for any other surcharge, and for a tier that no price list names. */
  readonly tier?: ServiceTier
  /** The requested region. */
  readonly region?: string
  /** The requested amount of search context. Absent without one. */
  readonly searchContext?: SearchContext
  /** The protocols of sellers that the member can reach. Absent when any seller may receive it. */
  readonly only?: readonly ProtocolName[]
}

/** The part of a model that decides a member's cost. */
export type SoldModel = { readonly model: Model; readonly price: PriceLines }

/** Surcharges that a catalogue entry's price includes if the entry lists the member. */
const INCLUDED_WHERE_LISTED: ReadonlySet<Surcharge> = new Set(['picture_kind', 'steps', 'film_audio', 'frame_rate'])

/** The tier and the region of a whole call. */
export type AskedService = { readonly tier: ServiceTier | undefined; readonly region: string | undefined }

/**
 * True when the price list of a model has a price for the order of a member, or the order costs nothing extra. A tier
 * in a region has a line for both.
 */
export function isCovered(member: CostlyMember, { model, price }: SoldModel, askedService: AskedService): boolean {
  const { param, surcharge, tier, region, searchContext } = member
  const { unitPrices, overrides = [] } = price
  const hasLine = (service: AskedService) =>
    overrides.some(
      ({ when }) =>
        when.serviceTier === service.tier &&
        (service.region === undefined ? when.regions === undefined : when.regions?.includes(service.region) === true),
    )
  switch (surcharge) {
    case 'service_tier':
      // A provider serves one tier, so a call that names two of them has no price.
      return tier !== undefined && tier === askedService.tier && hasLine(askedService)
    case 'region':
      return region !== undefined && hasLine(askedService) && hasLine({ tier: undefined, region })
    case 'cache_write':
      return unitPrices.cacheWrite !== undefined
    case 'cache_write_long':
      return unitPrices.cacheWriteLong !== undefined
    case 'audio_output':
      return unitPrices.audioOutput !== undefined
    // Rejected tokens are output, and are charged as the provider counts them.
    case 'prediction':
      return unitPrices.output !== undefined
    case 'thinking':
      return unitPrices.reasoning !== undefined
    // Searches have a price of their own, or the price of the call covers them.
    case 'search':
      return (
        (unitPrices.searches !== undefined || unitPrices.calls !== undefined) &&
        (searchContext === undefined || overrides.some(({ when }) => when.searchContext === searchContext))
      )
    // Tokens and area are counted. A piece has one price or one of its quality, and a model that lists its parameters
    // without this one has none.
    case 'picture_quality':
      return (
        overrides.some(({ when }) => when.imageQuality !== undefined) ||
        unitPrices.images === undefined ||
        (model.parameters.length > 0 && !model.parameters.includes(param))
      )
    default:
      return INCLUDED_WHERE_LISTED.has(surcharge) && model.parameters.includes(param)
  }
}

/** The requested service tier. Undefined for the standard one. */
export function askedTier(costly: readonly CostlyMember[] | undefined): ServiceTier | undefined {
  return costly?.find(({ tier }) => tier !== undefined)?.tier
}

/** The requested region. Undefined without one. */
export function askedRegion(costly: readonly CostlyMember[] | undefined): string | undefined {
  return costly?.find(({ region }) => region !== undefined)?.region
}

/** The requested amount of search context. Undefined without one. */
export function askedSearchContext(costly: readonly CostlyMember[] | undefined): SearchContext | undefined {
  return costly?.find(({ searchContext }) => searchContext !== undefined)?.searchContext
}

/** The service that a body requests, for protocols other than the buyer's. */
export function serviceOf(body: Readonly<Record<string, unknown>>): {
  readonly serviceTier?: ServiceTier
  readonly speed?: 'fast'
  readonly region?: string
} {
  const serviceTier = tierOf(body['service_tier'])
  const region = regionOf(body['inference_geo'])
  return {
    ...(serviceTier !== undefined && { serviceTier }),
    ...(body['speed'] === 'fast' && { speed: 'fast' }),
    ...(region !== undefined && { region }),
  }
}

/** The region of a value in a request. Undefined for a call without a region, and for a value that is no region. */
export function regionOf(word: unknown): string | undefined {
  return word === 'global' ? undefined : Region.safeParse(word).data
}

/**
 * The tier of a value in a request or in an answer. OpenAI renamed `priority` to `fast` and answers with the old name.
 */
export function tierOf(word: unknown): ServiceTier | undefined {
  if (typeof word !== 'string') return undefined
  if (/priority$|^fast$/i.test(word)) return 'priority'
  return /flex$/i.test(word) ? 'flex' : undefined
}

/**
 * The most searches of a call whose request sets no number, and the most that a request may set. More than most answers
 * make.
 */
export const USUAL_SEARCHES = 5
export const MOST_SEARCHES = 20
