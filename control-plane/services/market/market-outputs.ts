import { z } from 'zod'
import { Amount, Count, UnitPriceList } from '#control-plane/services/view-fields.ts'
import { ModelSchema } from '#shared/catalog/model.ts'
import { MarketRowSchema, OfferRowSchema } from '#shared/contract/snapshot.ts'
import type { KeptBps } from '#shared/money.ts'

/** Parts of the market's answers. The doors write prices as numbers and sums as digits. */

const Price = z.bigint().nullable()

const ModelPrices = z.object({
  input: Price,
  output: Price,
  cacheRead: Price,
  cacheWrite: Price,
  mediaUnit: z.string().nullable(),
  mediaUnitPrice: Price,
  unitPrices: UnitPriceList,
})

export const MarketSummarySchema = z.object({
  best: ModelPrices,
  direct: ModelPrices,
  bestDiscountPct: z.number().nullable(),
  healthySellerCount: Count,
  /** The sum of the daily caps of available offers; null when one of them has no cap. */
  totalCap: z.bigint().nullable(),
  /** Offers that only calls which allow untrusted providers may use. */
  untrusted: z.object({ best: ModelPrices, bestDiscountPct: z.number().nullable(), healthySellerCount: Count }),
  providers: z
    .array(z.object({ provider: z.string(), isTrusted: z.boolean(), healthySellerCount: Count, best: ModelPrices }))
    .readonly(),
})

/** The figures of a published row in memory, where the sum is an amount instead of text. */
export const MarketFiguresSchema = MarketRowSchema.extend({ volume24hMicro: Amount.nullable() })

/** An offer of the public order book. */
export const BookEntrySchema = z.object({
  offer: OfferRowSchema.pick({
    id: true,
    sellerAlias: true,
    provider: true,
    isTrusted: true,
    baseUrl: true,
    apiFormat: true,
    without: true,
  }).extend({
    keptBps: z.custom<KeptBps>((value) => typeof value === 'bigint'),
    capDailyMicro: Amount.nullable(),
    ttftMs: z.number().nullable(),
  }),
  rank: Count,
  direct: ModelPrices,
  effective: ModelPrices,
  discountPct: z.number(),
  capRemaining: Amount.nullable(),
  isHealthy: z.boolean(),
  /** True for a healthy offer whose cap is not used up. */
  isAvailable: z.boolean(),
  trades: z.object({ count: Count, volumeMicro: Amount }).nullable(),
})

/** A model on the market with its best prices at present and its figures of the last day. */
export const MarketViewSchema = z.object({
  /** The canonical id of the model. */
  id: z.string(),
  model: ModelSchema,
  summary: MarketSummarySchema,
  figures: MarketFiguresSchema,
  /** Offers on sale, including those that cannot serve at present. */
  offerCount: Count,
})
export type MarketView = z.infer<typeof MarketViewSchema>
