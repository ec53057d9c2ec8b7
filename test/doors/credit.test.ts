import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { readConfig } from '#control-plane/config.ts'
import { createControlPlane } from '#control-plane/plane.ts'
import { createServer } from '#control-plane/server.ts'
import { Secret } from '#shared/secret.ts'
import type { Answer, Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, startMarket, trpcCodeOf } from '#test/support/doors/control-plane.ts'

let market: TestMarket
let ada: Person
let operatorKey: string

beforeAll(async () => {
  market = await startMarket({ environment: { ALLOW_INTROSPECTION: '0' } })
  ada = await market.person()
  operatorKey = await market.managementKey('operator')
})
afterAll(() => market.stop())

const Figures = z.object({ credit_balance_usdc: z.string() })
const Graph = z.object({
  data: z.object({
    credit: z.object({ creditBalanceUsdc: z.string() }),
    me: z.object({ creditBalanceUsdc: z.string() }),
  }),
})

/** The spendable balance of a buyer at each door. */
async function balances(person: Person): Promise<string[]> {
  const { buyerKey: key } = person
  const graph = Graph.parse(
    (await market.graphql(key, '{ credit { creditBalanceUsdc } me { creditBalanceUsdc } }')).body,
  )
  return [
    Figures.parse((await market.rest('GET', '/v1/payments/balance', { key })).body).credit_balance_usdc,
    Figures.parse((await market.rest('GET', '/v1/buyer/me', { key })).body).credit_balance_usdc,
    graph.data.credit.creditBalanceUsdc,
    graph.data.me.creditBalanceUsdc,
    (await market.trpc(key).credit.balance.query()).creditBalanceUsdc,
    (await market.trpc(key).buyer.me.query()).creditBalanceUsdc,
  ]
}

