import { z } from 'zod'
import {
  Architecture,
  Endpoint,
  Endpoints,
  ImageEndpoints,
  ImageModel,
  Names,
  UnitPrices,
  VideoModel,
} from './openrouter-shapes.ts'
import type { DataRoute } from './route.ts'
import { Count, KEY_REFUSALS, READ_REFUSALS } from './route.ts'

/** Whether a model of a list can be bought now. */
const AVAILABLE = {
  available: z.boolean().describe('An offer can serve it now, by default routing and at the floor of the path.'),
  untrusted_available: z
    .boolean()
    .describe('An offer that serves only calls that allow untrusted providers can serve it now.'),
}
const CatalogEntry = z
  .object({
    id: z.string(),
    object: z.literal('model'),
    canonical_slug: z.string(),
    name: z.string(),
    description: z.string(),
    created: Count,
    owned_by: z.string(),
    provider: z.string(),
    context_length: Count,
    max_completion_tokens: Count,
    architecture: Architecture,
    pricing: UnitPrices,
    top_provider: z.object({ context_length: Count, max_completion_tokens: Count, is_moderated: z.boolean() }),
    per_request_limits: z.null(),
    default_parameters: z.null(),
    supported_voices: z.null(),
    links: z.object({ details: z.string() }),
    supported_features: Names,
    supported_parameters: Names,
    endpoints: Names,
    ...AVAILABLE,
  })
  .meta({
    id: 'CatalogEntry',
    description: 'A model that is sold, with its context, modalities, parameters and prices.',
  })
const CompatModel = z
  .object({
    type: z.literal('model'),
    id: z.string(),
    display_name: z.string(),
    created_at: z.string(),
    ...AVAILABLE,
  })
  .meta({ id: 'CompatModel', description: 'A model in the shape of Anthropic’s list.' })

const json = (schema: z.ZodType) => ({ 'application/json': schema })
const open = { method: 'get', envelope: 'v1', access: 'public', refusals: READ_REFUSALS } as const
const keyed = { method: 'get', envelope: 'v1', access: 'buyer', refusals: KEY_REFUSALS } as const
const once = { examples: { whole: {} } }
/** A read that a path with a floor has, too. */
const floored = { ...open, takesFloor: true } as const
const compat = { ...keyed, envelope: 'messages', tag: 'Messages', takesFloor: true } as const
const listAnswer = (item: z.ZodType) => json(z.object({ object: z.literal('list'), data: z.array(item) }))
const ModelPage = z.object({
  object: z.literal('list'),
  data: z.array(CatalogEntry),
  total_count: Count.describe('The number of models that pass the filters, on all pages.'),
  links: z.object({ next: z.string().nullable().describe('Path and query of the next page.') }),
})
const Numeral = z.string().describe('A number.').optional()
const Words = z.string().describe('Words, parted by commas.').optional()
/** The members of a list's query that have an effect. Others of OpenRouter's are ignored and named in a header. */
const Filters = z.object({
  available: z
    .enum(['true', 'false'])
    .optional()
    .describe('Only models with an offer that can serve now, or only models without one.'),
  limit: Count.min(1).max(1_000).optional().describe('Models per page. Without a limit the list is one page.'),
  offset: Count.min(0).optional(),
  sort: z.string().optional().describe('An order of OpenRouter’s, such as `newest` or `pricing-low-to-high`.'),
  q: z.string().optional().describe('A part of an id or a name.'),
  supported_parameters: Words,
  input_modalities: Words,
  output_modalities: Words,
  model_authors: Words,
  context: Numeral,
  min_price: Numeral,
  max_price: Numeral,
  min_output_price: Numeral,
  max_output_price: Numeral,
  zdr: z.string().optional().describe('`true` matches no model, because no seller promises it.'),
  distillable: z.string().optional().describe('`true` matches no model, because no seller promises it.'),
  region: z.string().optional().describe('Matches no model, because no seller promises a region.'),
})
const Plain = z.object({
  id: z.string(),
  object: z.literal('model'),
  created: Count,
  owned_by: z.string(),
  provider: z.string(),
  ...AVAILABLE,
})

