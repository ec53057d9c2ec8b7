import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { newApiKey } from '#shared/api-key.ts'
import type { Network } from '#test/support/market/network.ts'
import { sharedNetwork } from '#test/support/market/network.ts'
import { until } from '#test/support/run/until.ts'

const GOOD = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'hi' }] }
let network: Network
let heldBefore: readonly string[]
let redis: Redis

beforeAll(async () => {
  network = await sharedNetwork()
  redis = new Redis(network.sandbox.redis_url)
  heldBefore = await openHolds()
})

afterAll(async () => {
  redis?.disconnect()
})

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

/** The headers about a call that was refused before its body was read. */
const costOf = (headers: Headers) => ({
  status: headers.get('x-mkt-marketplace-status'),
  attempts: headers.get('x-mkt-marketplace-attempts'),
  cost: headers.get('x-mkt-buyer-cost-micro'),
})

/** The calls with an open hold. Jobs of other files keep theirs until they end. */
async function openHolds(): Promise<readonly string[]> {
  const keys = await redis.keys('*:z:exp:*')
  return (await Promise.all(keys.map((key) => redis.zrange(key, 0, -1)))).flat()
}

const row = (name: string, body: string): [row: string, body: string] => [name, body]
const REFUSED: [row: string, body: string][] = [
  ['', '{'],
  ['', ''],
  ['trailing comma', '{"model":"gpt-5-mini",}'],
  ['single quotes', "{'model':'x'}"],
  ['comment', '{/* */"model":"x"}'],
  ['NaN', '{"model":"gpt-5-mini","temperature":NaN}'],
  ['Infinity', '{"model":"gpt-5-mini","temperature":Infinity}'],
  ['hex', '{"model":"gpt-5-mini","max_tokens":0x10}'],
  ['NUL in the model', json({ ...GOOD, model: 'gpt-5-mini\u0000' })],
  ['__proto__ at top level', `{"__proto__":{"x":1},"model":"gpt-5-mini","messages":[]}`],
  ['depth', '['.repeat(100_000)],
  ['model missing', json({ messages: GOOD.messages })],
  ...[null, '', 5, {}, []].map((model) => row(`model ${json(model)}`, json({ ...GOOD, model }))),
  ['unknown model', json({ ...GOOD, model: 'nope' })],
  ['messages missing', json({ model: GOOD.model })],
  ...[
    {},
    [],
    [null],
    ['x'],
    [{ role: 'root', content: 'x' }],
    [{ content: 'x' }],
    [{ role: 'user', content: 5 }],
    [{ role: 'user', content: {} }],
  ].map((messages) => row(`messages ${json(messages)}`, json({ ...GOOD, messages }))),
  ...[0, -1, 1.5, '5', 2 ** 53, 1e308].map((value) => row(`max_tokens ${value}`, json({ ...GOOD, max_tokens: value }))),
  ...['hot', -1, 3].map((value) => row(`temperature ${value}`, json({ ...GOOD, temperature: value }))),
  ['top_p', json({ ...GOOD, top_p: 2 })],
  ['stop of 10,000', json({ ...GOOD, stop: Array.from({ length: 10_000 }, () => 'x') })],
  ...['true', 1].map((value) => row(`stream ${json(value)}`, json({ ...GOOD, stream: value }))),
  ['n 0', json({ ...GOOD, n: 0 })],
  ['n 1000', json({ ...GOOD, n: 1000 })],
  ['tools no array', json({ ...GOOD, tools: {} })],
  ['image url {}', json({ ...GOOD, messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] })],
  [
    'image by file id',
    json({ ...GOOD, messages: [{ role: 'user', content: [{ type: 'image_file', file_id: 'file-1' }] }] }),
  ],
  ['a member that names an address', json({ ...GOOD, api_base: 'https://elsewhere.example/v1' })],
  ['a member that names a credential', json({ ...GOOD, extra_body: { api_key: 'x' } })],
  ['provider', json({ ...GOOD, provider: 'nope' })],
  ['providers_blocked {}', json({ ...GOOD, providers_blocked: {} })],
  ...[101, -1, 'abc', 5.5, '05', 1e9, true].map((value) =>
    row(`min_discount_pct ${value}`, json({ ...GOOD, min_discount_pct: value })),
  ),
]