describe('credit', () => {
  it('is granted by an operator once a ticket, and every door shows the same balance at once', async () => {
    expect(new Set(await balances(ada))).toEqual(new Set(['0']))
    const grant = { wallet: ada.wallet, amountUsd: 12.345678, ticket: 'T-1', note: 'welcome' }
    const granted = await market.trpc(operatorKey).credit.grant.mutate(grant)
    expect(granted).toMatchObject({ account: ada.buyer.account, amountMicro: '12345678', isRepeat: false })
    expect(new Set(await balances(ada))).toEqual(new Set(['12345678']))
    expect((await market.trpc(operatorKey).credit.grant.mutate(grant)).isRepeat).toBe(true)
    expect(await trpcCodeOf(market.trpc(operatorKey).credit.grant.mutate({ ...grant, amountUsd: 1 }))).toBe('conflict')
    expect(new Set(await balances(ada))).toEqual(new Set(['12345678']))
    const lines = await market.trpc(ada.buyerKey).credit.entries.query({})
    expect(lines.items.map((line) => [line.kind, line.amountMicro, line.note])).toEqual([
      ['grant', '12345678', 'welcome'],
    ])
  })

  it('is read from the ledger while the gate has lost it', async () => {
    const cleo = await market.person()
    const grant = { wallet: cleo.wallet, amountUsd: 12.345678, ticket: 'T-3', note: 'test' }
    await market.trpc(operatorKey).credit.grant.mutate(grant)
    await market.world.stopRebuilder()
    try {
      await market.world.redis.flushall()
      expect(new Set(await balances(cleo))).toEqual(new Set(['12345678']))
    } finally {
      market.world.startRebuilder()
    }
  })

  it('can be granted only by operators', async () => {
    const grant = { wallet: ada.wallet, amountUsd: 1, ticket: 'T-2', note: 'test' }
    const attempts: [key: string | undefined, code: string][] = [
      [undefined, 'authentication_required'],
      [ada.buyerKey, 'wrong_key_type'],
      [ada.sellerKey, 'wrong_key_type'],
      [await market.managementKey('org'), 'forbidden'],
      ['mkt_mgmt_nonsense', 'invalid_api_key'],
    ]
    for (const [key, code] of attempts) {
      expect(await trpcCodeOf(market.trpc(key).credit.grant.mutate(grant))).toBe(code)
      expect(await trpcCodeOf(market.trpc(key).user.create.mutate({ wallet: ada.wallet }))).toBe(code)
    }
  })

  it('is shown to its buyer only', async () => {
    const bob = await market.person()
    expect(new Set(await balances(bob))).toEqual(new Set(['0']))
    for (const [key, code] of [
      [ada.sellerKey, 'wrong_key_type'],
      [undefined, 'authentication_required'],
    ] as const) {
      for (const path of ['/v1/buyer/me', '/v1/payments/balance', '/v1/buyer/keys', '/v1/requests']) {
        const answer = await market.rest('GET', path, key === undefined ? {} : { key })
        expect([path, answer.status, codeOf(answer)]).toEqual([path, 401, code])
      }
      expect(codeOf(await market.graphql(key, '{ me { wallet } }'))).toBe(code)
      expect(codeOf(await market.graphql(key, '{ creditEntries(first: 1) { edges { cursor } } }'))).toBe(code)
      expect(await trpcCodeOf(market.trpc(key).credit.balance.query())).toBe(code)
    }
  })

  it('uses the /v1 envelope on the buyer side', async () => {
    const answer = await market.rest('GET', '/v1/buyer/me', { key: 'inf_bad' })
    expect(answer.status).toBe(401)
    const { error, request_id } = z
      .object({
        error: z.object({ type: z.string(), code: z.string(), message: z.string(), request_id: z.string() }),
        request_id: z.string(),
      })
      .parse(answer.body)
    expect([error.type, error.code, error.request_id]).toEqual(['authentication_error', 'invalid_api_key', request_id])
    expect(answer.headers.get('x-request-id')).toBe(request_id)
    const unknown = await market.rest('GET', '/v1/requests/01ARZ3NDEKTSV4RRFFQ69G5FAV', { key: ada.buyerKey })
    expect([unknown.status, codeOf(unknown)]).toEqual([404, 'not_found'])
  })

  it('accepts one Authorization header, and a key from no other place', async () => {
    for (const header of ['Basic abc', ada.buyerKey, 'Bearer', `Bearer ${ada.buyerKey} x`]) {
      const answer = await market.rest('GET', '/v1/buyer/me', { headers: { authorization: header } })
      expect([header.slice(0, 8), codeOf(answer)]).toEqual([header.slice(0, 8), 'invalid_api_key'])
    }
    const query = await market.rest('GET', `/v1/buyer/me?api_key=${ada.buyerKey}`)
    expect(codeOf(query)).toBe('authentication_required')
  })
})

const ask = (query: string, variables?: object) => market.graphql(ada.sellerKey, query, variables)
const chain = (links: number) =>
  Array.from(
    { length: links },
    (_, at) => `fragment f${at} on Query { ${at === links - 1 ? '__typename' : `...f${at + 1}`} }`,
  )
    .concat('{ ...f0 }')
    .join(' ')
const nested = (depth: number) => `{ ${'node(id:"x"){ '.repeat(depth)} id ${'}'.repeat(depth)} }`
const status = async (answer: Promise<Answer>) => (await answer).status

