import { z } from 'zod'
import { OwnProviderViewSchema } from '#control-plane/services/buyers/own-providers.ts'
import { pageSchema } from '#control-plane/services/page.ts'
import { MicroDigits, UnixMs, WholeMicro } from '#control-plane/services/view-fields.ts'
import { WebhookViewSchema } from '#control-plane/services/webhooks/webhooks.ts'
import { LookupRecordSchema } from '#shared/contract/lookup.ts'
import type { Descriptions } from './described.ts'

const tag = 'Account'
const hooks = 'Webhooks'
const HOOK = '/v1/buyer/webhooks/:id'

/** In the wire's own spelling, which writing in snake_case leaves as it is. */
const Lookup = LookupRecordSchema.meta({ id: 'RequestRecord' })
const Stats = z.object({
  totalSpent: WholeMicro,
  totalInputTokens: z.number().int(),
  totalOutputTokens: z.number().int(),
  totalRequests: z.number().int(),
})
const Credit = z.object({
  creditBalanceUsdc: MicroDigits.describe('What can be spent now, in micro-USD as decimal digits.'),
  heldUsdc: MicroDigits.describe('Set aside for calls under way.'),
})
const Me = Credit.extend({
  wallet: z.string(),
  balanceUsdc: z.string().nullable(),
  allowanceUsdc: z.string().nullable(),
  settlementContract: z.string().nullable(),
  stats: Stats,
  modelBreakdown: z.array(Stats.extend({ model: z.string() })),
  recentUsage: z.array(Lookup),
}).meta({ id: 'Buyer' })
const Preferences = z
  .object({
    allowUntrusted: z.boolean(),
    providersBlocked: z.array(z.string()),
    minDiscountPct: z.number().int().nullable(),
  })
  .meta({ id: 'Preferences' })
const OwnProvider = OwnProviderViewSchema.meta({ id: 'OwnProvider' })
const Webhook = WebhookViewSchema.meta({ id: 'Webhook' })
const WebhookWithSecret = WebhookViewSchema.extend({
  secret: z.string().optional().describe('Signs what is sent (Standard Webhooks): shown once.'),
}).meta({ id: 'WebhookWithSecret' })
const Delivery = z
  .object({
    id: z.string(),
    event: z.string(),
    status: z.enum(['pending', 'delivered', 'failed']),
    attempts: z.number().int(),
    statusCode: z.number().int().nullable(),
    error: z.string().nullable(),
    body: z.string(),
    createdAt: UnixMs,
    attemptedAt: UnixMs.nullable(),
    deliveredAt: UnixMs.nullable(),
  })
  .meta({ id: 'Delivery' })

const retired = { tag, summary: 'Retired', description: 'Answers 410 with the way to go.', refusals: [410] }

const ACCOUNT: Descriptions = {
  'GET /v1/buyer/me': { tag, summary: 'Read balance, totals and recent calls', answer: Me, example: {} },
  'GET /v1/payments/balance': { tag, summary: 'Read the balance', answer: Credit.meta({ id: 'Credit' }), example: {} },
  'GET /v1/buyer/preferences': { tag, summary: 'Read what every call goes by', answer: Preferences, example: {} },
  'PUT /v1/buyer/preferences': {
    tag,
    summary: 'Say what every call goes by',
    description: 'Replaces all three; what is left out is as on a new account.',
    answer: Preferences,
    example: { allow_untrusted: false, providers_blocked: [], min_discount_pct: 5 },
    refusals: [403],
  },
  'POST /v1/buyer/providers': {
    tag,
    summary: 'Add a provider key of your own',
    description:
      'Tried before the marketplace for its model, or after it where the model is null. Such calls cost 0 here.',
    answer: OwnProvider,
    example: {
      model: 'gpt-5-mini',
      base_url: 'https://api.example.com/v1',
      api_key: 'sk-example-provider-key',
      priority: 1,
    },
    refusals: [403, 502],
  },
  'GET /v1/buyer/providers': {
    tag,
    summary: 'List own provider keys',
    answer: z.object({ providers: z.array(OwnProvider) }),
    example: {},
  },
  'DELETE /v1/buyer/providers/:id': { tag, summary: 'Remove an own provider key', example: {}, refusals: [403] },
  'GET /v1/buyer/fallback-key': retired,
  'POST /v1/buyer/fallback-key': retired,
  'PUT /v1/buyer/fallback-key': retired,
  'DELETE /v1/buyer/fallback-key': retired,
  'GET /v1/requests': {
    tag: 'Calls',
    summary: 'List calls, newest first',
    answer: z.object({ requests: z.array(Lookup), next: z.string().nullable() }),
    example: { limit: 5 },
  },
  'GET /v1/requests/:id': {
    tag: 'Calls',
    summary: 'Look a call up',
    description:
      'What it cost, who served it, why it went there, and where its money stands. Id: the x-request-id header.',
    answer: Lookup,
    example: {},
  },
}

const WEBHOOKS: Descriptions = {
  'POST /v1/buyer/webhooks': {
    tag: hooks,
    summary: 'Make a webhook',
    answer: WebhookWithSecret,
    example: { url: 'https://hooks.example.com/market', events: ['balance.low'], low_balance_usd: 1 },
    refusals: [403],
  },
  'GET /v1/buyer/webhooks': {
    tag: hooks,
    summary: 'List webhooks',
    answer: z.object({ webhooks: z.array(Webhook) }),
    example: {},
  },
  [`GET ${HOOK}`]: { tag: hooks, summary: 'Read a webhook', answer: Webhook, example: {} },
  [`PATCH ${HOOK}`]: {
    tag: hooks,
    summary: 'Change a webhook',
    description: 'What is left out stays; null takes away.',
    answer: Webhook,
    example: { low_balance_usd: 2 },
    refusals: [403],
  },
  [`DELETE ${HOOK}`]: { tag: hooks, summary: 'Remove a webhook', example: {}, refusals: [403] },
  [`POST ${HOOK}/rotate-secret`]: {
    tag: hooks,
    summary: 'Give a webhook a new secret',
    description: 'Both secrets sign until the window is over.',
    answer: WebhookWithSecret,
    example: {},
    refusals: [403],
  },
  [`POST ${HOOK}/test`]: {
    tag: hooks,
    summary: 'Send a test event',
    answer: Delivery,
    example: {},
    refusals: [403],
  },
  [`GET ${HOOK}/deliveries`]: {
    tag: hooks,
    summary: 'List what was sent',
    answer: pageSchema(Delivery),
    example: { max_items: 10 },
  },
}

export const BUYER_DESCRIPTIONS: Descriptions = { ...ACCOUNT, ...WEBHOOKS }