/** The reads of models. */
export const MODEL_READS: readonly DataRoute[] = [
  {
    ...floored,
    path: '/v1/models',
    tag: 'Catalog',
    summary: 'List models',
    description: 'The whole catalogue. `available` says whether a model can be bought now.',
    query: Filters,
    answers: json(ModelPage),
    examples: { whole: {}, page: { available: 'true', limit: 2 } },
  },
  {
    ...floored,
    ...once,
    path: '/v1/models/count',
    tag: 'Catalog',
    summary: 'Count models',
    description: 'Counts the models that the same query lists.',
    query: Filters,
    answers: json(z.object({ data: z.object({ count: Count }) })),
  },
  {
    ...keyed,
    ...once,
    takesFloor: true,
    path: '/v1/models/user',
    tag: 'Catalog',
    summary: 'List the models that your key may buy',
    description: 'Leaves out the models that the key’s limits exclude.',
    query: Filters,
    answers: json(ModelPage),
  },
  {
    ...floored,
    ...once,
    path: '/v1/embeddings/models',
    tag: 'Catalog',
    summary: 'List embedding models',
    description: 'Takes the query of `GET /v1/models`.',
    query: Filters,
    answers: json(ModelPage),
  },
  {
    ...floored,
    ...once,
    path: '/v1/model/{id}',
    tag: 'Catalog',
    summary: 'Get a model in OpenRouter’s shape',
    description: 'The model is in `data`.',
    answers: json(z.object({ data: CatalogEntry })),
    variables: { id: 'gpt-5-mini' },
  },
  {
    ...floored,
    ...once,
    path: '/v1/images/models',
    tag: 'Catalog',
    summary: 'List image models',
    description: 'In OpenRouter’s format, each with the parameters that it takes.',
    answers: json(z.object({ data: z.array(ImageModel) })),
  },
  {
    ...floored,
    ...once,
    path: '/v1/images/models/{author}/{slug}/endpoints',
    tag: 'Catalog',
    summary: 'List the providers of an image model with their prices',
    description: 'In OpenRouter’s format. An endpoint is the best offer of a provider that serves now.',
    answers: json(ImageEndpoints),
    variables: { author: 'openai', slug: 'gpt-image-1' },
  },
  {
    ...floored,
    ...once,
    path: '/v1/videos/models',
    tag: 'Catalog',
    summary: 'List video models',
    description: 'In OpenRouter’s shape, at list prices. A fact that the catalogue lacks is null.',
    answers: json(z.object({ data: z.array(VideoModel) })),
  },
  {
    ...floored,
    ...once,
    path: '/v1/endpoints/zdr',
    tag: 'Catalog',
    summary: 'List endpoints that promise to keep no data',
    description: 'None: no seller gives such a promise.',
    answers: json(z.object({ data: z.array(Endpoint) })),
  },
  {
    ...floored,
    path: '/v1/models/{id}',
    tag: 'Catalog',
    summary: 'Get a model by any of its names',
    description: 'Takes the model’s id or an alias.',
    answers: json(CatalogEntry),
    ...once,
    variables: { id: 'gpt-5-mini' },
  },
  {
    ...floored,
    path: '/v1/models/{id}/endpoints',
    tag: 'Catalog',
    summary: 'List the providers of a model with their prices',
    description:
      'In OpenRouter’s format. An endpoint is the best offer of a provider. Offers that serve now come first.',
    answers: json(z.object({ data: Endpoints })),
    ...once,
    variables: { id: 'gpt-5-mini' },
  },
  {
    ...open,
    ...once,
    path: '/api/inference/v1/models',
    tag: 'Catalog',
    summary: 'List models in OpenAI’s shape',
    description: 'Each model with its id, its owner and whether an offer serves it.',
    query: Filters,
    answers: listAnswer(Plain),
  },
  {
    ...open,
    ...once,
    path: '/x402/api/inference/v1/models',
    tag: 'Catalog',
    summary: 'List models in OpenAI’s shape (path for x402)',
    description: 'The same as `/api/inference/v1/models`.',
    query: Filters,
    answers: listAnswer(Plain),
  },
  {
    ...compat,
    path: '/compat/v1/models',
    summary: 'List models in Anthropic’s shape',
    description: 'The models in Anthropic’s shape. `after_id` and `before_id` lead to the next and the last page.',
    query: z.object({
      limit: Count.min(1).max(1_000).optional(),
      after_id: z.string().optional(),
      before_id: z.string().optional(),
      available: z.enum(['true', 'false']).optional(),
      beta: z.string().optional().describe('Accepted and ignored.'),
    }),
    answers: json(
      z.object({
        data: z.array(CompatModel),
        has_more: z.boolean(),
        first_id: z.string().nullable(),
        last_id: z.string().nullable(),
      }),
    ),
    examples: { page: { limit: 2 } },
  },
  {
    ...compat,
    ...once,
    path: '/compat/v1/models/{id}',
    summary: 'Get a model in Anthropic’s shape',
    description: 'One model in Anthropic’s shape.',
    answers: json(CompatModel),
    variables: { id: 'claude-haiku-4.5' },
  },
]
