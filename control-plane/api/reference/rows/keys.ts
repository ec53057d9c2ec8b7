import { z } from 'zod'
import { KeyViewSchema } from '#control-plane/services/keys/key-views.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import type { Descriptions } from './described.ts'
import { NextToken } from './described.ts'

const Key = z.object({
  id: z.string(),
  keyPrefix: z.string().describe('How the key begins: what to know it by.'),
  label: z.string(),
  createdAt: UnixMs,
  lastUsedAt: UnixMs.nullable(),
  revokedAt: UnixMs.nullable(),
  expiresAt: UnixMs.optional().describe('There where the key has an end.'),
})
const Secret = z.object({
  key: z.string().optional().describe('The key itself: shown once, never in a replayed answer.'),
  apiKey: z.string().optional().describe('The same.'),
})
const Terms = KeyViewSchema.shape.terms.unwrap()

const SellerKey = Key.meta({ id: 'SellerKey' })
const BuyerKey = Key.extend(Terms.shape).meta({ id: 'BuyerKey' })
export const SellerKeyCreated = Secret.extend(Key.shape)
  .extend({ keyType: z.literal('seller'), wallet: z.string() })
  .meta({ id: 'SellerKeyCreated' })
const BuyerKeyMade = Secret.extend(Key.shape)
  .extend(Terms.shape)
  .extend({ keyType: z.literal('buyer'), wallet: z.string() })
/** A sign-in gives a key without limits, so its terms stand there, too. */
export const BuyerKeyCreated = BuyerKeyMade.meta({ id: 'BuyerKeyCreated' })
const BuyerKeyRotated = BuyerKeyMade.extend({
  formerExpiresAt: UnixMs.describe('Until when the secret before it goes on, in Unix milliseconds.'),
}).meta({ id: 'BuyerKeyRotated' })

const tag = 'Buyer keys'
const limits = 'What is left out is not limited. Caps are in US dollars and count from midnight UTC.'

export const KEY_DESCRIPTIONS: Descriptions = {
  'POST /v1/seller/keys': {
    tag: 'Seller keys',
    summary: 'Make a seller key',
    description: 'A wallet has at most 25 active keys of a side. The key is shown once.',
    answer: SellerKeyCreated,
    example: { label: 'listing bot' },
  },
  'GET /v1/seller/keys': {
    tag: 'Seller keys',
    summary: 'List seller keys',
    answer: z.object({ keys: z.array(SellerKey), nextToken: NextToken }),
    example: {},
  },
  'DELETE /v1/seller/keys/:id': { tag: 'Seller keys', summary: 'Revoke a seller key', example: {} },
  'POST /v1/buyer/keys': {
    tag,
    summary: 'Make a buyer key, with limits',
    description: `${limits} The key is shown once.`,
    answer: BuyerKeyCreated,
    example: { label: 'research agent', cap_daily_usd: 5, rate_limit_rpm: 120, min_discount_pct: 10 },
    refusals: [403],
  },
  'GET /v1/buyer/keys': {
    tag,
    summary: 'List buyer keys',
    answer: z.object({ keys: z.array(BuyerKey), nextToken: NextToken }),
    example: {},
  },
  'PATCH /v1/buyer/keys/:id': {
    tag,
    summary: 'Change the limits of a buyer key',
    description: 'What is left out stays; null takes a limit away.',
    answer: BuyerKey,
    example: { cap_daily_usd: 2.5 },
    refusals: [403, 409],
  },
  'POST /v1/buyer/keys/:id/rotate': {
    tag,
    summary: 'Give a buyer key a new secret',
    description: 'The secret before it goes on for a window, so that nothing stops. Limits and counts stay.',
    answer: BuyerKeyRotated,
    example: { window_seconds: 60 },
    refusals: [403],
  },
  'DELETE /v1/buyer/keys/:id': { tag, summary: 'Revoke a buyer key', example: {}, refusals: [403] },
}
