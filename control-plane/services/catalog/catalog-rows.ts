import { z } from 'zod'
import type { Endpoint, Model } from '#shared/catalog/model.ts'
import { ENDPOINTS } from '#shared/catalog/model.ts'
import { isRecord } from '#shared/json-members.ts'
import { parseUnitPrice } from '#shared/money.ts'
import type { CatalogItem } from './catalog-items.ts'
import { CatalogItem as Item } from './catalog-items.ts'

const MAX_DESCRIPTION_CHARS = 2_000
const { id, canonical, aliases, supported_features, endpoints, unit_pricing, pricing } = Item.shape
const { image_tokens, image_output_tokens, clip } = Item.shape

/**
 * Reads the price of a class. These lists write 0 for a class without a price of its own, which is charged as its
 * parent class.
 */
function ownPrice(dollars: string | undefined): string | undefined {
  return dollars === undefined || parseUnitPrice(dollars) === 0n ? undefined : dollars
}

/**
 * Members of such lists that set no price here: input images are tokens of the prompt, and discounts are in the prices
 * already.
 */
const UNUSED_PRICES: ReadonlySet<string> = new Set(['image', 'discount'])

/** Drops members that set no price. An unknown member is refused by name. */
function withoutUnused(prices: unknown): unknown {
  if (!isRecord(prices)) return prices
  const keptEntries = Object.entries(prices).filter(([name, price]) => {
    return !UNUSED_PRICES.has(name) && (name in pricing.shape || (price !== '0' && price !== null))
  })
  return Object.fromEntries(keptEntries)
}

const RowPricing = z.preprocess(withoutUnused, pricing).transform((prices) => ({
  ...prices,
  input_cache_read: ownPrice(prices.input_cache_read),
  input_cache_write: ownPrice(prices.input_cache_write),
  input_cache_write_1h: ownPrice(prices.input_cache_write_1h),
  input_audio_cache: ownPrice(prices.input_audio_cache),
  web_search: ownPrice(prices.web_search),
  internal_reasoning: ownPrice(prices.internal_reasoning),
  audio: ownPrice(prices.audio),
  audio_output: ownPrice(prices.audio_output),
  image_token: ownPrice(prices.image_token),
  image_output: ownPrice(prices.image_output),
  request: ownPrice(prices.request),
}))

/**
 * A model of a list in the shape of OpenRouter's `/api/v1/models`. A row may add fields that such a list lacks: our
 * canonical id, other names, endpoints, features, prices of media. Unlisted fields are dropped.
 */
export const CatalogRow = z.object({
  id,
  canonical: canonical.optional(),
  canonical_slug: id.nullish(),
  aliases: aliases.optional(),
  name: Item.shape.name,
  created: Item.shape.created,
  description: z
    .string()
    .max(100_000)
    .nullish()
    .transform((text) => (text ?? '').slice(0, MAX_DESCRIPTION_CHARS)),
  context_length: Item.shape.context_length,
  architecture: Item.shape.architecture,
  pricing: RowPricing,
  unit_pricing,
  top_provider: Item.shape.top_provider.nullish(),
  supported_parameters: Item.shape.supported_parameters.nullish(),
  supported_features: supported_features.optional(),
  endpoints: endpoints.optional(),
  image_tokens,
  image_output_tokens,
  clip,
})
export type CatalogRow = z.infer<typeof CatalogRow>

/**
 * Throws a RangeError for a text model with a price for input or output alone: the other price is unknown. The least
 * length of video or music has to be one of its lengths.
 */
export function checkSides({
  pricing: prices,
  unit_pricing: units,
  endpoints: sold,
}: Pick<CatalogItem, 'pricing' | 'unit_pricing' | 'endpoints'>): void {
  if (units?.minimum_seconds !== undefined && sold.some((endpoint) => endpoint === 'video' || endpoint === 'music'))
    throw new RangeError('minimum_seconds is missing: video and music models need it')
  const isText = sold.some((endpoint) => endpoint === 'chat' || endpoint === 'completions')
  const free = (['prompt', 'completion'] as const).filter((side) => parseUnitPrice(prices[side]) === 0n)
  if (isText && free.length === 1)
    throw new RangeError(`${free[0]}: a model that writes text needs prices of input and output`)
}

/** Returns our name for a row's model: its name without the maker. A variant (`…:free`) is no model of its own. */
export function canonicalOf(row: Pick<CatalogRow, 'id' | 'canonical'>): string | undefined {
  if (row.canonical !== undefined) return row.canonical
  if (row.id.includes(':')) return undefined
  return row.id.slice(row.id.indexOf('/') + 1)
}

/** Completes a row. A missing field keeps the known model's value, or is derived from the rest of the row. */
export function completeRow(row: CatalogRow, canonicalName: string, knownModel: Model | undefined): CatalogItem {
  const slug = row.canonical_slug == null || row.canonical_slug === row.id ? [] : [row.canonical_slug]
  const slugs = slug
    .flatMap((text) => [text, text.slice(text.indexOf('/') + 1)])
    .filter((text) => text !== canonicalName)
  return Item.parse({
    ...row,
    canonical: canonicalName,
    aliases: row.aliases ?? [...new Set([...namesGiven(knownModel, row.id), ...slugs])],
    top_provider: row.top_provider ?? {},
    supported_parameters: parametersOf(row, knownModel),
    supported_features: row.supported_features ?? knownModel?.features ?? featuresOf(row),
    endpoints: row.endpoints ?? knownModel?.endpoints ?? endpointsOf(row),
    image_tokens: row.image_tokens ?? knownModel?.imageTokens,
    image_output_tokens: row.image_output_tokens ?? knownModel?.imageOutput ?? undefined,
    clip: row.clip ?? knownModel?.clip ?? undefined,
  })
}

/** Request fields that such lists omit, because every model there accepts them. */
const UNLISTED_PARAMETERS = ['stream', 'max_completion_tokens']

function parametersOf(row: CatalogRow, knownModel: Model | undefined): string[] {
  const parameters = row.supported_parameters ?? knownModel?.parameters ?? []
  if (row.canonical !== undefined) return [...parameters]
  const kept = UNLISTED_PARAMETERS.filter((name) => knownModel?.parameters.includes(name) ?? true)
  return [...new Set([...parameters, ...kept])]
}

function namesGiven(knownModel: Model | undefined, rowId: string): readonly string[] {
  return (knownModel?.aliases ?? []).filter((alias) => alias !== rowId)
}

/** Endpoints by the output of a model. */
const BY_OUTPUT: Readonly<Record<string, readonly Endpoint[]>> = {
  text: ['chat'],
  image: ['image'],
  embeddings: ['embeddings'],
  video: ['video'],
}

function endpointsOf(row: CatalogRow): Endpoint[] {
  const endpointsOfOutput = row.architecture.output_modalities.flatMap((modality) => BY_OUTPUT[modality] ?? [])
  return ENDPOINTS.filter((endpoint) => endpointsOfOutput.includes(endpoint))
}

function featuresOf(row: CatalogRow): string[] {
  const parameters = row.supported_parameters ?? []
  const claims: readonly (readonly [string, boolean])[] = [
    ['streaming', row.architecture.output_modalities.includes('text')],
    ['vision', row.architecture.input_modalities.includes('image')],
    ['tools', parameters.includes('tools')],
    ['reasoning', parameters.includes('reasoning')],
    ['prompt_caching', row.pricing.input_cache_read !== undefined],
  ]
  return claims.filter(([, isTrue]) => isTrue).map(([feature]) => feature)
}
