import type { Descriptions } from './described.ts'

const tag = 'Lent keys'
const SELLER = '/v1/resource/seller'
const OFFERS = `${SELLER}/offers`

export const RESOURCE_DESCRIPTIONS: Descriptions = {
  [`POST ${SELLER}/keys/probe`]: {
    tag,
    summary: 'Try a key of a resource',
    description:
      'Makes one free call with the key and tells the traits that its account shows. A bad key is answered with ' +
      '`ok: false`. The key is stored nowhere.',
    example: { resource_id: 'provider-p2', api_key: 'sk-example-provider-key' },
  },
  [`POST ${OFFERS}`]: {
    tag,
    summary: 'Lend a key',
    description:
      'A whole provider account, at a discount from what the provider takes, within rules of its seller. The key is tried ' +
      'first, then sealed; it is never shown again. A key is lent once at a time, whoever lends it.',
    example: {
      resource_type: 'provider-p2',
      api_key: 'sk-example-provider-key',
      discount_percent: 30,
      ack_persists_state: true,
      ack_provider_terms: true,
      cap_daily_usd: 25,
    },
    refusals: [409, 502],
  },
  [`GET ${OFFERS}`]: {
    tag,
    summary: 'List own lent keys',
    description: 'The lent keys of the account, with their terms and states.',
    example: { max_items: 10 },
  },
  [`DELETE ${OFFERS}`]: {
    tag,
    summary: 'Take every lent key off the market',
    description: 'New calls no longer use any lent key of the account.',
    example: {},
  },
  [`GET ${OFFERS}/:id`]: {
    tag,
    summary: 'Read a lent key',
    description: 'One lent key of the account, with its terms and state.',
    example: {},
  },
  [`PATCH ${OFFERS}/:id`]: {
    tag,
    summary: 'Change a lent key',
    description:
      'Discount, cap, rules, label, or its status. A field that is left out stays, and null removes its value.',
    example: { discount_percent: 35 },
    refusals: [409],
  },
  [`DELETE ${OFFERS}/:id`]: {
    tag,
    summary: 'Take a lent key off the market',
    description: 'For good: it is listed anew. The sealed key stays for jobs under way, until it is purged.',
    example: {},
    refusals: [409],
  },
  [`POST ${OFFERS}/:id/purge`]: {
    tag,
    summary: 'Take a lent key off the market and destroy it',
    description: 'A destroyed key does not come back. Jobs that it started can no longer be asked about.',
    example: {},
    refusals: [409],
  },
  [`GET ${SELLER}/analytics`]: {
    tag,
    summary: 'Read earnings of lent keys',
    description: 'With the demand that the seller’s own rules refused.',
    example: { range: '7d' },
  },
  'GET /v1/resource/access': {
    tag,
    summary: 'Say whether the account may buy on lent keys now',
    description: 'With the reason where the account may not.',
    example: {},
  },
  'GET /v1/resource/buyer/analytics': {
    tag,
    summary: 'Read spending and savings on lent keys',
    description: 'Sums of the account’s calls in the range.',
    example: { range: '7d' },
  },
}
