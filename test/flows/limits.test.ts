import type { IncomingMessage } from 'node:http'
import { request } from 'node:http'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Network } from '#test/support/market/network.ts'
import { startNetwork } from '#test/support/market/network.ts'
import { askRaw, rawGet, statusIn } from '#test/support/market/raw-http.ts'
import { until } from '#test/support/run/until.ts'

const MOST_CALLS = 3
const MOST_CONNECTIONS = 60
const WORK_PER_MINUTE = 400
let network: Network
let url: URL
const open: { destroy(): void }[] = []

beforeAll(async () => {
  network = await startNetwork({
    MAX_OPEN_CALLS: String(MOST_CALLS),
    MAX_CONNECTIONS_PER_ADDRESS: String(MOST_CONNECTIONS),
    ADDRESS_WORK_PER_MINUTE: String(WORK_PER_MINUTE),
  })
  url = new URL(network.sandbox.api_base_url)
})
afterEach(() => {
  for (const each of open.splice(0)) each.destroy()
})
afterAll(() => network?.remove())

const GOOD = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'hi' }] }
const PAID = { ...GOOD, model: 'gpt-5-mini', max_tokens: 16 }

function call(body: object, key = network.sandbox.buyer_key): Promise<Response> {
  return fetch(new URL('/v1/chat/completions', url), {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

/** Sends a call that announces a body and sends none. Returns the head of the answer. */
function announce(bytes: number): Promise<{ status: number; headers: IncomingMessage['headers'] }> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: url.hostname,
        port: url.port,
        method: 'POST',
        path: '/v1/chat/completions',
        agent: false,
        headers: {
          authorization: `Bearer ${network.sandbox.buyer_key}`,
          'content-type': 'application/json',
          'content-length': bytes,
        },
      },
      (answer) => {
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers })
        answer.resume()
      },
    )
    open.push(sent)
    sent.on('error', reject)
    sent.flushHeaders()
  })
}

/** Starts calls that stay open until the test ends, because their provider never answers. */
async function fill(count: number): Promise<void> {
  const body = JSON.stringify({ ...GOOD, model: 'sandbox/hang', stream: true })
  const headers = { authorization: `Bearer ${network.sandbox.buyer_key}`, 'content-type': 'application/json' }
  for (let each = 0; each < count; each++) {
    const stop = new AbortController()
    open.push({ destroy: () => stop.abort() })
    const { signal } = stop
    void fetch(new URL('/v1/chat/completions', url), { method: 'POST', signal, headers, body }).catch(() => undefined)
  }
  await until('this many calls are open', 10_000, async () => (await call(GOOD)).status === 503)
}

describe('overload', () => {
  it('is refused with 503 and Retry-After before any byte of its body; reads go on', async () => {
    await fill(MOST_CALLS)
    for (let each = 0; each < 20; each++) {
      const { status, headers } = await announce(30_000_000)
      expect([status, headers['retry-after']]).toEqual([503, '1'])
      expect(headers['x-request-id']).toMatch(/^[0-9A-Z]{26}$/)
    }
    const refused = await call(GOOD)
    const { error } = z.object({ error: z.record(z.string(), z.unknown()) }).parse(await refused.json())
    expect([refused.status, error['code'], error['limit_source']]).toEqual([503, 'overloaded', 'process'])
    for (const path of ['/v1/models', '/api/markets', '/health/live', '/health/ready', '/metrics']) {
      expect([path, (await fetch(new URL(path, url))).status]).toEqual([path, 200])
    }
  })

  it('ends when the calls end', async () => {
    await until('calls are accepted again', 10_000, async () => (await call(GOOD)).status === 200)
  })
})

describe('limits of a connection', () => {
  it('[F45] an address has a limited number of connections, and calls go on', async () => {
    const sockets: Socket[] = []
    for (let each = 0; each < MOST_CONNECTIONS * 2; each++) {
      const socket = connect(Number(url.port), url.hostname)
      socket.on('error', () => undefined)
      sockets.push(socket)
      open.push(socket)
    }
    await until(
      'the other connections are closed',
      10_000,
      () => sockets.filter((each) => !each.destroyed).length <= MOST_CONNECTIONS,
    )
    for (const socket of sockets) socket.destroy()
    await until('calls go on', 10_000, async () => (await call(GOOD)).status === 200)
  })

  it('long heads and targets are refused', async () => {
    const { sandbox } = network
    const lines = Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`x-line-${at}`, '1']))
    const answer = await fetch(new URL('/v1/models', url), { headers: lines })
    expect(answer.status).toBe(431)
    const long = await fetch(new URL('/v1/models', url), { headers: { cookie: 'c'.repeat(17_000) } })
    expect(long.status).toBe(431)
    expect((await fetch(`${sandbox.api_base_url}/v1/models?q=${'q'.repeat(9_000)}`)).status).toBe(400)
  })
})

