import { z } from 'zod'
import { PRICED_QUALITIES } from '#shared/images.ts'
import { SEARCH_CONTEXTS, SERVICE_TIERS } from '#shared/price-list.ts'
import { Count } from './route.ts'

/** Shapes of OpenRouter's clients. */
export const Dollars = z.number().describe('USD.')
const Price = z.string().describe('USD a unit, as a decimal.')
export const Names = z.array(z.string())

export const Architecture = z.object({ modality: z.string(), input_modalities: Names, output_modalities: Names })
/** The least billed amount of a request. */
export const Minimums = {
  minimum_seconds: z.number().optional().describe('The least time that a request is billed, in seconds.'),
  minimum_characters: Count.optional().describe('The fewest characters that a request is billed.'),
}
const OwnPrices = z.object({
  input_cache_read: Price.optional(),
  input_cache_write: Price.optional(),
  input_cache_write_1h: Price.optional().describe('A token written to a cache of an hour or longer.'),
  input_audio_cache: Price.optional(),
  web_search: Price.optional(),
  internal_reasoning: Price.optional(),
  image: Price.optional(),
  image_2k: Price.optional(),
  image_4k: Price.optional(),
  megapixel: Price.optional(),
  image_token: Price.optional(),
  image_output: Price.optional(),
  audio: Price.optional(),
  audio_output: Price.optional(),
  request: Price.optional(),
  character: Price.optional(),
  second: Price.optional(),
  second_1080p: Price.optional(),
  second_4k: Price.optional(),
  ...Minimums,
})
/** The conditions of prices. All named conditions must hold. */
export const Conditions = z.object({
  min_prompt_tokens: Count.optional().describe('The whole prompt has more tokens than this, cached ones included.'),
  service_tier: z.enum(SERVICE_TIERS).optional().describe('The tier that served the call.'),
  search_context_size: z.enum(SEARCH_CONTEXTS).optional().describe('The amount of search results in the context.'),
  regions: Names.optional().describe('The call requires one of these regions: `us`.'),
  image_sizes: Names.optional().describe('The picture has one of these sizes: `1792x1024`.'),
  image_quality: z.enum(PRICED_QUALITIES).optional(),
  utc_start: Count.optional().describe('130 is 01:30, inclusive. The instant of a call is its arrival.'),
  utc_end: Count.optional().describe('Exclusive.'),
  utc_days: Names.optional().describe('Days of the UTC week: `monday`.'),
  except_dates: Names.optional().describe('UTC dates on which the prices do not count.'),
})
export const UnitPrices = OwnPrices.extend({
  prompt: Price,
  completion: Price,
  overrides: z
    .array(OwnPrices.extend({ ...Conditions.shape, prompt: Price.optional(), completion: Price.optional() }))
    .optional()
    .describe('Prices that count while all conditions hold. Of several, the last one counts.'),
})

export const Endpoint = z
  .object({
    name: z.string(),
    model_id: z.string(),
    model_name: z.string(),
    provider_name: z.string(),
    tag: z.string().describe('The provider, as `provider.only` of a call names it.'),
    trusted: z.boolean().describe('False for one that serves only calls that allow untrusted providers.'),
    status: z.literal([0, -1]).describe('0: serves calls now. -1: failed lately, or its daily cap is used up.'),
    pricing: UnitPrices.extend({ discount: z.number().describe('The discount, as a fraction of the list price.') }),
    context_length: Count,
    max_completion_tokens: Count,
    max_prompt_tokens: z.null(),
    quantization: z.null(),
    supported_parameters: Names,
    supports_implicit_caching: z.boolean(),
    supports_tool_choice: z.object({
      auto: z.boolean(),
      none: z.boolean(),
      required: z.boolean(),
      function: z.boolean(),
    }),
    supports_voice_cloning: z.literal(false),
    uptime_last_1d: z.number().nullable().describe('Percent.'),
    ttft_p50_ms: z.number().nullable(),
    tps_p50: z.number().nullable(),
    latency_last_30m: z.null(),
    throughput_last_30m: z.null(),
    uptime_last_30m: z.null(),
    uptime_last_5m: z.null(),
  })
  .meta({
    id: 'Endpoint',
    description: 'A seller of a model in OpenRouter’s shape, with its price, limits and health.',
  })
export const Endpoints = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    created: Count,
    architecture: Architecture.extend({ tokenizer: z.null(), instruct_type: z.null() }),
    endpoints: z.array(Endpoint),
  })
  .meta({ id: 'Endpoints', description: 'A model with its sellers in OpenRouter’s shape.' })
export const Credits = z
  .object({
    data: z.object({
      total_credits: Dollars.describe('USD: the remaining credit plus the used credit.'),
      total_usage: Dollars.describe('USD that booked calls have cost.'),
    }),
    balance: z
      .string()
      .describe('USD that can be spent now: the remaining credit less the amounts reserved for running calls.'),
    total_used: z.string().describe('USD, as `total_usage`.'),
  })
  .meta({
    id: 'Credits',
    description: 'Credits that were bought and used, in US dollars, as OpenRouter’s clients read them.',
  })

/** The members that a maker of pictures accepts. */
const Capabilities = {
  supported_parameters: z.record(
    z.string(),
    z.discriminatedUnion('type', [
      z.object({ type: z.literal('enum'), values: z.array(z.string()) }),
      z.object({ type: z.literal('boolean') }).describe('The member is taken.'),
    ]),
  ),
  supports_streaming: z.boolean(),
}
export const ImageModel = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    created: Count,
    architecture: Architecture.pick({ input_modalities: true, output_modalities: true }),
    endpoints: z.string().describe('The path of its endpoints.'),
    ...Capabilities,
  })
  .meta({ id: 'ImageModel', description: 'A model that makes pictures, with the parameters that it takes.' })
export const ImageEndpoints = z
  .object({
    id: z.string(),
    endpoints: z.array(
      z.object({
        provider_name: z.string(),
        provider_slug: z.string(),
        provider_tag: z.string(),
        ...Capabilities,
        allowed_passthrough_parameters: Names,
        pricing: z.array(
          z.object({ billable: z.string(), unit: z.string(), cost_usd: Dollars, variant: z.string().optional() }),
        ),
      }),
    ),
  })
  .meta({ id: 'ImageEndpoints', description: 'The providers that make pictures with a model now, and their prices.' })
export const VideoModel = z
  .object({
    id: z.string(),
    canonical_slug: z.string(),
    name: z.string(),
    description: z.string(),
    created: Count,
    pricing_skus: z.record(z.string(), z.string()).describe('USD by unit.'),
    supported_durations: z.array(Count).nullable().describe('Seconds.'),
    supported_resolutions: Names.nullable(),
    supported_frame_images: Names.nullable(),
    seed: z.boolean(),
    allowed_passthrough_parameters: Names,
    supported_aspect_ratios: z.null(),
    supported_sizes: z.null(),
    generate_audio: z.null(),
    creativity: z.null(),
    upscale_factor: z.null(),
    hugging_face_id: z.null(),
  })
  .meta({ id: 'VideoModel', description: 'A model that makes films, with its lengths, resolutions and prices.' })
