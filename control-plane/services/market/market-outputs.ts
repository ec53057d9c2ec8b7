import { z } from 'zod'
import { Amount, Count } from '#control-plane/services/view-fields.ts'
import { MarketRowSchema, OfferRowSchema } from '#shared/contract/snapshot.ts'
import type { KeptBps } from '#shared/money.ts'

/** What the market's own views are made of. The doors write their prices as numbers and their sums as digits. */

const Price = z.bigint().nullable()
const TokenPrices = z.object({ input: Price, output: Price, cacheRead: Price, cacheWrite: Price })

export const MarketSummarySchema = z.object({
  best: TokenPrices,
  direct: TokenPrices,
  bestDiscountPct: z.number().nullable(),
  bestMediaUnitPrice: Price,
  healthySellerCount: Count,
  /** Sum of the daily caps of available offers; null when one of them has none. */
  totalCap: z.bigint().nullable(),
  providers: z
    .array(z.object({ provider: z.string(), isTrusted: z.boolean(), healthySellerCount: Count, best: TokenPrices }))
    .readonly(),
})

/** The figures of a published row as they are in memory: the sum is an amount, and no text. */
export const MarketFiguresSchema = MarketRowSchema.extend({ volume24hMicro: Amount })

/** One offer of the public order book. */
export const BookEntrySchema = z.object({
  offer: OfferRowSchema.pick({ id: true, sellerAlias: true, provider: true, isTrusted: true, baseUrl: true }).extend({
    keptBps: z.custom<KeptBps>((value) => typeof value === 'bigint'),
    capDailyMicro: Amount.nullable(),
    ttftMs: z.number().nullable(),
  }),
  rank: Count,
  direct: TokenPrices,
  effective: TokenPrices,
  discountPct: z.number(),
  capRemaining: Amount.nullable(),
  isHealthy: z.boolean(),
  /** Healthy, with some of its cap left. */
  isAvailable: z.boolean(),
  mediaUnitPrice: Price,
  directMediaUnitPrice: Price,
  trades: z.object({ count: Count, volumeMicro: Amount }),
})
