import { connect } from 'node:net'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { newApiKey } from '#shared/api-key.ts'
import type { Network } from '#test/support/network.ts'
import { startNetwork } from '#test/support/network.ts'
import { until } from '#test/support/until.ts'

const GOOD = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'hi' }] }
let network: Network
let redis: Redis

beforeAll(async () => {
  network = await startNetwork()
  redis = new Redis(network.sandbox.redis_url)
}, 120_000)

afterAll(async () => {
  redis?.disconnect()
  await network?.remove()
}, 60_000)

const Envelope = z.object({
  error: z.object({ type: z.string(), code: z.string(), message: z.string(), request_id: z.string() }).loose(),
  request_id: z.string(),
})

type Sent = { status: number; headers: Headers; text: string; error: z.infer<typeof Envelope>['error'] | undefined }

async function send(
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
  path = '/v1/chat/completions',
): Promise<Sent> {
  const answer = await fetch(network.sandbox.api_base_url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${network.sandbox.buyer_key}`, 'content-type': 'application/json', ...headers },
    body,
  })
  const text = await answer.text()
  const parsed = answer.status === 200 ? undefined : Envelope.parse(JSON.parse(text))
  if (parsed) {
    expect(parsed.request_id).toBe(answer.headers.get('x-request-id'))
    expect(parsed.error.request_id).toBe(parsed.request_id)
  }
  expect(text).not.toMatch(/node_modules|\.ts:\d|at [A-Z]\w+ \(|select .* from|127\.0\.0\.1[1-9]|sk-/i)
  return { status: answer.status, headers: answer.headers, text, error: parsed?.error }
}

const json = (value: unknown) => JSON.stringify(value)

/** Open holds over all accounts: what a refused call must leave at zero. */
async function openHolds(): Promise<number> {
  let open = 0
  for (const key of await redis.keys('*:z:exp:*')) open += await redis.zcard(key)
  return open
}

const row = (name: string, body: string): [row: string, body: string] => [name, body]
const REFUSED: [row: string, body: string][] = [
  ['C001', '{'],
  ['C002', ''],
  ['C004 trailing comma', '{"model":"gpt-5-mini",}'],
  ['C004 single quotes', "{'model':'x'}"],
  ['C004 comment', '{/* */"model":"x"}'],
  ['C004 NaN', '{"model":"gpt-5-mini","temperature":NaN}'],
  ['C004 Infinity', '{"model":"gpt-5-mini","temperature":Infinity}'],
  ['C004 hex', '{"model":"gpt-5-mini","max_tokens":0x10}'],
  ['C010 NUL in the model', json({ ...GOOD, model: 'gpt-5-mini\u0000' })],
  ['C011 __proto__ at top level', `{"__proto__":{"x":1},"model":"gpt-5-mini","messages":[]}`],
  ['C014 depth', '['.repeat(100_000)],
  ['C023 model missing', json({ messages: GOOD.messages })],
  ...[null, '', 5, {}, []].map((model) => row(`C023 model ${json(model)}`, json({ ...GOOD, model }))),
  ['C024 unknown model', json({ ...GOOD, model: 'nope' })],
  ['C026 messages missing', json({ model: GOOD.model })],
  ...[
    {},
    [],
    [null],
    ['x'],
    [{ role: 'root', content: 'x' }],
    [{ content: 'x' }],
    [{ role: 'user', content: 5 }],
    [{ role: 'user', content: {} }],
  ].map((messages) => row(`C026 messages ${json(messages)}`, json({ ...GOOD, messages }))),
  ...[0, -1, 1.5, '5', 2 ** 53, 1e308].map((value) =>
    row(`C027 max_tokens ${value}`, json({ ...GOOD, max_tokens: value })),
  ),
  ...['hot', -1, 3].map((value) => row(`C029 temperature ${value}`, json({ ...GOOD, temperature: value }))),
  ['C029 top_p', json({ ...GOOD, top_p: 2 })],
  ['C029 stop of 10,000', json({ ...GOOD, stop: Array.from({ length: 10_000 }, () => 'x') })],
  ...['true', 1].map((value) => row(`C030 stream ${json(value)}`, json({ ...GOOD, stream: value }))),
  ['C032 n 0', json({ ...GOOD, n: 0 })],
  ['C032 n 1000', json({ ...GOOD, n: 1000 })],
  ['C033 tools no array', json({ ...GOOD, tools: {} })],
  [
    'C040 image url {}',
    json({ ...GOOD, messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] }),
  ],
  [
    'C041 image by file id',
    json({ ...GOOD, messages: [{ role: 'user', content: [{ type: 'image_file', file_id: 'file-1' }] }] }),
  ],
  ['C047 provider', json({ ...GOOD, provider: 'nope' })],
  ['C054 providers_blocked {}', json({ ...GOOD, providers_blocked: {} })],
  ...[101, -1, 'abc', 5.5, '05', 1e9, true].map((value) =>
    row(`C061 min_discount_pct ${value}`, json({ ...GOOD, min_discount_pct: value })),
  ),
]

describe('bad input is refused in the envelope, with nothing held and nothing charged', () => {
  it.each(REFUSED)('%s', async (_row, body) => {
    const sent = await send(body)
    expect(sent.status).toBe(400)
    expect(sent.error?.type).toBe('invalid_request_error')
  })

  it('C007 C017 C018: other charsets, encodings and types are 415', async () => {
    for (const headers of [
      { 'content-type': 'application/json; charset=utf-16le' },
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/xml' },
      { 'content-encoding': 'gzip' },
    ]) {
      expect((await send(json(GOOD), headers)).status).toBe(415)
    }
    expect((await send(json(GOOD), { 'content-type': 'application/json; charset=utf-8' })).status).toBe(200)
  })

  it('C013: of duplicate keys one value counts everywhere', async () => {
    const sent = await send('{"model":"nope","model":"sandbox/echo","messages":[{"role":"user","content":"hi"}]}')
    expect(sent.status).toBe(200)
    expect(JSON.parse(sent.text).model).toBe('sandbox/echo')
  })

  it('C016: a body over the limit is 413, by its length and by its bytes', async () => {
    const sent = await send(new Uint8Array(33 * 1024 * 1024).fill(0x20)).catch(() => undefined)
    if (sent) expect(sent.status).toBe(413)
    expect((await send(json(GOOD))).status).toBe(200)
  })

  it('C235: keys that are wrong in any way are 401, and none at all is 402 without a charge', async () => {
    const { buyer_key: key } = network.sandbox
    for (const wrong of [
      `${key}x`,
      key.slice(0, -1),
      `${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`,
      'inf_',
      'nonsense',
      newApiKey('buyer').secret.reveal(),
    ]) {
      const sent = await send(json(GOOD), { authorization: `Bearer ${wrong}` })
      expect([sent.status, sent.error?.code]).toEqual([401, 'invalid_api_key'])
    }
    const seller = await send(json(GOOD), { authorization: `Bearer ${network.sandbox.seller_key}` })
    expect([seller.status, seller.error?.code]).toEqual([401, 'wrong_key_type'])
    const answer = await fetch(`${network.sandbox.api_base_url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: json(GOOD),
    })
    expect(answer.status).toBe(402)
    expect(await answer.json()).toMatchObject({ x402Version: 2, accepts: [], error: 'payment_required' })
  })

  it('C067 C068: a bad min{N} segment is 400, a floor nobody meets 503 with the best discount', async () => {
    for (const segment of ['min101', 'min-1', 'min5.5', 'minabc', 'min05', 'min00', 'min0100', 'min%35']) {
      const sent = await send(json(GOOD), {}, `/${segment}/v1/chat/completions`)
      expect([segment, sent.status, sent.error?.code]).toEqual([segment, 400, 'invalid_minimum_discount'])
    }
    const sent = await send(json(GOOD), {}, '/min100/v1/chat/completions')
    expect([sent.status, sent.error?.code]).toEqual([503, 'minimum_discount_not_met'])
    expect(sent.error?.['best_discount_pct']).toBeGreaterThan(0)
    expect((await send(json(GOOD), {}, '/min5/v1/chat/completions')).status).toBe(200)
  })

  it('C077: other methods are 405, unknown paths 404, OPTIONS 204 with CORS', async () => {
    const url = `${network.sandbox.api_base_url}/v1/chat/completions`
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const answer = await fetch(url, { method })
      expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, 'POST, OPTIONS'])
      Envelope.parse(await answer.json())
    }
    const missing = await fetch(`${network.sandbox.api_base_url}/v1/nothing-here`, { method: 'POST' })
    expect(missing.status).toBe(404)
    const preflight = await fetch(url, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization',
      },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-origin')).toBeTruthy()
    expect(preflight.headers.get('access-control-allow-credentials')).toBeNull()
  })

  it('C082: bytes that are no HTTP end with their connection, and the next call works', async () => {
    for (const raw of [
      'GARBAGE\r\n\r\n',
      'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ]) {
      expect(await rawExchange(raw)).toMatch(/^HTTP\/1\.1 400/)
    }
    expect((await send(json(GOOD))).status).toBe(200)
  })

  it('C093: a request id of the caller is never taken over', async () => {
    const sent = await send(json(GOOD), { 'x-request-id': '01ARZ3NDEKTSV4RRFFQ69G5FAV' })
    expect(sent.headers.get('x-request-id')).not.toBe('01ARZ3NDEKTSV4RRFFQ69G5FAV')
    expect(sent.headers.get('x-request-id')).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/)
  })

  it.each([
    'sandbox/server-error',
    'sandbox/error-in-200',
    'sandbox/html-in-200',
    'sandbox/cut-before-content',
    'sandbox/redirect',
    'sandbox/unauthorized',
    'sandbox/overloaded',
  ])('%s: a provider that fails costs nothing, whole and streamed', async (model) => {
    for (const stream of [false, true]) {
      const sent = await send(json({ ...GOOD, model, stream }))
      expect(sent.status).toBeGreaterThanOrEqual(500)
      expect(sent.headers.get('x-mkt-buyer-cost-micro')).toBe('0')
    }
  })

  it('a lookup of an unknown or foreign id is 404', async () => {
    const answer = await fetch(`${network.sandbox.api_base_url}/v1/requests/01ARZ3NDEKTSV4RRFFQ69G5FAV`, {
      headers: { authorization: `Bearer ${network.sandbox.buyer_key}` },
    })
    expect(answer.status).toBe(404)
    Envelope.parse(await answer.json())
  })

  it('leaves no hold behind', async () => {
    await until('no hold is open', 10_000, async () => (await openHolds()) === 0)
  })
})

/** Sends raw bytes and reads what comes back until the server closes. */
function rawExchange(text: string): Promise<string> {
  const url = new URL(network.sandbox.api_base_url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(url.port), url.hostname, () => socket.write(text))
    let answer = ''
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      answer += chunk
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
  })
}
