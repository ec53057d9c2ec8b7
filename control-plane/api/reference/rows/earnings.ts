import type { Descriptions } from './described.ts'

const tag = 'Earnings'

export const EARNINGS_DESCRIPTIONS: Descriptions = {
  'GET /v1/seller/earnings': {
    tag,
    summary: 'Read earnings',
    description: 'Sums of the sales in the range.',
    example: { range: '7d' },
    refusals: [403, 404],
  },
  'GET /v1/seller/earnings/history': {
    tag,
    summary: 'List sales, newest first',
    description: 'One line a sold call, with what it earned.',
    example: { limit: 10 },
    refusals: [403, 404],
  },
  'GET /v1/seller/usage/export': {
    tag,
    summary: 'Download a file of sales',
    description: 'Redirects to a signed link to the file.',
    as: 'redirect',
    example: {},
    refusals: [403, 404],
  },
  'GET /v1/seller/payouts': {
    tag,
    summary: 'Read what is to be paid out, and what was paid',
    description: 'The balance of the account, the payouts and their states.',
    example: { max_items: 10 },
    refusals: [403, 404],
  },
  'POST /v1/seller/payouts': {
    tag,
    summary: 'Ask for a payout',
    description:
      'Pays out what is available: with the next batch, or with self_submit as a signed authorization that the recipient brings to the chain. A withheld balance is answered with status held and a reason.',
    example: {},
    refusals: [403, 404, 409],
  },
  'GET /v1/seller/payouts/:id/tx': {
    tag,
    summary: 'Read the transaction of a payout',
    description: 'The transfer on the chain that paid a payout.',
    example: {},
    refusals: [403, 404],
  },
  'POST /v1/seller/payouts/:id/tx': {
    tag,
    summary: 'Read the transaction of a payout by POST',
    description: 'Answers the same as a GET of the path, and changes nothing.',
    example: {},
    refusals: [403, 404],
  },
}
