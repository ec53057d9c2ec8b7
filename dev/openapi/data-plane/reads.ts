import { z } from 'zod'
import { LookupRecordSchema } from '#shared/contract/lookup.ts'
import { FIGURE_READS } from './market-reads.ts'
import { MODEL_READS } from './model-reads.ts'
import { Conditions, Credits, Dollars, Minimums, Names } from './openrouter-shapes.ts'
import { PayableResources, PaymentNotes } from './payment-notes.ts'
import type { DataRoute } from './route.ts'
import { Count, KEY_REFUSALS, READ_REFUSALS } from './route.ts'

const TokenDollars = z.number().describe('USD of a million tokens of pictures or sound.')

/** US dollars per unit, where media are sold by the unit. */
const PriceOfUnits = {
  image: Dollars.optional(),
  image_2k: Dollars.optional(),
  image_4k: Dollars.optional(),
  megapixel: Dollars.optional(),
  character: Dollars.optional(),
  second: Dollars.optional(),
  second_1080p: Dollars.optional(),
  second_4k: Dollars.optional(),
  minute: Dollars.optional(),
  ...Minimums,
  request: Dollars.optional(),
  image_input: TokenDollars.optional(),
  image_output: TokenDollars.optional(),
  audio_input: TokenDollars.optional(),
  audio_output: TokenDollars.optional(),
  cache_write_1h: TokenDollars.optional(),
  cached_audio: TokenDollars.optional(),
  search: Dollars.optional().describe('USD a web search.'),
}
const PricesOfMillion = z.object({
  input: Dollars.nullable(),
  output: Dollars.nullable(),
  cache_read: Dollars.optional(),
  cacheRead: Dollars.optional(),
  cacheWrite: Dollars.optional(),
  cache_write: Dollars.optional(),
  ...PriceOfUnits,
})
const PriceList = z
  .object({
    models: z.array(
      z.object({
        model: z.string(),
        providers: z.array(
          z.object({
            provider: z.string(),
            provider_model_id: z.string(),
            pricing: PricesOfMillion,
            overrides: z
              .array(Conditions.extend({ pricing: PricesOfMillion }))
              .optional()
              .describe('Prices that count while all conditions hold.'),
          }),
        ),
      }),
    ),
  })
  .meta({ id: 'PriceList', description: 'Each model with its providers and their list prices in US dollars.' })
const Provider = z
  .object({
    id: z.string(),
    name: z.string(),
    base_url: z.string(),
    host: z.string(),
    trusted: z.boolean(),
    cost_reference_url: z.string().nullable(),
    slug: z.string().describe('The id, as OpenRouter names it.'),
    privacy_policy_url: z.null(),
    terms_of_service_url: z.null(),
    status_page_url: z.null(),
    headquarters: z.null(),
    datacenters: z.null(),
  })
  .meta({ id: 'Provider', description: 'A provider of the catalogue, with its address, its terms and its places.' })
const Cap = z.object({
  cap_usdc: z.string(),
  used_usdc: z.string().nullable(),
  left_usdc: z.string().nullable(),
  resets_at: Count,
})
const Budget = z
  .object({
    budget_of: z.string().describe('The member or the workspace whose calls count.'),
    limit_usdc: z.string().nullable(),
    used_usdc: z.string().nullable(),
    left_usdc: z.string().nullable(),
    resets_at: Count,
  })
  .describe('A monthly budget that counts the calls of the key.')
const KeyStanding = z
  .object({
    key_id: z.string().nullable(),
    label: z.string(),
    expires_at: z.string().nullable(),
    usage: Dollars.nullable(),
    usage_weekly: Dollars.nullable(),
    byok_usage: Dollars,
    byok_usage_daily: Dollars,
    byok_usage_weekly: Dollars,
    byok_usage_monthly: Dollars,
    include_byok_in_limit: z.boolean(),
    is_management_key: z.boolean(),
    is_provisioning_key: z.boolean(),
    free_model_daily_requests: z.object({ limit: Count, remaining: Count, used: Count }),
    allowed_data_regions: Names,
    creator_user_id: z.null(),
    organization_id: z.null(),
    workspace_id: z.null(),
    limit: Dollars.nullable(),
    limit_remaining: Dollars.nullable(),
    limit_reset: z.enum(['daily', 'monthly']).nullable(),
    usage_daily: Dollars.nullable(),
    usage_monthly: Dollars.nullable(),
    is_free_tier: z.boolean(),
    spendable_usdc: z.string().nullable(),
    daily: Cap.nullable(),
    monthly: Cap.nullable(),
    budgets: z.array(Budget),
    rate_limit: z.object({
      requests: Count,
      interval: z.string(),
      note: z.string(),
      remaining: Count,
      resets_at: Count,
      in_flight: Count,
      max_in_flight: Count,
    }),
    min_discount_pct: Count.nullable(),
    providers_blocked: Names,
    allow_untrusted: z.boolean(),
    models_allowed: Names.nullable(),
  })
  .meta({ id: 'KeyStanding', description: 'The key of the request, with its limits and the amounts spent.' })
const Generation = z
  .looseObject({
    id: z.string(),
    model: z.string(),
    provider_name: z.string().nullable(),
    created_at: z.string(),
    total_cost: z.number(),
    settlement_status: LookupRecordSchema.shape.settlement_status,
  })
  .meta({ id: 'Generation', description: 'A call in OpenRouter’s format, with its model, tokens, times and cost.' })
