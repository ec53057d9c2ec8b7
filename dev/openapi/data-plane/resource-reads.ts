import { z } from 'zod'
import { TRAIT_PROVENANCES } from '#shared/catalog/resources.ts'
import type { DataRoute } from './route.ts'
import { Count, READ_REFUSALS } from './route.ts'

const Names = z.array(z.string())
const Kind = z.enum(['resource', 'family'])
const Percent = z.number().nullable()
const Micro = Count.describe('Micro-USD.')

const MarketListing = z
  .object({
    resource_id: z.string(),
    kind: Kind,
    display_name: z.string(),
    unit: z.string(),
    live_offers: Count,
    best_discount_pct: Percent,
    median_discount_pct: Percent,
  })
  .meta({ id: 'ResourceMarket', description: 'A provider whose keys are lent, with its prices, sellers and trade.' })

const Capabilities = z
  .object({
    resource_id: z.string(),
    kind: Kind,
    display_name: z.string(),
    unit: z.string(),
    style: z.enum(['header', 'path']),
    terms_url: z.string().nullable(),
    hosts: z.array(z.object({ role: z.string(), base_url: z.string() })),
    models: z.array(
      z.object({
        id: z.string(),
        must_queue: z.boolean().describe('True if the model is sold through the queue only.'),
        prices_usd: z.record(z.string(), z.string()).describe('US dollars of one unit, by class of usage.'),
      }),
    ),
    routes: z.array(
      z.object({
        id: z.string(),
        title: z.string(),
        kind: z.string(),
        methods: Names,
        host: z.string(),
        path: z.string(),
        rpc_methods: Names.nullable(),
      }),
    ),
    fences: z.array(z.object({ methods: Names.nullable(), path: z.string(), reason: z.string() })),
    traits: Names,
  })
  .meta({
    id: 'ResourceCapabilities',
    description: 'The reach of a lent key at its provider: hosts, paths, models, fences and traits.',
  })

const Trait = z
  .object({
    name: z.string(),
    title: z.string(),
    resources: z.array(
      z.object({ resource_id: z.string(), provenance: z.enum(TRAIT_PROVENANCES), live_offers: Count }),
    ),
  })
  .meta({ id: 'ResourceTrait', description: 'A trait of a lent key, and whether it was declared or probed.' })

const BookLine = z
  .object({
    id: z.string(),
    rank: Count,
    discount_pct: z.number(),
    can_serve: z.boolean().describe('True if the key can serve the call that the query describes, now.'),
    why_not: z
      .enum(['discount', 'traits', 'models', 'methods', 'paths', 'rate', 'buyer_share', 'cap', 'health'])
      .nullable(),
    healthy: z.boolean(),
    cap_daily: Micro.nullable(),
    cap_remaining: Micro.nullable(),
    rate_per_minute: Count.nullable(),
    buyer_share_pct: Count.nullable(),
    models: Names.nullable(),
    methods: Names.nullable(),
    paths: Names.nullable(),
    traits: z.array(z.object({ name: z.string(), provenance: z.enum(TRAIT_PROVENANCES) })),
  })
  .meta({
    id: 'ResourceBookLine',
    description: 'A lent key in the order book of a provider, with its price, traits and scope.',
  })

const Figures = z.object({
  resource_id: z.string(),
  calls_24h: Count.nullable(),
  volume_24h: Micro.nullable(),
  saved_24h: Micro.nullable(),
  calls_7d: Count.nullable(),
  volume_7d: Micro.nullable(),
  saved_7d: Micro.nullable(),
})

const json = (schema: z.ZodType) => ({ 'application/json': schema })
const read = {
  method: 'get',
  tag: 'Lent keys',
  envelope: 'v1',
  access: 'public',
  takesFloor: true,
  examples: { whole: {} },
  refusals: READ_REFUSALS,
} as const

/** The public reads of lent keys. */
export const RESOURCE_READS: readonly DataRoute[] = [
  {
    ...read,
    path: '/v1/resource/markets',
    summary: 'List the markets of lent keys',
    description: 'The resources that have lent keys on the market, with their prices.',
    answers: json(z.object({ markets: z.array(MarketListing) })),
  },
  {
    ...read,
    path: '/v1/resource/capabilities',
    summary: 'List the routes of lent keys',
    description: 'Routes, models and prices of each resource.',
    answers: json(z.object({ resources: z.array(Capabilities) })),
  },
  {
    ...read,
    path: '/v1/resource/traits',
    summary: 'List the traits of lent keys',
    description: 'The traits that `X-MKT-Require` of a call may name.',
    answers: json(z.object({ traits: z.array(Trait) })),
  },
  {
    ...read,
    path: '/v1/resource/market/analytics',
    summary: 'Get volume and savings of lent keys',
    description: 'Sums over all calls on lent keys.',
    answers: json(z.object({ resources: z.array(Figures) })),
  },
  {
    ...read,
    path: '/v1/resource/book/{provider}',
    summary: 'List the lent keys of a resource',
    description: 'Best discount first. Each key says whether it can serve the call of the query, and why not.',
    query: z.object({
      model: z.string().optional(),
      method: z.enum(['GET', 'POST', 'PUT']).optional(),
      path: z.string().optional().describe('The path at the provider.'),
      require: z.string().optional().describe('Traits, parted by commas.'),
      min_discount_pct: z.string().optional(),
    }),
    answers: json(
      z.object({
        provider: z.string(),
        kind: Kind,
        display_name: z.string(),
        unit: z.string(),
        offers: z.array(BookLine),
      }),
    ),
    variables: { provider: 'provider-p2' },
  },
]
