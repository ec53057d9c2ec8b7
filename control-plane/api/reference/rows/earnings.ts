import { z } from 'zod'
import type { Descriptions } from './described.ts'
import { Micro, MicroText, Millis } from './described.ts'

const tag = 'Earnings'

const Sale = z
  .object({
    id: z.string(),
    model: z.string(),
    offerId: z.string().nullable(),
    settlementStatus: z.string(),
    createdAt: Millis,
    sellerCostUsdc: MicroText.describe('What the seller earned, in micro-USD as decimal digits.'),
    inputTokens: z.number().int(),
    outputTokens: z.number().int(),
    cacheReadTokens: z.number().int(),
    effectiveInputPer1m: Micro.nullable(),
    effectiveOutputPer1m: Micro.nullable(),
    txHash: z.string().nullable(),
  })
  .meta({ id: 'Sale' })
const PayoutHold = z.object({ reason: z.string(), since: Millis }).meta({ id: 'PayoutHold' })
const EarningsDay = z.object({
  day: z.string().describe('A day in UTC: YYYY-MM-DD.'),
  earnedMicro: Micro,
  earnedUsd: z.number(),
  requests: z.number().int(),
  inputTokens: z.number().int(),
  outputTokens: z.number().int(),
  totalTokens: z.number().int(),
})
const EarningsModel = z.object({
  model: z.string(),
  earnedMicro: Micro,
  earnedUsd: z.number(),
  requests: z.number().int(),
  totalTokens: z.number().int(),
  lastSaleAt: Millis,
})
const Earnings = z
  .object({
    range: z.enum(['7d', '30d', '90d', 'lifetime']),
    totalEarnedUsdc: MicroText,
    pendingUsdc: MicroText,
    inFlightUsdc: MicroText,
    paidUsdc: MicroText,
    daily: z.array(EarningsDay),
    byModel: z.array(EarningsModel),
    share: z.object({
      earnedUsd: z.number(),
      requests: z.number().int(),
      tokens: z.number().int(),
      topModel: z.string().nullable(),
      shareBps: z.number().int(),
    }),
    recentSales: z.array(Sale),
    payoutHold: PayoutHold.optional(),
  })
  .meta({ id: 'Earnings' })
const PayoutPosition = z
  .object({
    availableUsdc: MicroText,
    inFlightUsdc: MicroText,
    paidUsdc: MicroText,
    thresholdUsdc: MicroText,
    recipients: z.array(z.object({ recipient: z.string(), earnedUsdc: MicroText })),
    payouts: z.array(z.unknown()),
    payoutHold: PayoutHold.optional(),
  })
  .meta({ id: 'PayoutPosition' })

export const EARNINGS_DESCRIPTIONS: Descriptions = {
  'GET /v1/seller/earnings': {
    tag,
    summary: 'Read earnings',
    answer: Earnings,
    example: { range: '7d' },
    refusals: [403, 404],
  },
  'GET /v1/seller/earnings/history': {
    tag,
    summary: 'List sales, newest first',
    answer: z.object({ recentSales: z.array(Sale), nextToken: z.string().nullable() }).meta({ id: 'SalesPage' }),
    example: { limit: 10 },
    refusals: [403, 404],
  },
  'GET /v1/seller/usage/export': {
    tag,
    summary: 'Download a file of sales',
    as: 'redirect',
    example: {},
    refusals: [403, 404],
  },
  'GET /v1/seller/payouts': {
    tag,
    summary: 'Read what is to be paid out',
    answer: PayoutPosition,
    example: {},
    refusals: [403, 404],
  },
}