const ShownOffer = { offer: z.string(), provider: z.string(), trusted: z.boolean(), discount_pct: z.number() }
const Explanation = z
  .object({
    path: z.string(),
    would_serve: z.boolean(),
    model: z.string(),
    requested_model: z.string(),
    endpoint: z.string(),
    hold_micro: Count.nullable(),
    min_discount_pct: Count.nullable(),
    offers: z.array(z.object({ rank: Count, ...ShownOffer, estimate_micro: Count })),
    excluded: z.array(z.object({ ...ShownOffer, reason: z.string() })),
    excluded_total: Count,
    affinity: z.object({ offer: z.string(), saving_micro: Count }).nullable(),
    own_providers: z.object({ before: Names, after: Names }),
    refusal: z.object({ status: Count, error: z.unknown() }).nullable(),
  })
  .meta({
    id: 'RouteExplanation',
    description: 'The route of a call now, its price, and the reason why other offers are left out.',
  })

const json = (schema: z.ZodType) => ({ 'application/json': schema })
const open = { method: 'get', envelope: 'v1', access: 'public', refusals: READ_REFUSALS } as const
const keyed = { method: 'get', envelope: 'v1', access: 'buyer', refusals: KEY_REFUSALS } as const
const once = { examples: { whole: {} } }
/** A read that may be below a floor, like calls. */
const floored = { ...open, takesFloor: true } as const
/** Each plane adds the state of its own parts. */
const state = json(z.looseObject({ status: z.string() }))
const readiness = json(
  z.looseObject({
    status: z.string(),
    untrusted_proxies: Count.describe('Private addresses that pass requests on and are missing in TRUSTED_PROXIES.'),
  }),
)

const CATALOG_READS: readonly DataRoute[] = [
  ...MODEL_READS,
  {
    ...floored,
    ...once,
    path: '/v1/providers',
    tag: 'Catalog',
    summary: 'List allowed providers',
    description: '`data` has the same entries for OpenRouter’s clients.',
    answers: json(z.object({ providers: z.array(Provider), data: z.array(Provider) })),
  },
  {
    ...floored,
    ...once,
    path: '/v1/prices',
    tag: 'Catalog',
    summary: 'List the best price of each provider',
    description: 'USD per million tokens. Null for models that are sold by another unit, which have a price per unit.',
    answers: json(PriceList),
  },
  {
    ...open,
    ...once,
    path: '/api/inference/v1/prices',
    tag: 'Catalog',
    summary: 'List the best price of each provider (second path)',
    description: 'The same as the first path.',
    answers: json(PriceList),
  },
  {
    ...open,
    ...once,
    path: '/api/x402/info',
    tag: 'Catalog',
    summary: 'Get the terms of payment by wallet',
    description: 'For a wallet without an account: x402 and MPP, the paths that take them, and the flow.',
    answers: json(PaymentNotes),
  },
  {
    ...open,
    ...once,
    path: '/.well-known/x402',
    tag: 'Catalog',
    summary: 'List the addresses that take x402',
    description: 'For crawlers: every address that a wallet can pay without a key.',
    answers: json(PayableResources),
  },
]

const KEY_READS: readonly DataRoute[] = [
  {
    ...keyed,
    ...once,
    takesFloor: true,
    path: '/v1/key',
    tag: 'Calls',
    summary: 'Get the limits of your key',
    description: 'In OpenRouter’s format: the caps of the key and the amounts spent.',
    answers: json(z.object({ data: KeyStanding })),
  },
  {
    ...keyed,
    ...once,
    takesFloor: true,
    path: '/v1/credits',
    tag: 'Calls',
    summary: 'Get the credit of your account',
    description: 'For clients of OpenRouter (`data`) and of the AI Gateway (`balance`, `total_used`).',
    answers: json(Credits),
  },
  {
    ...keyed,
    takesFloor: true,
    path: '/v1/generation',
    tag: 'Calls',
    summary: 'Get a call in OpenRouter’s shape',
    description: 'The model, the tokens and the cost of one call.',
    query: z.object({ id: z.string().describe('The x-request-id of the call.') }),
    answers: json(z.object({ data: Generation })),
    examples: { whole: { id: '01M7ZE8A4RNEV4433YRPXKJ69J' } },
  },
  {
    method: 'post',
    envelope: 'v1',
    access: 'buyer',
    takesFloor: true,
    path: '/v1/route/explain',
    tag: 'Calls',
    summary: 'Explain where a call would go',
    description: 'Checks and prices a call without sending it. Nothing is reserved, and no provider is called.',
    body: z.object({ path: z.string(), body: z.looseObject({}) }).meta({
      id: 'ExplainRequest',
      description: 'The path and the body of a call. No provider is called.',
    }),
    answers: json(Explanation),
    examples: {
      whole: {
        path: '/v1/chat/completions',
        body: { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'Say hello.' }] },
      },
    },
    refusals: KEY_REFUSALS,
  },
]

const HEALTH_READS: readonly DataRoute[] = [
  {
    ...open,
    ...once,
    path: '/health/live',
    tag: 'Health',
    summary: 'Check that the process runs',
    description: 'Answers 200 as long as the process can answer at all.',
    answers: state,
  },
  {
    ...open,
    ...once,
    path: '/health/ready',
    tag: 'Health',
    summary: 'Check that calls can be served',
    description: 'Answers 503 while the market refuses calls.',
    answers: readiness,
  },
  {
    ...open,
    ...once,
    path: '/health/paid',
    tag: 'Health',
    summary: 'Check that paid calls are admitted',
    description: 'Answers 503 while the market refuses calls that cost money.',
    answers: state,
  },
]

/** The reads of the data plane, which sell nothing. */
export const READ_ROUTES: readonly DataRoute[] = [...CATALOG_READS, ...FIGURE_READS, ...KEY_READS, ...HEALTH_READS]
