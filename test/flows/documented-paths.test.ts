import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'

let network: Network

beforeAll(async () => {
  network = await sharedNetwork()
})

const GET = ['GET'] as const
const POST = ['POST'] as const

/** The paths in the contract, with their methods. A variable part is written as it is. */
const SOLD = ['chat/completions', 'completions', 'responses', 'audio/speech', 'audio/transcriptions']
const MEDIA = ['images/generations', 'images/edits', 'video/generations', 'music/generations']
const JOBS = ['video/generations', 'music/generations'].map((name) => `${name}/job_1`)
const PUBLIC = [
  '/v1/models',
  '/v1/models/sandbox/echo',
  '/v1/providers',
  '/v1/prices',
  '/api/markets',
  '/api/markets/feed',
  '/api/markets/sandbox%2Fecho',
  '/api/markets/sandbox%2Fecho/performance',
  '/api/inference/markets',
  '/api/inference/v1/models',
  '/x402/api/inference/v1/models',
  '/api/inference/v1/prices',
  '/api/x402/info',
  '/.well-known/x402',
  '/openapi.json',
  '/llms.txt',
  '/v1/resource/markets',
  '/v1/resource/capabilities',
  '/v1/resource/traits',
  '/v1/resource/book/provider-p1',
  '/v1/resource/market/analytics',
]
const SELLER: readonly (readonly [methods: readonly string[], path: string])[] = [
  [POST, 'auth/keys'],
  [GET, 'auth/challenge'],
  [['GET', 'POST'], 'keys'],
  [['DELETE'], 'keys/key_1'],
  [['GET', 'POST'], 'offers'],
  [['GET', 'PATCH', 'DELETE'], 'offers/ofr_1'],
  [POST, 'offers/bulk'],
  [POST, 'offers/bulk-cancel'],
  [GET, 'operations/op_1'],
  [POST, 'offers/ofr_1/reset-health'],
  [POST, 'offers/ofr_1/rotate-credential'],
  [POST, 'discover'],
  [POST, 'test-connection'],
  [POST, 'test-health'],
  [GET, 'earnings'],
  [GET, 'earnings/history'],
  [GET, 'usage/export'],
  [GET, 'health-log'],
  [['GET', 'POST'], 'payouts'],
  [['GET', 'POST'], 'payouts/pay_1/tx'],
  [GET, 'configs'],
  [['DELETE'], 'configs/cfg_1'],
]
const BUYER: typeof SELLER = [
  [GET, 'auth/challenge'],
  [POST, 'auth/keys'],
  [['GET', 'POST'], 'keys'],
  [['PATCH', 'DELETE'], 'keys/key_1'],
  [GET, 'me'],
  [GET, 'savings'],
  [['GET', 'PUT'], 'preferences'],
  [GET, 'usage'],
  [GET, 'usage/export'],
  [['GET', 'POST', 'DELETE'], 'providers'],
  [['DELETE'], 'providers/own_1'],
  [GET, 'statements'],
  [['GET', 'POST'], 'webhooks'],
  [['GET', 'PATCH', 'DELETE'], 'webhooks/whk_1'],
]
const LENT: typeof SELLER = [
  [POST, 'keys/probe'],
  [['GET', 'POST', 'DELETE'], 'offers'],
  [['GET', 'PATCH', 'DELETE'], 'offers/rof_1'],
  [POST, 'offers/rof_1/purge'],
  [GET, 'analytics'],
]

type Asked = readonly [method: string, path: string]
const spread = (prefix: string, rows: typeof SELLER) =>
  rows.flatMap(([methods, path]) => methods.map((method): Asked => [method, `${prefix}/${path}`]))

const CALLS: readonly Asked[] = [
  ...[...SOLD, ...MEDIA].flatMap((name): Asked[] => [
    ['POST', `/v1/${name}`],
    ['POST', `/min30/v1/${name}`],
  ]),
  ['POST', '/v1/embeddings'],
  ...JOBS.flatMap((name): Asked[] =>
    ['GET', 'DELETE'].flatMap((method): Asked[] => [
      [method, `/v1/${name}`],
      [method, `/min30/v1/${name}`],
    ]),
  ),
  ['GET', '/v1/media/artifacts/job_1/0'],
  ...['/compat', '/compat/min30'].map((prefix): Asked => ['POST', `${prefix}/v1/messages`]),
  ['POST', '/compat/v1/messages/count_tokens'],
  ['GET', '/compat/v1/models'],
  ...['chat/completions', 'completions'].flatMap((name): Asked[] => [
    ['POST', `/api/inference/v1/${name}`],
    ['POST', `/x402/api/inference/v1/${name}`],
  ]),
  ['GET', '/x402/api/social/v2/posts/search/recent?query=a'],
  ['GET', '/x402/api/social/v2/users/by/username/ada'],
  ['POST', '/x402/api/crypto-rpc/rpc/base-mainnet'],
  ...['GET', 'POST', 'PUT'].flatMap((method): Asked[] =>
    ['/resources/provider-h', '/resources/provider-p1/v1/a', '/min30/resources/provider-p2/v1/a'].map(
      (path): Asked => [method, path],
    ),
  ),
  ['POST', '/x402/resources/provider-p1/v1/a'],
  ['GET', '/v1/requests'],
  ['GET', '/v1/generation?id=1'],
  ['GET', '/v1/key'],
  ['GET', '/v1/credits'],
  ['GET', '/v1/payments/balance'],
  ['GET', '/v1/payments/deposits'],
  ['POST', '/v1/payments/deposits'],
  ['GET', '/v1/resource/access'],
  ['GET', '/v1/resource/buyer/analytics'],
]

/** The document of a 402 has no message. */
const Refusal = z.object({ error: z.union([z.string(), z.object({ message: z.string() })]) })

async function ask([method, path]: Asked): Promise<{ readonly status: number; readonly message: string | undefined }> {
  const body = method === 'GET' ? {} : { body: '{}', headers: { 'content-type': 'application/json' } }
  const answer = await fetch(network.sandbox.base_url + path, { method, ...body, redirect: 'manual' })
  const text = await answer.text()
  if (answer.status < 400) return { status: answer.status, message: undefined }
  const { error } = Refusal.parse(JSON.parse(text))
  return { status: answer.status, message: typeof error === 'string' ? error : error.message }
}

describe('each path and method in the contract', () => {
  it.each(PUBLIC.map((path): Asked => ['GET', path]))('%s %s answers without a key', async (...asked) => {
    expect((await ask(asked)).status).toBe(200)
  })

  // A stranger is asked for a key, for money, or for the missing part. The message distinguishes a missing job from an
  // unknown path.
  it.each([
    ...CALLS,
    ...spread('/v1/seller', SELLER),
    ...spread('/v1/buyer', BUYER),
    ...spread('/v1/resource/seller', LENT),
  ])('%s %s exists', async (...asked) => {
    const unknown = await ask(['GET', '/v1/nothing/here'])
    expect(unknown.status).toBe(404)
    const { status, message } = await ask(asked)
    expect([400, 401, 402, 403, 404, 415]).toContain(status)
    expect(message).not.toBe(unknown.message)
  })
})
