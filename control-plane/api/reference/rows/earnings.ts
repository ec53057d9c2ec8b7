import type { Descriptions } from './described.ts'

const tag = 'Earnings'

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
    example: {},
    refusals: [403, 404],
  },
}
