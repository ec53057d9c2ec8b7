import type { Descriptions } from './described.ts'

const tag = 'Buyer keys'
const limits = 'What is left out is not limited. Caps are in US dollars and count from midnight UTC.'

export const KEY_DESCRIPTIONS: Descriptions = {
  'POST /v1/seller/keys': {
    tag: 'Seller keys',
    summary: 'Make a seller key',
    description: 'A wallet has at most 25 active keys of a side. The key is shown once.',
    example: { label: 'listing bot' },
  },
  'GET /v1/seller/keys': {
    tag: 'Seller keys',
    summary: 'List seller keys',
    description: 'The keys with their labels, without their secrets.',
    example: {},
  },
  'DELETE /v1/seller/keys/:id': {
    tag: 'Seller keys',
    summary: 'Revoke a seller key',
    description: 'The key stops working. A revoked key does not come back.',
    example: {},
  },
  'POST /v1/buyer/keys': {
    tag,
    summary: 'Make a buyer key, with limits',
    description: `${limits} The key is shown once.`,
    example: { label: 'research agent', cap_daily_usd: 5, rate_limit_rpm: 120, min_discount_pct: 10 },
    refusals: [403],
  },
  'GET /v1/buyer/keys': {
    tag,
    summary: 'List buyer keys',
    description: 'The keys with their limits, without their secrets.',
    example: {},
  },
  'PATCH /v1/buyer/keys/:id': {
    tag,
    summary: 'Change the limits of a buyer key',
    description: 'What is left out stays; null takes a limit away.',
    example: { cap_daily_usd: 2.5 },
    refusals: [403, 409],
  },
  'POST /v1/buyer/keys/:id/rotate': {
    tag,
    summary: 'Give a buyer key a new secret',
    description: 'The secret before it goes on for a window, so that nothing stops. Limits and counts stay.',
    example: { window_seconds: 60 },
    refusals: [403],
  },
  'DELETE /v1/buyer/keys/:id': {
    tag,
    summary: 'Revoke a buyer key',
    description: 'The key stops working. A revoked key does not come back.',
    example: {},
    refusals: [403],
  },
}
