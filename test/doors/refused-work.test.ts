import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { GRAPHQL_PATH } from '#control-plane/api/graphql/door.ts'
import { createRefusedWork } from '#shared/refused-work.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, startMarket } from '#test/support/doors/control-plane.ts'

const PER_MINUTE = 100
let market: TestMarket
let ada: Person

beforeAll(async () => {
  // The minute of this account never ends.
  const refusedWork = createRefusedWork({ clock: { now: () => 30_000 }, perMinute: PER_MINUTE, resetUnitMs: 1 })
  market = await startMarket({ overrides: { refusedWork } })
  ada = await market.person()
})
afterAll(() => market?.stop())

type Ask = (headers: Record<string, string>) => ReturnType<TestMarket['rest']>

const get =
  (path: string): Ask =>
  (headers) =>
    market.rest('GET', path, { headers })
const document =
  (query: string): Ask =>
  (headers) =>
    market.rest('POST', GRAPHQL_PATH, { headers, body: { query } })

/** Kinds of work that strangers can cause, none of which reaches a limit of its own. */
const WORKS: readonly (readonly [name: string, ask: Ask, isOver?: (text: string) => boolean])[] = [
  ['unknown paths', get('/v1/nothing')],
  ['malformed keys', (headers) => market.rest('GET', '/v1/buyer/keys', { headers, key: `inf_${'x'.repeat(40)}` })],
  ['paths that need a key', get('/v1/seller/offers')],
  ['documents that do not parse', document('{')],
  ['documents that the schema refuses', document('{ nothing }')],
  ['documents without an operation', document('{ __typename }')],
  [
    'lists of documents',
    (headers) => market.rest('POST', GRAPHQL_PATH, { headers, body: [{ query: '{ __typename }' }] }),
  ],
  ['unknown tRPC calls in a batch', get(`/trpc/${Array(10).fill('nothing').join(',')}?batch=1`)],
  [
    'unknown sessions',
    (headers) => market.rest('GET', '/v1/buyer/keys', { headers: { ...headers, cookie: 'mkt_session=x' } }),
  ],
]

/** An address of its own for each kind of work. Loopback is a trusted proxy here. */
const from = (at: number) => ({ 'x-forwarded-for': `198.51.100.${at}` })

/** Sends requests until the address has used up its work. */
async function spend(ask: Ask, headers: Record<string, string>) {
  for (let each = 0; each <= PER_MINUTE; each++) {
    const answer = await ask(headers)
    if (answer.status === 429) return answer
  }
  return undefined
}

describe('refused work', () => {
  it.each(WORKS.map((work, at) => [...work, at] as const))(
    'of %s is counted to the address, up to a limit with Retry-After',
    async (...args) => {
      const [ask, at] = [args[1], args.at(-1) as number]
      const refused = await spend(ask, from(at + 1))
      expect(refused?.text).toContain('address_work')
      expect(refused?.headers.get('retry-after')).toBe('30')
    },
  )

  it('is not counted to other addresses, nor to a key behind the same address', async () => {
    const address = from(100)
    expect(await spend(get('/v1/nothing'), address)).toBeDefined()
    expect((await get('/v1/nothing')(from(101))).status).toBe(404)
    for (let each = 0; each < 3; each++) {
      const answer = await market.rest('GET', '/v1/buyer/keys', { key: ada.buyerKey, headers: address })
      expect(answer.status).toBe(200)
      // A refusal to a caller with a key does not count as a stranger's.
      expect(codeOf(await market.rest('GET', '/v1/seller/offers', { key: ada.buyerKey, headers: address }))).toBe(
        'wrong_key_type',
      )
    }
    const asked = await market.rest('POST', GRAPHQL_PATH, {
      key: ada.buyerKey,
      headers: address,
      body: { query: '{ viewer { kind } }' },
    })
    expect(asked.status).toBe(200)
  })

  it('is counted to the network of an IPv6 address, and to the hop that a trusted proxy names', async () => {
    expect(await spend(get('/v1/nothing'), { 'x-forwarded-for': '2001:db8:1:2::1' })).toBeDefined()
    expect((await get('/v1/nothing')({ 'x-forwarded-for': '2001:db8:1:2::2' })).status).toBe(429)
    expect((await get('/v1/nothing')({ 'x-forwarded-for': '2001:db8:1:3::1' })).status).toBe(404)
    // Addresses that a stranger adds before the hop of the proxy change nothing.
    expect((await get('/v1/nothing')({ 'x-forwarded-for': '192.0.2.9, 2001:db8:1:2::3' })).status).toBe(429)
  })

  it('is counted to the key whose documents are refused', async () => {
    const headers = from(102)
    const ask: Ask = (given) =>
      market.rest('POST', GRAPHQL_PATH, { key: ada.sellerKey, headers: given, body: { query: '{ no }' } })
    expect(await spend(ask, headers)).toBeDefined()
    // The address of this caller has caused no refusal.
    expect((await document('{ no }')(headers)).status).toBe(400)
    expect((await market.rest('GET', '/v1/seller/offers', { key: ada.sellerKey, headers })).status).toBe(200)
  })

  it('shows in readiness when it comes from one address behind an untrusted proxy', async () => {
    const behind = await startMarket({ environment: { TRUSTED_PROXIES: '192.0.2.1' } })
    const ready = async () => JSON.parse((await behind.rest('GET', '/health/ready', { headers: from(1) })).text)
    try {
      expect(await ready()).toMatchObject({ status: 'ok', untrusted_proxies: 1 })
      expect(JSON.parse((await get('/health/ready')(from(1))).text)).toMatchObject({ untrusted_proxies: 0 })
    } finally {
      await behind.stop()
    }
  })

  it('does not close health, metrics or the page', async () => {
    const address = from(103)
    expect(await spend(get('/v1/nothing'), address)).toBeDefined()
    for (const path of ['/health/live', '/metrics', '/docs']) {
      expect([path, (await get(path)(address)).status]).toEqual([path, 200])
    }
  })
})
