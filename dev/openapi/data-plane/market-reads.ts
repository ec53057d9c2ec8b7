import { z } from 'zod'
import type { DataRoute } from './route.ts'
import { Count, READ_REFUSALS } from './route.ts'

const Figure = z.number().nullable().describe('Null means that there is not enough data.')
const Price = Count.nullable().describe('Micro-USD per million tokens.')
const DollarPrice = z.number().nullable().describe('US dollars per million tokens.')
const Speed = { ttft_p50_ms: Figure, ttft_samples: Count, tps_p50: Figure, tps_samples: Count }

const UnitPriceList = z
  .array(z.object({ unit: z.string(), usd: z.number() }))
  .describe('US dollars of each unit: media, and a million tokens of pictures or sound.')

/** A market row with its amounts in one unit. */
function marketRow(price: typeof Price | typeof DollarPrice, amount: z.ZodType<number | null>) {
  const best = { best_input_per_1m: price, best_output_per_1m: price, best_media_unit_price: amount }
  return z.object({
    model: z.string(),
    name: z.string(),
    ...best,
    best_cache_read_per_1m: price,
    best_cache_write_per_1m: price,
    direct_input_per_1m: price,
    direct_output_per_1m: price,
    best_price_per_1m: price.describe('Input plus output, per million tokens of each.'),
    best_discount_pct: z.number().nullable().describe('Of the offers that default routing would use now.'),
    best_unit_prices: UnitPriceList,
    direct_media_unit_price: amount,
    direct_unit_prices: UnitPriceList,
    media_unit: z.string().nullable(),
    healthy_seller_count: Count,
    requests_24h: Count.nullable(),
    volume_24h: amount.nullable(),
    total_cap: amount,
    untrusted: z
      .object({ ...best, best_discount_pct: z.number().nullable(), healthy_seller_count: Count })
      .describe('Of offers that a call uses only with `allow_untrusted`.'),
    ...Speed,
    uptime_pct: Figure,
    cache_hit_rate_pct: Figure,
    discount_trend: z
      .object({
        direction: z.string(),
        current_discount_pct: z.number().nullable(),
        previous_discount_pct: z.number().nullable(),
        buckets: z.array(z.object({ bucket: Count, discount_pct: z.number().nullable() })),
      })
      .nullable(),
    providers: z.array(
      z.object({ provider: z.string(), trusted: z.boolean(), healthy_seller_count: Count, ...best, ...Speed }),
    ),
  })
}

const MarketQuery = z.object({
  model: z.string().optional(),
  priced_by: z
    .enum(['tokens', 'media'])
    .optional()
    .describe('Only rows whose token prices are all whole numbers, or only those with a unit of media.'),
})
const MarketRow = marketRow(Price, Count.nullable()).meta({
  id: 'MarketRow',
  description: 'The market of one model: best and direct prices, sellers, health and 24 hours of trade.',
})
const DollarRow = marketRow(DollarPrice, z.number().nullable()).meta({
  id: 'MarketRowInDollars',
  description: 'The market of one model, with prices in US dollars for a million tokens.',
})
const BookOffer = z
  .object({
    id: z.string(),
    seller: z.string().describe('An alias. The seller stays anonymous.'),
    seller_base_url: z.string(),
    provider: z.string(),
    rank: Count,
    price_input_per_1m: Price,
    price_output_per_1m: Price,
    effective_input_per_1m: Price,
    effective_output_per_1m: Price,
    direct_input_per_1m: Price,
    direct_output_per_1m: Price,
    cost_multiplier: z.number(),
    discount_pct: z.number(),
    cap_daily: Count.nullable(),
    cap_remaining: Count.nullable(),
    available: z.boolean(),
    healthy: z.boolean(),
    trusted: z.boolean(),
    trades_24h: Count.nullable(),
    volume_24h: Count.nullable(),
    media_unit: z.string().nullable(),
    media_unit_price: z.number().nullable(),
    direct_media_unit_price: z.number().nullable(),
    unit_prices: UnitPriceList,
  })
  .meta({
    id: 'BookOffer',
    description:
      'An offer in the order book of a model, with its price, the rest of its cap and its sales of 24 hours. Sales are null until they are summed.',
  })
const OrderBook = z
  .object({
    model: z.string(),
    canonical: z.object({
      model: z.string(),
      name: z.string(),
      direct_input_per_1m: Price,
      direct_output_per_1m: Price,
      direct_cache_read_per_1m: Price,
      direct_cache_write_per_1m: Price,
      media_unit: z.string().nullable(),
      direct_media_unit_price: z.number().nullable(),
      direct_unit_prices: UnitPriceList,
    }),
    offers: z.array(BookOffer),
  })
  .meta({ id: 'OrderBook', description: 'The offers of one model, best first, with the model’s list prices.' })
const Performance = z
  .object({
    model: z.string(),
    providers: z.array(z.object({ provider: z.string(), ...Speed, uptime_pct: Figure })),
  })
  .meta({ id: 'Performance', description: 'The speed and health of a model, by provider.' })
const Trade = z
  .object({
    model: z.string(),
    input_tokens: Count,
    output_tokens: Count,
    images: Count,
    megapixels: z.number(),
    seconds: z.number(),
    characters: Count,
    cost_usd: z.number(),
    created_at: Count,
  })
  .meta({ id: 'Trade', description: 'A charged call, without its buyer and its seller.' })

const json = (schema: z.ZodType) => ({ 'application/json': schema })
const read = {
  method: 'get',
  tag: 'Market',
  envelope: 'v1',
  access: 'public',
  examples: { whole: {} },
  refusals: READ_REFUSALS,
} as const
const variables = { model: 'gpt-5-mini' }

/** The public reads of the market. */
export const FIGURE_READS: readonly DataRoute[] = [
  {
    ...read,
    path: '/api/markets',
    summary: 'List market rows',
    description: 'Every model on sale, with live prices, health, caps and the figures of 24 hours.',
    query: MarketQuery,
    answers: json(z.object({ markets: z.array(MarketRow) })),
    examples: { one: { model: 'gpt-5-mini' } },
  },
  {
    ...read,
    path: '/api/inference/markets',
    summary: 'List market rows in US dollars',
    description: 'The rows of `/api/markets` as a bare list.',
    query: MarketQuery,
    answers: json(
      z.array(
        DollarRow.extend({ providerBreakdown: DollarRow.shape.providers }).meta({
          id: 'DollarMarketRow',
          description: 'The market of one model, with prices in US dollars for a million tokens.',
        }),
      ),
    ),
    examples: { one: { model: 'gpt-5-mini' } },
  },
  {
    ...read,
    path: '/api/markets/feed',
    summary: 'List the latest trades',
    description: 'Sold calls, newest first, without the names of their buyers and sellers.',
    query: z.object({ limit: Count.min(1).max(100).optional() }),
    answers: json(z.object({ items: z.array(Trade) })),
    examples: { page: { limit: 5 } },
  },
  {
    ...read,
    path: '/api/markets/{model}',
    summary: 'Get an order book',
    description: 'The offers for one model, with their prices.',
    answers: json(OrderBook),
    variables,
  },
  {
    ...read,
    path: '/api/markets/{model}/performance',
    summary: 'Get speed and uptime by provider',
    description: 'Measured on real calls of one model.',
    answers: json(Performance),
    variables,
  },
]
