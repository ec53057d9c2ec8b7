import { z } from 'zod'
import type { Endpoint, Model } from '#shared/catalog/model.ts'
import { ENDPOINTS } from '#shared/catalog/model.ts'
import { parseUnitPrice } from '#shared/money.ts'
import type { CatalogItem } from './catalog-items.ts'
import { CatalogItem as Item } from './catalog-items.ts'

const MAX_DESCRIPTION_CHARS = 2_000
const { id, canonical, aliases, supported_features, endpoints, image_tokens, unit_pricing, pricing } = Item.shape

/** A price of its own; such lists write 0 where a class has none and is charged like the class it belongs to. */
function ownPrice(dollars: string | undefined): string | undefined {
  return dollars === undefined || parseUnitPrice(dollars) === 0n ? undefined : dollars
}

const RowPricing = pricing.transform((prices) => ({
  ...prices,
  input_cache_read: ownPrice(prices.input_cache_read),
  input_cache_write: ownPrice(prices.input_cache_write),
  internal_reasoning: ownPrice(prices.internal_reasoning),
  audio: ownPrice(prices.audio),
  audio_output: ownPrice(prices.audio_output),
  request: ownPrice(prices.request),
}))

/**
 * One model of a list in the shape of OpenRouter's `/api/v1/models`. What such a list does not say (our canonical id,
 * other names, endpoints, features, prices of media) may stand beside it; fields that are not named here are left out.
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
})
export type CatalogRow = z.infer<typeof CatalogRow>

/** What a row's name means here: the model without its maker. Variants (`…:free`) are no models of their own. */
export function canonicalOf(row: Pick<CatalogRow, 'id' | 'canonical'>): string | undefined {
  if (row.canonical !== undefined) return row.canonical
  if (row.id.includes(':')) return undefined
  return row.id.slice(row.id.indexOf('/') + 1)
}

/** The whole item: what the row leaves open is as the model has it now, else derived from the rest of the row. */
export function completeRow(row: CatalogRow, named: string, known: Model | undefined): CatalogItem {
  const slug = row.canonical_slug == null || row.canonical_slug === row.id ? [] : [row.canonical_slug]
  const slugs = slug.flatMap((text) => [text, text.slice(text.indexOf('/') + 1)]).filter((text) => text !== named)
  return Item.parse({
    ...row,
    canonical: named,
    aliases: row.aliases ?? [...new Set([...namesGiven(known, row.id), ...slugs])],
    top_provider: row.top_provider ?? {},
    supported_parameters: parametersOf(row, known),
    supported_features: row.supported_features ?? known?.features ?? featuresOf(row),
    endpoints: row.endpoints ?? known?.endpoints ?? endpointsOf(row),
    image_tokens: row.image_tokens ?? known?.imageTokens,
  })
}

/** Request fields that such lists never name, because there every model takes them. */
const UNLISTED_PARAMETERS = ['stream', 'max_completion_tokens']

function parametersOf(row: CatalogRow, known: Model | undefined): string[] {
  const listed = row.supported_parameters ?? known?.parameters ?? []
  if (row.canonical !== undefined) return [...listed]
  const kept = UNLISTED_PARAMETERS.filter((name) => known?.parameters.includes(name) ?? true)
  return [...new Set([...listed, ...kept])]
}

function namesGiven(known: Model | undefined, rowId: string): readonly string[] {
  return (known?.aliases ?? []).filter((alias) => alias !== rowId)
}

/** Endpoints by what comes out of a model. */
const BY_OUTPUT: Readonly<Record<string, readonly Endpoint[]>> = {
  text: ['chat'],
  image: ['image'],
  embeddings: ['embeddings'],
  video: ['video'],
}

function endpointsOf(row: CatalogRow): Endpoint[] {
  const found = row.architecture.output_modalities.flatMap((modality) => BY_OUTPUT[modality] ?? [])
  return ENDPOINTS.filter((endpoint) => found.includes(endpoint))
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