describe('bad input is refused in the envelope, without a hold and without a charge', () => {
  it.each(REFUSED)('%s', async (_row, body) => {
    const sent = await send(body)
    expect(sent.status).toBe(400)
    expect(sent.error?.type).toBe('invalid_request_error')
  })

  it('other charsets, encodings and types are 415', async () => {
    for (const headers of [
      { 'content-type': 'application/json; charset=utf-16le' },
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/xml' },
      { 'content-encoding': 'gzip' },
    ]) {
      const sent = await send(json(GOOD), headers)
      expect(sent.status).toBe(415)
      expect(costOf(sent.headers)).toEqual({ status: 'filtered', attempts: '0', cost: '0' })
    }
    expect((await send(json(GOOD), { 'content-type': 'application/json; charset=utf-8' })).status).toBe(200)
  })

  it.each([
    ['UTF-16 declared as JSON', Buffer.from(json(GOOD), 'utf16le'), {}, 400],
    ['UTF-7', json(GOOD), { 'content-type': 'application/json; charset=utf-7' }, 415],
    ['umlauts in Latin 1', Buffer.from('{"a":"\xfc"}', 'latin1'), {}, 400],
    ['Latin 1', json(GOOD), { 'content-type': 'application/json; charset=iso-8859-1' }, 415],
    ['gzip', gzipSync(json(GOOD)), { 'content-encoding': 'gzip' }, 415],
    ['a gzip bomb', gzipSync(Buffer.alloc(20_000_000)), { 'content-encoding': 'gzip' }, 415],
    ['half of a gzip body', gzipSync(json(GOOD)).subarray(0, 30), { 'content-encoding': 'gzip' }, 415],
    ['twice', gzipSync(gzipSync(json(GOOD))), { 'content-encoding': 'gzip, gzip' }, 415],
    ['a form', json(GOOD), { 'content-type': 'multipart/form-data; boundary=x' }, 415],
    ['an unknown charset', json(GOOD), { 'content-type': 'application/json;charset=x' }, 415],
    ['a string of 10 MB', json({ ...GOOD, messages: [{ role: 'user', content: 'x'.repeat(1e7) }] }), {}, 413],
  ])('%s', async (_row, body, headers, status) => {
    const bytes = typeof body === 'string' ? body : new Uint8Array(body)
    expect((await send(bytes, headers)).status).toBe(status)
  })

  it('odd but harmless input is answered as usual', async () => {
    const tool = '{"type":"function","function":{"name":"f","parameters":{"__proto__":{"x":1},"type":"object"}}}'
    for (const body of [
      `\ufeff${json(GOOD)}`,
      '{"model":"gpt-5-mini","messages":[{"role":"user","content":"\\ud800 \\u0000"}],"stop":"\\u0000","user":"\\u0000"}',
      `{"tools":[${tool}],${json(GOOD).slice(1)}`,
      `{"max_tokens":5,"max_tokens":9,${json(GOOD).slice(1)}`,
    ]) {
      const whole = await send(body)
      expect([body.slice(0, 40), whole.status]).toEqual([body.slice(0, 40), 200])
      JSON.parse(whole.text)
    }
  })

  it('duplicate keys have one value everywhere', async () => {
    const sent = await send('{"model":"nope","model":"sandbox/echo","messages":[{"role":"user","content":"hi"}]}')
    expect(sent.status).toBe(200)
    expect(JSON.parse(sent.text).model).toBe('sandbox/echo')
  })

  it('a body over the limit is 413, by its Content-Length and by its bytes', async () => {
    const sent = await send(new Uint8Array(33 * 1024 * 1024).fill(0x20)).catch(() => undefined)
    if (sent) expect([sent.status, costOf(sent.headers).attempts]).toEqual([413, '0'])
    expect((await send(json(GOOD))).status).toBe(200)
  })

  it('wrong keys are 401 in every form, and a missing key is 402 without a charge', async () => {
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
    const accepts = ['upto', 'exact'].map((scheme) => expect.objectContaining({ scheme, network: 'eip155:8453' }))
    expect(await answer.json()).toMatchObject({ x402Version: 2, accepts, error: 'payment_required' })
  })

  it('a malformed min{N} segment is 400, a floor without an offer 503 with the best discount', async () => {
    for (const segment of ['min101', 'min-1', 'min5.5', 'minabc', 'min05', 'min00', 'min007', 'min0100', 'min%35']) {
      const sent = await send(json(GOOD), {}, `/${segment}/v1/chat/completions`)
      expect([segment, sent.status, sent.error?.code]).toEqual([segment, 400, 'invalid_minimum_discount'])
    }
    const sent = await send(json(GOOD), {}, '/min100/v1/chat/completions')
    expect([sent.status, sent.error?.code]).toEqual([503, 'minimum_discount_not_met'])
    expect(sent.error?.['best_discount_pct']).toBeGreaterThan(0)
    expect((await send(json(GOOD), {}, '/min5/v1/chat/completions')).status).toBe(200)
  })

  it('other methods are 405, unknown paths 404, OPTIONS 204 with CORS', async () => {
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

  it('bytes that are not HTTP end with their connection, and the next call works', async () => {
    for (const raw of [
      'GARBAGE\r\n\r\n',
      ...[
        'Content-Length: 5\r\nTransfer-Encoding: chunked',
        'Content-Length: 2\r\nContent-Length: 3',
        'Content-Length: +2',
        'Transfer-Encoding: xchunked',
        'Transfer-Encoding : chunked',
        'X-A: 1\nX-B: 2',
        'X-A: 1\r\n folded',
        'X-A: a\0b',
        'X-A: a\rb',
      ].map((lines) => `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n${lines}\r\n\r\n0\r\n\r\n`),
      'POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}',
    ]) {
      const answer = await rawExchange(raw)
      expect([raw, answer.slice(0, 12)]).toEqual([raw, 'HTTP/1.1 400'])
      expect([raw, answer.match(/^HTTP\/1\.1 /gm)?.length]).toEqual([raw, 1])
    }
    expect((await send(json(GOOD))).status).toBe(200)
  })

  it('a wrong Content-Length, and a body that ends half way, are no calls', async () => {
    const head = (length: number, more = '') =>
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${network.sandbox.buyer_key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${length}\r\n${more}\r\n${json(GOOD)}`
    const short = await rawExchange(head(10))
    expect(new Set(short.match(/^HTTP\/1\.1 \d+/gm))).toEqual(new Set(['HTTP/1.1 400']))
    expect(await rawExchange(head(1_000), 'half')).not.toContain('HTTP/1.1 200')
    expect((await send(json(GOOD))).status).toBe(200)
  })

  it('no content type is 415, two thousand lines of a head 431', async () => {
    const head = 'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n'
    expect(await rawExchange(`${head}\r\n{}`)).toMatch(/^HTTP\/1\.1 415/)
    const lines = Array.from({ length: 2_001 }, (_, at) => `X-${at}: 1\r\n`).join('')
    expect(await rawExchange(`${head}${lines}\r\n{}`)).toMatch(/^HTTP\/1\.1 431/)
  })

  it('ten thousand keys of a query are 400', async () => {
    const query = Array.from({ length: 10_000 }, (_, at) => `k${at}=1`).join('&')
    expect((await send(json(GOOD), {}, `/v1/chat/completions?${query.slice(0, 12_000)}`)).status).toBe(400)
  })

  it('a malformed idempotency key is refused where such keys count, and ignored on inference', async () => {
    for (const key of ['', 'k'.repeat(10_000), '\u00fc', 'A, B']) {
      const headers = { 'idempotency-key': key }
      const made = await send(json({ label: 'x' }), headers, '/v1/buyer/keys')
      expect([key.slice(0, 5), made.status]).toEqual([key.slice(0, 5), 400])
      expect((await send(json(GOOD), headers)).status).toBe(200)
    }
  })

  it('a request id from the caller is never used', async () => {
    for (const id of ['r'.repeat(10_000), '%0d%0ax-evil: 1', "'; drop table hold; --"]) {
      const { status, headers } = await send(json(GOOD), { 'x-request-id': id })
      expect([status, headers.get('x-request-id')?.length, headers.get('x-evil')]).toEqual([200, 26, null])
    }
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
  ])('%s: a failing provider costs nothing, whole and streamed', async (model) => {
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

  it('a client that disconnects in the middle is no error of the market, on either plane', async () => {
    const { api_base_url, control_plane_url, buyer_key } = network.sandbox
    const log = () =>
      ['control-plane', 'data-plane']
        .flatMap((name) => readFileSync(`${network.home}/logs/${name}.log`, 'utf8').split('\n'))
        .filter((line) => line.includes('"level":50') || line.includes('TypeError'))
    const before = log()
    for (const origin of [api_base_url, control_plane_url]) {
      for (const path of ['/graphql', '/trpc/credit.balance', '/v1/buyer/keys', '/v1/chat/completions']) {
        const head =
          `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n` +
          `authorization: Bearer ${buyer_key}\r\n`
        await leaveAfter(origin, `${head}content-length: 500\r\n\r\n{"a":`)
        await leaveAfter(origin, `${head}transfer-encoding: chunked\r\n\r\n5\r\n{"a":\r\n`)
        await leaveAfter(origin, `${head}content-length: 2\r\n\r\n{}`)
      }
    }
    // Each plane answers only once it has finished the requests before.
    for (const origin of [api_base_url, control_plane_url]) await fetch(`${origin}/v1/buyer/me`)
    expect(log()).toEqual(before)
  })

  it('leaves no hold behind', async () => {
    const isNew = (rid: string) => !heldBefore.includes(rid)
    await until('no hold is open', 10_000, async () => !(await openHolds()).some(isNew))
  })
})

/** Sends raw bytes and resets the connection once they are under way. */
function leaveAfter(origin: string, text: string): Promise<void> {
  const { port, hostname } = new URL(origin)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(text, () => socket.resetAndDestroy())
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve())
  })
}

/** Sends raw bytes and reads the answer until the server closes. `half` closes the client's side after them. */
function rawExchange(text: string, sent: 'all' | 'half' = 'all'): Promise<string> {
  const url = new URL(network.sandbox.api_base_url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(url.port), url.hostname, () => {
      socket.write(text)
      if (sent === 'half') socket.end()
    })
    let answer = ''
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      answer += chunk
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
  })
}