describe('work that is refused', () => {
  const paid = (headers: Record<string, string>) =>
    fetch(new URL('/v1/chat/completions', url), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(PAID),
    })
  const bad = { authorization: `Bearer inf_${'x'.repeat(40)}` }
  type Ask = (headers: Record<string, string>) => Promise<Response>
  const works: Readonly<Record<string, Ask>> = {
    'unknown paths': (headers) => fetch(new URL('/v1/nothing', url), { headers }),
    'prices that are never paid': (headers) => paid(headers),
    'malformed keys': (headers) => paid({ ...headers, ...bad }),
    'malformed payments': (headers) => paid({ ...headers, 'payment-signature': 'e30=' }),
    'look-ups without a key': (headers) => fetch(new URL('/v1/key', url), { headers }),
    'wrong queries of public reads': (headers) => fetch(new URL('/api/markets?no=1', url), { headers }),
  }

  it.each(Object.entries(works).map(([name, ask], at) => [name, ask, at] as const))(
    'of %s is counted to the address, up to a limit with Retry-After; a key behind the address goes on',
    async (_name, ask, at) => {
      // Loopback is a trusted proxy, so each of these has an address of its own.
      const address = { 'x-forwarded-for': `198.51.100.${at + 1}` }
      let last: Response | undefined
      // A minute may begin meanwhile.
      for (let each = 0; each < 2 * WORK_PER_MINUTE + 2 && last?.status !== 429; each++) {
        last = await ask(address)
        if (last.status !== 429) await last.text()
      }
      expect(last?.status).toBe(429)
      expect(await last?.text()).toContain('address_work')
      const seconds = Number(last?.headers.get('retry-after'))
      expect(seconds).toBeGreaterThanOrEqual(1)
      expect(seconds).toBeLessThanOrEqual(60)
      expect((await paid({ ...address, authorization: `Bearer ${network.sandbox.buyer_key}` })).status).toBe(200)
      expect((await paid({ 'x-forwarded-for': `203.0.113.${at + 1}` })).status).toBe(402)
    },
  )
})

describe('readiness', () => {
  it('counts proxies that are missing in the list of trusted ones', async () => {
    const ready = await fetch(new URL('/health/ready', url), { headers: { 'x-forwarded-for': '198.51.100.1' } })
    expect(await ready.json()).toEqual({ status: 'ready', untrusted_proxies: 0 })
  })
})

describe('the rate of a key', () => {
  it('is shown on every answer and on the refusal, with the time of its end', async () => {
    const made = await fetch(new URL('/v1/buyer/keys', url), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${network.sandbox.buyer_key}`,
        'content-type': 'application/json',
        'idempotency-key': 'limits-1',
      },
      body: JSON.stringify({ label: 'slow', rate_limit_rpm: 2 }),
    })
    const { key } = z.object({ key: z.string() }).parse(await made.json())
    const seen: unknown[] = []
    let last: Response | undefined
    // A minute may begin between two calls. Of six calls three fall into one minute.
    for (let each = 0; each < 6 && last?.status !== 429; each++) {
      last = await call(GOOD, key)
      seen.push([last.status, last.headers.get('x-ratelimit-limit'), last.headers.get('x-ratelimit-remaining')])
      await last.text()
    }
    expect(seen).toContainEqual([200, '2', '0'])
    expect(seen.at(-1)).toEqual([429, '2', '0'])
    expect(Number(last?.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(Number(last?.headers.get('x-ratelimit-reset'))).toBeGreaterThan(Date.now() / 1_000 - 1)
  })

  it('is not used up by calls that the market could not serve', async () => {
    const made = await fetch(new URL('/v1/buyer/keys', url), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${network.sandbox.buyer_key}`,
        'content-type': 'application/json',
        'idempotency-key': 'limits-2',
      },
      body: JSON.stringify({ label: 'patient', rate_limit_rpm: 3 }),
    })
    const { key } = z.object({ key: z.string() }).parse(await made.json())
    const turn = async (isOn: boolean) => {
      const body = JSON.stringify({ name: 'paid_calls', isOn, reason: 'drill' })
      const headers = { authorization: `Bearer ${network.sandbox.management_key}`, 'content-type': 'application/json' }
      expect((await fetch(`${network.sandbox.trpc_url}/feature.put`, { method: 'POST', headers, body })).status).toBe(
        200,
      )
    }
    await turn(false)
    await until('calls are refused', 10_000, async () => (await call(PAID)).status === 503)
    for (let refused = 0; refused < 10; refused++) {
      expect((await call(PAID, key)).status).toBe(503)
    }
    await turn(true)
    await until('calls are accepted', 10_000, async () => (await call(PAID)).status === 200)
    expect((await call(PAID, key)).status).toBe(200)
  })
})

