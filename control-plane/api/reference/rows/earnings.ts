import { z } from 'zod'
import { MicroDigits, UnixMs, WholeMicro } from '#control-plane/services/view-fields.ts'
import type { Descriptions } from './described.ts'

const tag = 'Earnings'

const Sale = z
  .object({
    id: z.string(),
    model: z.string(),
    offerId: z.string().nullable(),
    settlementStatus: z.string(),
    createdAt: UnixMs,
    sellerCostUsdc: MicroDigits.describe('What the seller earned, in micro-USD as decimal digits.'),
    inputTokens: z.number().int(),
    outputTokens: z.number().int(),
    cacheReadTokens: z.number().int(),
    effectiveInputPer1m: WholeMicro.nullable(),
    effectiveOutputPer1m: WholeMicro.nullable(),
    txHash: z.string().nullable(),
  })
  .meta({ id: 'Sale' })
const PayoutHold = z.object({ reason: z.string(), since: UnixMs }).meta({ id: 'PayoutHold' })
const EarningsDay = z.object({
  day: z.string().describe('A day in UTC: YYYY-MM-DD.'),
  earnedMicro: WholeMicro,
  earnedUsd: z.number(),
  requests: z.number().int(),
  inputTokens: z.number().int(),
  outputTokens: z.number().int(),
  totalTokens: z.number().int(),
})
const EarningsModel = z.object({
  model: z.string(),
  earnedMicro: WholeMicro,
  earnedUsd: z.number(),
  requests: z.number().int(),
  totalTokens: z.number().int(),
  lastSaleAt: UnixMs,
})
const Earnings = z
  .object({
    range: z.enum(['7d', '30d', '90d', 'lifetime']),
    totalEarnedUsdc: MicroDigits,
    pendingUsdc: MicroDigits,
    inFlightUsdc: MicroDigits,
    paidUsdc: MicroDigits,
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
    availableUsdc: MicroDigits,
    inFlightUsdc: MicroDigits,
    paidUsdc: MicroDigits,
    thresholdUsdc: MicroDigits,
    recipients: z.array(z.object({ recipient: z.string(), earnedUsdc: MicroDigits })),
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
