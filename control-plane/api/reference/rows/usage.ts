import type { Descriptions } from './described.ts'

const tag = 'Usage'

export const USAGE_DESCRIPTIONS: Descriptions = {
  'GET /v1/buyer/usage': {
    tag,
    summary: 'List calls with their cost',
    description: 'One line a call. The query narrows the list.',
    example: { period: '24h', max_items: 10 },
  },
  'GET /v1/activity': {
    tag,
    summary: 'Sum calls by day, model and provider',
    description: 'In OpenRouter’s shape: the running UTC day and the thirty before it, or one `date`.',
    example: {},
  },
  'GET /v1/buyer/usage/buckets': {
    tag,
    summary: 'Sum usage over time',
    description: 'One bucket an interval, by model, key, provider or endpoint if you ask for it.',
    example: { period: '7d', interval: 'day', group_by: 'model' },
  },
  'GET /v1/buyer/usage/export': {
    tag,
    summary: 'Download a file of calls',
    description: 'Redirects to a signed link to the file.',
    as: 'redirect',
    example: { period: '7d' },
  },
  'GET /v1/buyer/caps': {
    tag,
    summary: 'Read what bounds spending now',
    description: 'The balance and the caps of every key that may spend, with the one that ends the spending first.',
    example: {},
  },
  'GET /v1/buyer/jobs': {
    tag,
    summary: 'List long jobs',
    description: 'Jobs of the account, such as videos and music, with their states.',
    example: { state: 'running', max_items: 10 },
  },
  'DELETE /v1/buyer/jobs/:id': {
    tag,
    summary: 'Cancel a long job',
    description:
      'Asks its provider to cancel it and answers how it stands. A job that had finished stays finished, and is charged. Id: that of the job or of its submit.',
    example: {},
    refusals: [502],
  },
  'GET /v1/buyer/savings': {
    tag,
    summary: 'Compare what was paid with list prices',
    description: 'Sums of what calls cost here and at list prices.',
    example: { period: '30d' },
  },
  'GET /v1/buyer/statements': {
    tag,
    summary: 'List ledger lines with the running balance',
    description: 'Every change of the balance, with the balance after it.',
    example: { max_items: 10 },
  },
  'GET /v1/exports/:token': {
    tag,
    summary: 'Download a file behind a signed link',
    description: 'Where the exports redirect to. The link works without a key, for a while.',
    as: 'csv',
    example: {},
    refusals: [403, 410],
  },
}
