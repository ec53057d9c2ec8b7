import { z } from 'zod'
import { PayoutPositionSchema } from '#control-plane/services/sellers/payout-position.ts'
import type { Descriptions } from './described.ts'

const tag = 'Earnings'

/** No payout exists yet, so its shape is open. */
const PayoutPosition = PayoutPositionSchema.extend({ payouts: z.array(z.unknown()) }).meta({ id: 'PayoutPosition' })

export const EARNINGS_DESCRIPTIONS: Descriptions = {
  'GET /v1/seller/earnings': {
    tag,
    summary: 'Read earnings',
    example: { range: '7d' },
    refusals: [403, 404],
  },
  'GET /v1/seller/earnings/history': {
    tag,
    summary: 'List sales, newest first',
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