describe('GraphQL', () => {
  it.each([
    ['depth 9', nested(9)],
    ['depth 200', nested(200)],
    ['fragments within fragments', `{ ${'... { '.repeat(9)} __typename ${'}'.repeat(9)} }`],
    ['a chain of fragments', chain(9)],
    ['a fragment that spreads itself', 'fragment A on Query { ...A } { ...A }'],
    ['a cycle of fragments', 'fragment A on Query { ...B } fragment B on Query { ...A } { ...A }'],
    ['16 aliases', `{ ${Array.from({ length: 16 }, (_, at) => `a${at}: viewer { kind }`).join(' ')} }`],
    ['1,000 aliases', `mutation { ${Array.from({ length: 1_000 }, (_, at) => `a${at}: deleteOffer(id:"x") { id }`)} }`],
    ['11 root fields by a fragment', `fragment A on Query { ${'viewer { kind } '.repeat(11)} } { ...A }`],
    ['a field 500 times', `{ viewer { ${'kind '.repeat(500)} } }`],
    ['21 directives', `{ viewer { kind ${'@include(if: true) '.repeat(21)} } }`],
    ['a page of a million', '{ offers(first: 1000000) { edges { cursor } } }'],
    ['a document of 17 KB', `{ viewer { kind } } # ${'x'.repeat(17_000)}`],
    ['an unknown field', '{ nothing }'],
    ['no document', ''],
    ['half a document', '{ viewer {'],
  ])('refuses %s with 400', async (_case, query) => {
    expect(await status(ask(query))).toBe(400)
  })

  it.each([
    ['first -1', '{ offers(first: -1) { edges { cursor } } }'],
    ['first null', '{ offers(first: null) { edges { cursor } } }'],
    ['no page size', '{ offers { edges { cursor } } }'],
    ['a page backwards', '{ offers(last: 3) { edges { cursor } } }'],
    ['an invalid cursor', '{ offers(first: 3, after: "x") { edges { cursor } } }'],
  ])('refuses %s', async (_case, query) => {
    expect(codeOf(await ask(query))).toBe('invalid_request')
  })

  it('refuses variables of the wrong type', async () => {
    const query = 'query($first: Int!) { offers(first: $first) { edges { cursor } } }'
    for (const first of ['1', 2 ** 53, 1.5, null, {}, undefined]) expect(await status(ask(query, { first }))).toBe(400)
    expect(await status(ask(query, { first: 1, extra: 'x'.repeat(1_100_000) }))).toBe(413)
    // A name of the prototype is an ordinary name here and leads to no value.
    const body = `{"query":${JSON.stringify(query)},"variables":{"__proto__":{"first":1},"constructor":{"first":1}}}`
    expect(await status(market.rest('POST', '/graphql', { key: ada.sellerKey, body }))).toBe(400)
    for (const from of [-1, -(2 ** 63), 2 ** 53]) {
      const series = 'query($from: Float) { marketSeries(from: $from) { calls } }'
      expect(codeOf(await ask(series, { from }))).toBe('invalid_request')
    }
    expect(await status(market.rest('POST', '/graphql', { body: [{ query: '{ viewer { kind } }' }] }))).toBe(400)
    expect(await status(market.rest('GET', '/graphql?query={viewer{kind}}'))).toBe(200)
    const form = { body: 'query={viewer{kind}}', headers: { 'content-type': 'application/x-www-form-urlencoded' } }
    expect(await status(market.rest('POST', '/graphql', form))).toBe(415)
  })

  it('hides the cause of an internal error', async () => {
    const broken = await startMarket({
      overrides: { limiter: () => Promise.reject(new Error('select canary from secrets')) },
    })
    try {
      const { sellerKey: key } = await broken.person()
      const answers = [
        await broken.graphql(key, '{ offers(first: 1) { edges { cursor } } }'),
        await broken.rest('GET', '/v1/seller/offers', { key }),
        await broken.rest('GET', '/trpc/offer.list', { key }),
      ]
      for (const answer of answers) {
        expect(answer.text).toContain('internal_error')
        expect(answer.text).not.toMatch(/canary|select|\.ts:|node_modules/)
      }
    } finally {
      await broken.stop()
    }
  })

  it('shows its schema in development, and in production neither the schema nor a suggestion', async () => {
    expect(await status(ask('{ __schema { queryType { name } } }'))).toBe(200)
    const config = { ...market.plane.config, allowsIntrospection: false }
    const server = await createServer({ ...market.plane, config })
    const url = await server.listen({ host: '127.0.0.1', port: 0 })
    try {
      for (const query of [
        '{ __schema { queryType { name } } }',
        '{ __type(name: "Offer") { name } }',
        '{ viewr { kind } }',
      ]) {
        const headers = { 'content-type': 'application/json' }
        const answer = await fetch(`${url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })
        expect(answer.status).toBe(400)
        expect(await answer.text()).not.toMatch(/Did you mean|"viewer"|queryType":/)
      }
    } finally {
      await server.close()
    }
  })
})

describe('tRPC', () => {
  const get = (path: string) => status(market.rest('GET', path, { key: ada.sellerKey }))

  it('refuses large batches, batches of mutations and inputs that are not JSON, before it identifies the caller', async () => {
    expect(await get(`/trpc/${'offer.list,'.repeat(10)}offer.list?batch=1&input={}`)).toBe(400)
    expect(await get(`/trpc/${'offer.list%2C'.repeat(10)}offer.list?batch=1&input={}`)).toBe(400)
    expect(await get(`/trpc/${','.repeat(5_000)}?batch=1`)).toBeGreaterThanOrEqual(400)
    expect(await get('/trpc/offer.list?input={')).toBe(400)
    expect(await get('/trpc/offer.list?input=%7B%22maxItems%22%3A1%7D')).toBe(200)
    const post = (path: string, body: unknown) => status(market.rest('POST', path, { key: ada.sellerKey, body }))
    expect(await post('/trpc/offer.delete,offer.delete?batch=1', { 0: { id: 'a' }, 1: { id: 'b' } })).toBe(400)
    // A long query may come as a body. A mutation never comes as a query.
    expect(await post('/trpc/offer.list', {})).toBe(200)
    expect(await get('/trpc/offer.delete')).toBe(405)
    expect(await get('/trpc/nothing')).toBe(404)
    const form = { key: ada.sellerKey, body: 'x', headers: { 'content-type': 'multipart/form-data; boundary=x' } }
    expect(await status(market.rest('POST', '/trpc/offer.delete', form))).toBe(415)
  })
})

describe('the control plane without its database', () => {
  it('every door answers to try again, and only the liveness check passes', async () => {
    const { databaseUrl: _, ...config } = market.plane.config
    const plane = createControlPlane({ ...config, databaseUrl: new Secret('postgres://nobody@127.0.0.1:1/none') })
    const server = await createServer(plane)
    const url = await server.listen({ host: '127.0.0.1', port: 0 })
    const headers = { authorization: `Bearer ${ada.buyerKey}`, 'content-type': 'application/json' }
    try {
      const answers = await Promise.all([
        fetch(`${url}/v1/buyer/me`, { headers }),
        fetch(`${url}/graphql`, { method: 'POST', headers, body: '{"query":"{ me { wallet } }"}' }),
        fetch(`${url}/trpc/buyer.me`, { headers }),
      ])
      for (const answer of answers) {
        expect([answer.url.slice(url.length), answer.status]).toEqual([answer.url.slice(url.length), 503])
        expect(await answer.text()).toContain('service_unavailable')
        expect(answer.headers.get('retry-after')).toBe('1')
      }
      expect((await fetch(`${url}/health/ready`)).status).toBe(503)
      expect((await fetch(`${url}/health/live`)).status).toBe(200)
    } finally {
      await server.close()
      await plane.close()
    }
  })
})

describe('the configuration', () => {
  const good = {
    DATABASE_URL: 'postgres://u:canary@127.0.0.1/x',
    REDIS_URL: 'redis://127.0.0.1',
    KEY_PEPPER: 'p'.repeat(32),
    FINGERPRINT_PEPPER: 'f'.repeat(32),
    SESSION_SECRET: 's'.repeat(32),
    CREDENTIAL_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
  }

  it('names missing or wrong variables and shows no value', () => {
    expect(inspect(readConfig(good), { depth: 9 })).not.toMatch(/canary|pppp|ssss/)
    for (const name of Object.keys(good)) {
      expect(() => readConfig({ ...good, [name]: undefined })).toThrow(name)
      expect(() => readConfig({ ...good, [name]: 'canary' })).toThrow(new RegExp(`^(?!.*canary)[^]*${name}`))
    }
  })

  it('refuses development switches in production, where the schema is hidden', () => {
    expect(() => readConfig({ ...good, NODE_ENV: 'production', ALLOW_LOOPBACK_UPSTREAMS: '1' })).toThrow(/production/)
    expect(readConfig({ ...good, NODE_ENV: 'production' }).allowsIntrospection).toBe(false)
    expect(readConfig(good).allowsIntrospection).toBe(true)
  })
})
