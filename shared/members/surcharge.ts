import type { Model } from '#shared/catalog/model.ts'
import type { PriceLines, SearchContext, ServiceTier } from '#shared/price-list.ts'
import { Region } from '#shared/price-list.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'

/** Reasons for which a provider bills a call above its plain price, each with what is bought in words. */
export const SURCHARGES = {
  service_tier: 'another service tier',
  region: 'work in a chosen region',
  cache_write: 'writes to a prompt cache',
  cache_write_long: 'a prompt cache that lasts longer',
  search: 'searches',
  cache_storage: 'a cache that is kept at the provider and paid for by the hour',
  deep_search: 'deeper searches',
  thinking: 'thoughts of a model that answers without them as well',
  prediction: 'a predicted text, whose rejected tokens are billed',
  plugins: 'plugins',
  other_model: 'an answer of another model',
  audio_output: 'spoken answers',
  picture_quality: 'a better picture',
  picture_kind: 'a picture of this kind',
  steps: 'more steps',
  film_audio: 'films with sound',
  frame_rate: 'more frames a second',
} as const
export type Surcharge = keyof typeof SURCHARGES

/**
 * Surcharges that a provider bills as it sees fit, such as a tier that it may refuse. A seller allows each by name. All
 * others are counted by what the provider reports, or are in the price.
 */
const ALLOWED_BY_NAME = [
  'service_tier',
  'region',
  'deep_search',
  'plugins',
  'other_model',
  'prediction',
] as const satisfies readonly Surcharge[]

/** The words by which an offer allows members: `unknown` for those that nobody knows, and surcharges. */
export const PASSES = ['unknown', ...ALLOWED_BY_NAME] as const
export type Pass = (typeof PASSES)[number]

/** The word by which a seller must allow a surcharge. Undefined where no seller is asked. */
export function passOf(surcharge: Surcharge): Pass | undefined {
  return ALLOWED_BY_NAME.find((name) => name === surcharge)
}

/** True where the seller of an offer allows what a word stands for. */
export function allows({ passes }: { readonly passes?: readonly string[] | undefined }, word: Pass): boolean {
  return passes?.includes(word) === true
}

/** A member of a request that makes its call dearer. */
export type CostlyMember = {
  /** The member's place, as refusals name it. */
  readonly param: string
  readonly surcharge: Surcharge
  /** The service tier that it asks for. Absent for any other surcharge, and for a tier that no price list names. */
  readonly tier?: ServiceTier
  /** The region in which it wants the call to be worked on. */
  readonly region?: string
  /** The amount of what searches find that it asks for. Absent where it names none. */
  readonly searchContext?: SearchContext
  /** The protocols of sellers that the member reaches. Absent where any seller may be sent it. */
  readonly only?: readonly ProtocolName[]
}

/** The thing that is sold, as far as it decides what a member costs. */
export type SoldModel = { readonly model: Model; readonly price: PriceLines }

/** Surcharges that a catalogue entry's price includes where the entry lists the member. */
const INCLUDED_WHERE_LISTED: ReadonlySet<Surcharge> = new Set(['picture_kind', 'steps', 'film_audio', 'frame_rate'])

/** The tier and the region that a whole call asks for. */
export type AskedService = { readonly tier: ServiceTier | undefined; readonly region: string | undefined }

/**
 * True where the price list of a model has a price for what a member orders, or the member orders nothing dearer. A tier
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

/** The service tier that a call asks for. Undefined for the standard one. */
export function askedTier(costly: readonly CostlyMember[] | undefined): ServiceTier | undefined {
  return costly?.find(({ tier }) => tier !== undefined)?.tier
}

/** The region in which a call asks to be worked on. Undefined where it asks for none. */
export function askedRegion(costly: readonly CostlyMember[] | undefined): string | undefined {
  return costly?.find(({ region }) => region !== undefined)?.region
}

/** The amount of what searches find that a call asks for. Undefined where it names none. */
export function askedSearchContext(costly: readonly CostlyMember[] | undefined): SearchContext | undefined {
  return costly?.find(({ searchContext }) => searchContext !== undefined)?.searchContext
}

/** The service that a body asks for, for protocols other than the buyer's. */
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

/** The region of a word in a request. Undefined for a call that may be worked on anywhere, and for no name of a region. */
export function regionOf(word: unknown): string | undefined {
  return word === 'global' ? undefined : Region.safeParse(word).data
}

/** The tier of a word in a request or in an answer. OpenAI renamed `priority` to `fast` and answers with the old name. */
export function tierOf(word: unknown): ServiceTier | undefined {
  if (typeof word !== 'string') return undefined
  if (/priority$|^fast$/i.test(word)) return 'priority'
  return /flex$/i.test(word) ? 'flex' : undefined
}

/**
 * The most searches of a call whose request names no number, and the most that a request may name. More than most
 * answers make.
 */
export const USUAL_SEARCHES = 5
export const MOST_SEARCHES = 20