type Raw = { readonly path?: string; readonly method?: string; readonly headers?: Record<string, string | string[]> }

/** A valid call, sent exactly as written. No client normalises its path or its headers. */
function raw({ path = '/v1/chat/completions', method = 'POST', headers = {} }: Raw) {
  return new Promise<{ status: number; headers: IncomingMessage['headers']; text: string }>((resolve, reject) => {
    const body = JSON.stringify(GOOD)
    const sent = request(
      {
        host: url.hostname,
        port: url.port,
        method,
        path,
        agent: false,
        headers: {
          authorization: `Bearer ${network.sandbox.buyer_key}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          ...headers,
        },
      },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8')
        answer.on('data', (chunk: string) => {
          text += chunk
        })
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }))
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

describe('paths', () => {
  it.each([
    ['/compat/min05/v1/messages', 400],
    ['/min5/compat/v1/messages', 404],
    ['/compat/v1/min5/messages', 404],
    ['/min5/v1/embeddings', 404],
    ['//v1//chat/completions', 404],
    ['/v1/chat/completions/', 404],
    ['/v1/./chat/completions', 404],
    ['/v1/x/../chat/completions', 404],
    ['/v1/%2e%2e/v1/chat/completions', 404],
    ['/v1/chat/completions;a=b', 404],
    ['/v1/chat/completions%00', 404],
    ['/v1/chat%2fcompletions', 404],
    ['/v1/media/artifacts/job_x/-1', 404],
  ])('%s is %i', async (path, status) => {
    const method = path.startsWith('/v1/media') ? 'GET' : 'POST'
    const answer = await raw({ path, method })
    expect([path, answer.status]).toEqual([path, status])
    expect(answer.text).toContain('request_id')
  })

  it('TRACE echoes nothing, and a repeated key of a query changes nothing', async () => {
    const trace = await raw({ method: 'TRACE', headers: { 'x-canary': 'canary-1' } })
    expect([404, 405, 400, 501]).toContain(trace.status)
    expect(trace.text).not.toContain('canary-1')
    expect((await raw({ path: '/v1/chat/completions?a=1&a=2&model=nope' })).status).toBe(200)
  })
})

describe('headers', () => {
  it('two credentials that differ are refused in either order', async () => {
    const good = `Bearer ${network.sandbox.buyer_key}`
    for (const authorization of [
      [good, 'Bearer inf_wrong'],
      ['Bearer inf_wrong', good],
    ]) {
      expect((await raw({ headers: { authorization } })).status).toBe(400)
    }
    const path = '/compat/v1/messages'
    const both = await raw({ path, headers: { 'x-api-key': network.sandbox.seller_key } })
    expect([400, 401]).toContain(both.status)
  })

  it('hop-by-hop names, upgrades and expectations change nothing, or are 417', async () => {
    for (const headers of [
      { connection: 'authorization, x-request-id' },
      { connection: 'upgrade', upgrade: 'websocket' },
      { connection: 'upgrade', upgrade: 'h2c' },
      { accept: 'image/png' },
      { accept: 'text/event-stream' },
      { 'idempotency-key': 'A, B' },
      { 'anthropic-version': 'garbage', 'anthropic-beta': 'b'.repeat(4_000) },
    ] as Record<string, string>[]) {
      const answer = await raw({ headers })
      expect([headers, answer.status, answer.headers['content-type']]).toEqual([headers, 200, 'application/json'])
    }
    expect((await raw({ headers: { expect: 'something' } })).status).toBe(417)
  })

  it('an origin is answered without credentials, and never reflected', async () => {
    const { headers } = await raw({ headers: { origin: 'https://evil.example' } })
    expect([headers['access-control-allow-origin'], headers['access-control-allow-credentials']]).toEqual([
      '*',
      undefined,
    ])
  })
})

const HOST = 'Host: a.example'
const manyLines = (count: number) => [HOST, ...Array.from({ length: count - 2 }, (_, at) => `X-Line-${at}: 1`)]

/** Heads as bytes on the wire, and the status with which both planes answer. */
type Sent = readonly [what: string, status: number, lines: readonly string[], target?: string]
const HEADS: readonly Sent[] = [
  ['one host', 200, [HOST]],
  ['a host with a port', 200, ['Host: a_b.example:8402']],
  ['an IPv6 address', 200, ['Host: [::1]:80']],
  ['no host', 400, []],
  ['an empty host', 400, ['Host:']],
  ['the same host twice', 400, [HOST, HOST]],
  ['two hosts', 400, [HOST, 'host: b.example']],
  ['a host with user info', 400, ['Host: user:pw@a.example']],
  ['a host of 256 characters', 400, [`Host: ${'a'.repeat(256)}`]],
  ['a host of 300 characters', 400, [`Host: ${'abc.'.repeat(75)}`]],
  ['a host with a path', 400, ['Host: a.example/x']],
  ['a host with a port over 65535', 400, ['Host: a.example:65536']],
  ['two hosts in a line', 400, ['Host: a.example, b.example']],
  ['absolute form', 400, [HOST], 'http://a.example/health/live'],
  ['absolute form of another host', 400, [HOST], 'http://b.example/health/live'],
  ['a target that is no path', 400, [HOST], '*'],
  ['a fragment', 400, [HOST], '/health/live#x'],
  ['a target of 9,000 characters', 400, [HOST], `/health/live?${'q'.repeat(9_000)}`],
  ['a hundred lines', 200, manyLines(100)],
  ['101 lines', 431, manyLines(101)],
  // Node drops lines after the two thousandth, which would hide a second Host.
  ['2,001 lines', 431, manyLines(2_001)],
  ['a head of 17 KB', 431, [HOST, `Cookie: ${'c'.repeat(17_000)}`]],
  ['two credentials', 400, [HOST, 'Authorization: Bearer a', 'authorization: Bearer a']],
  ['two keys', 400, [HOST, 'x-api-key: a', 'X-Api-Key: b']],
  ['two content types', 400, [HOST, 'Content-Type: application/json', 'Content-Type: text/plain']],
  ['two idempotency keys', 400, [HOST, 'Idempotency-Key: a', 'Idempotency-Key: b']],
  ['two lengths', 400, [HOST, 'Content-Length: 0', 'Content-Length: 1']],
  ['a length beside chunks', 400, [HOST, 'Content-Length: 5', 'Transfer-Encoding: chunked']],
  ['a folded line', 400, [HOST, 'X-Folded: a', ' b']],
  ['a blank before the colon', 400, [HOST, 'X-Blank : a']],
]

describe.each(['api_base_url', 'control_plane_url'] as const)('heads at %s', (plane) => {
  it.each(HEADS.map(([what, status, lines, target]) => ({ what, status, lines, target })))(
    '$what: $status',
    async (sent) => {
      const { status, lines, target = '/health/live' } = sent
      expect(statusIn(await askRaw(network.sandbox[plane], rawGet(target, lines)))).toBe(status)
    },
  )

  it('a Connection header takes no credential away', async () => {
    const lines = [HOST, `Authorization: Bearer ${network.sandbox.buyer_key}`, 'Connection: authorization, host']
    for (const path of ['/v1/buyer/me', '/v1/requests']) {
      const answer = await askRaw(network.sandbox[plane], rawGet(path, lines))
      expect([path, statusIn(answer)]).toEqual([path, 200])
    }
  })
})

describe('forwarded paths', () => {
  it.each([
    '/v1/buyer/../../metrics',
    '/v1/buyer/%2e%2e/%2e%2e/metrics',
    '/v1/buyer/..%2f..%2fmetrics',
    '/graphql/../metrics',
    '/v1/buyer/%252e%252e/%252e%252e/metrics',
    '/v1/buyer/..%5c..%5cmetrics',
    '/v1/buyer/..;/..;/metrics',
    '/v1/buyer/..\\..\\metrics',
    '/docs/../metrics',
    '/trpc/..%2fmetrics',
    '/v1/requests/../../metrics',
    '/%761/buyer/me',
  ])('%s leads nowhere', async (path) => {
    const answer = await askRaw(network.sandbox.api_base_url, rawGet(path, [HOST]))
    expect([400, 404]).toContain(statusIn(answer))
    expect(answer).toContain('request_id')
  })
})
