import { z } from 'zod'
import { BulkRow, bulkCreateOffers } from '#control-plane/services/offers/bulk.ts'
import type { Descriptions } from './described.ts'

const tag = 'Offers'
const OFFERS = '/v1/seller/offers'

/** A sample provider's address is known only while it runs, so a test fills it in. */
const place = { api_key: 'sk-example-provider-key', seller_base_url: 'https://api.example.com/v1' }
const probed = { refusals: [404, 502] }

export const OFFER_DESCRIPTIONS: Descriptions = {
  [`POST ${OFFERS}`]: {
    tag,
    summary: 'List an offer',
    description:
      'A model at one provider under one key of the seller, at a discount from the reference price. The provider is asked ' +
      'for a token first. The key is sealed on arrival and never shown again.',
    example: { model: 'gpt-5-mini', ...place, discount: 25, cap_daily_usd: 50, label: 'spare quota' },
    ...probed,
  },
  [`GET ${OFFERS}`]: {
    tag,
    summary: 'List own offers',
    description: 'The offers of the account, with their prices and states.',
    example: { max_items: 10 },
  },
  [`POST ${OFFERS}/bulk`]: {
    tag,
    summary: 'List many models of one provider',
    description: 'Up to 200 rows; each answers with its own line as soon as it is done.',
    input: bulkCreateOffers.input.extend({ offers: z.array(BulkRow).min(1).max(200) }),
    as: 'lines',
    example: { ...place, offers: [{ model: 'gpt-5-nano', discount: 15 }] },
    ...probed,
  },
  [`POST ${OFFERS}/bulk-cancel`]: {
    tag,
    summary: 'Take every active offer off the market',
    description: 'Runs in the background: ask for the operation with its id.',
    example: {},
  },
  [`GET ${OFFERS}/:id`]: {
    tag,
    summary: 'Read an offer',
    description: 'One offer of the account, with its price and state.',
    example: {},
  },
  [`PATCH ${OFFERS}/:id`]: {
    tag,
    summary: 'Change an offer',
    description: 'Price, cap, label, payout address, or its status: routing follows within a quarter of a second.',
    example: { discount: 30 },
    refusals: [409],
  },
  [`DELETE ${OFFERS}/:id`]: {
    tag,
    summary: 'Take an offer off the market',
    description: 'New calls no longer go to the offer.',
    example: {},
    refusals: [409],
  },
  [`POST ${OFFERS}/:id/reset-health`]: {
    tag,
    summary: 'Return an offer to the rotation',
    description: 'At once, with its health record cleared.',
    example: {},
    refusals: [409],
  },
  [`POST ${OFFERS}/:id/rotate-credential`]: {
    tag,
    summary: 'Replace the provider key of an offer',
    description: 'The new key is tried first; the old one counts until it works.',
    example: { api_key: 'sk-example-provider-key-two' },
    refusals: [409, 502],
  },
  'GET /v1/seller/operations/:id': {
    tag,
    summary: 'Read a background operation',
    description: 'The state of work that goes on after its request was answered.',
    example: {},
  },
  'POST /v1/seller/discover': {
    tag,
    summary: 'Ask a provider what it serves',
    description: 'The key is stored nowhere.',
    as: 'lines',
    example: place,
    ...probed,
  },
  'POST /v1/seller/test-connection': {
    tag,
    summary: 'Try a provider key',
    description: 'What the provider says is the answer, never an error. The key is stored nowhere.',
    example: place,
    refusals: [404],
  },
  'POST /v1/seller/test-health': {
    tag,
    summary: 'Ask models of a provider for one token each',
    description: 'Sends one small call for each model and says which calls succeeded.',
    as: 'lines',
    example: { ...place, models: ['gpt-5-mini'] },
    refusals: [404],
  },
  'GET /v1/seller/health-log': {
    tag,
    summary: 'Read what went wrong with offers',
    description: 'Failed calls and changes of state. Narrow the list to one offer with `offer_id`.',
    example: { max_items: 10 },
    refusals: [404],
  },
  'GET /v1/seller/configs': {
    tag,
    summary: 'List saved provider keys',
    description: 'Hints and fingerprints only.',
    example: {},
  },
  'DELETE /v1/seller/configs/:id': {
    tag,
    summary: 'Forget a saved provider key',
    description: 'Removes the key from the list of keys that new offers can use.',
    example: {},
  },
}
