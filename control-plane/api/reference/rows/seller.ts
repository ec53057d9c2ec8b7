import { z } from 'zod'
import { BulkLineSchema, BulkRow, bulkCreateOffers } from '#control-plane/services/offers/bulk.ts'
import { OfferViewSchema } from '#control-plane/services/offers/view.ts'
import { pageSchema } from '#control-plane/services/page.ts'
import { OperationViewSchema } from '#control-plane/services/sellers/seller-operations.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { ERROR_CLASSES } from '#shared/contract/health-event.ts'
import type { Descriptions } from './described.ts'
import { NextToken } from './described.ts'

const tag = 'Offers'
const OFFERS = '/v1/seller/offers'

const Offer = OfferViewSchema.meta({ id: 'Offer' })
const SellerOperation = OperationViewSchema.extend({ operationId: z.string() }).meta({ id: 'SellerOperation' })
const DiscoveredModel = z
  .object({
    model: z.string().describe('The canonical id where the market knows the model, else the name of the provider.'),
    supported: z.boolean(),
    pricing: z.object({
      inputPer1m: z.number().nullable(),
      outputPer1m: z.number().nullable(),
      priceUnit: z.string().nullable(),
      unitPrice: z.number().nullable(),
      priceVariable: z.boolean(),
    }),
    metadata: z.object({
      providerModelId: z.string(),
      modelType: z.string().nullable(),
      availabilityStatus: z.enum(['available', 'unknown_model', 'no_reference_price']),
    }),
  })
  .meta({ id: 'DiscoveredModel' })
const ConnectionTest = z
  .union([
    z.object({ ok: z.literal(true), latencyMs: z.number() }),
    z.object({ ok: z.literal(false), error: z.string(), status: z.number().int().optional() }),
  ])
  .meta({ id: 'ConnectionTest' })
const HealthTest = z
  .object({ model: z.string(), ok: z.boolean(), latencyMs: z.number().optional(), error: z.string().optional() })
  .meta({ id: 'HealthTest' })
const HealthLine = z
  .object({
    id: z.string(),
    timestamp: UnixMs,
    offerId: z.string(),
    model: z.string(),
    errorCategory: z.enum(ERROR_CLASSES).nullable(),
    errorDetail: z.string(),
    statusCode: z.number().int().nullable(),
    actionTaken: z.enum([
      ...(['counted', 'backed_off', 'recovered', 'flagged'] as const),
      ...(['reset', 'credential_rotated', 'delisted', 'restored'] as const),
    ]),
    backedOffUntil: UnixMs.nullable(),
  })
  .meta({ id: 'HealthLine' })
const SavedKey = z
  .object({
    id: z.string(),
    label: z.string().nullable(),
    baseUrl: z.string(),
    keyFingerprint: z.string().describe('Names the key in reuse_key_fingerprint.'),
    hint: z.string(),
    createdAt: UnixMs,
  })
  .meta({ id: 'SavedKey' })

/** Where a sample provider of the development market listens is known when it runs, so a test fills this in. */
const place = { api_key: 'sk-example-provider-key', seller_base_url: 'https://api.example.com/v1' }
const probed = { refusals: [404, 502] }

export const OFFER_DESCRIPTIONS: Descriptions = {
  [`POST ${OFFERS}`]: {
    tag,
    summary: 'List an offer',
    description:
      'A model at one provider under one key of the seller, at a discount from the reference price. The provider is asked ' +
      'for a token first. The key is sealed on arrival and never shown again.',
    answer: Offer,
    example: { model: 'gpt-5-mini', ...place, discount: 25, cap_daily_usd: 50, label: 'spare quota' },
    ...probed,
  },
  [`GET ${OFFERS}`]: { tag, summary: 'List own offers', answer: pageSchema(Offer), example: { max_items: 10 } },
  [`POST ${OFFERS}/bulk`]: {
    tag,
    summary: 'List many models of one provider',
    description: 'Up to 200 rows; each answers with its own line as soon as it is done.',
    input: bulkCreateOffers.input.extend({ offers: z.array(BulkRow).min(1).max(200) }),
    answer: BulkLineSchema.meta({ id: 'BulkLine' }),
    as: 'lines',
    example: { ...place, offers: [{ model: 'gpt-5-nano', discount: 15 }] },
    ...probed,
  },
  [`POST ${OFFERS}/bulk-cancel`]: {
    tag,
    summary: 'Take every active offer off the market',
    description: 'Runs in the background: ask for the operation with its id.',
    answer: SellerOperation,
    example: {},
  },
  [`GET ${OFFERS}/:id`]: { tag, summary: 'Read an offer', answer: Offer, example: {} },
  [`PATCH ${OFFERS}/:id`]: {
    tag,
    summary: 'Change an offer',
    description: 'Price, cap, label, payout address, or its status: routing follows within a quarter of a second.',
    answer: Offer,
    example: { discount: 30 },
    refusals: [409],
  },
  [`DELETE ${OFFERS}/:id`]: {
    tag,
    summary: 'Take an offer off the market',
    answer: Offer,
    example: {},
    refusals: [409],
  },
  [`POST ${OFFERS}/:id/reset-health`]: {
    tag,
    summary: 'Return an offer to the rotation',
    answer: z.object({ healthy: z.literal(true), status: z.enum(['active', 'paused', 'inactive']) }),
    example: {},
    refusals: [409],
  },
  [`POST ${OFFERS}/:id/rotate-credential`]: {
    tag,
    summary: 'Replace the provider key of an offer',
    description: 'The new key is tried first; the old one counts until it works.',
    answer: Offer,
    example: { api_key: 'sk-example-provider-key-two' },
    refusals: [409, 502],
  },
  'GET /v1/seller/operations/:id': {
    tag,
    summary: 'Read a background operation',
    answer: SellerOperation,
    example: {},
  },
  'POST /v1/seller/discover': {
    tag,
    summary: 'Ask a provider what it serves',
    description: 'The key is stored nowhere.',
    answer: DiscoveredModel,
    as: 'lines',
    example: place,
    ...probed,
  },
  'POST /v1/seller/test-connection': {
    tag,
    summary: 'Try a provider key',
    description: 'What the provider says is the answer, never an error. The key is stored nowhere.',
    answer: ConnectionTest,
    example: place,
    refusals: [404],
  },
  'POST /v1/seller/test-health': {
    tag,
    summary: 'Ask models of a provider for one token each',
    answer: HealthTest,
    as: 'lines',
    example: { ...place, models: ['gpt-5-mini'] },
    refusals: [404],
  },
  'GET /v1/seller/health-log': {
    tag,
    summary: 'Read what went wrong with offers',
    answer: pageSchema(HealthLine),
    example: { max_items: 10 },
    refusals: [404],
  },
  'GET /v1/seller/configs': {
    tag,
    summary: 'List saved provider keys',
    description: 'Hints and fingerprints only.',
    answer: z.object({ configs: z.array(SavedKey), nextToken: NextToken }),
    example: {},
  },
  'DELETE /v1/seller/configs/:id': { tag, summary: 'Forget a saved provider key', example: {} },
}
