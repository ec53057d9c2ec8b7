import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { OperationLimits } from '#control-plane/operation/ctx.ts'
import type { Limiter } from '#control-plane/ports/limits/limiter.ts'
import { createRedisLimiter } from '#control-plane/ports/limits/redis-limiter.ts'
import { purgeSignIns } from '#control-plane/services/retention/purge-expired.ts'
import { DAY, HOUR, systemClock } from '#shared/clock.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, startMarket, trpcCodeOf } from '#test/support/doors/control-plane.ts'
import {
  challengeOf,
  newWallet,
  OUR_ORIGIN,
  sessionHeaders,
  signedChallenge,
  signInForKey,
  signInForSession,
} from '#test/support/doors/wallet.ts'

let market: TestMarket
const wallet = newWallet()

beforeAll(async () => {
  market = await startMarket()
})
afterAll(() => market?.stop())

const me = (headers: Record<string, string>) => market.rest('GET', '/v1/buyer/me', { headers })

describe('a session', () => {
  it('is one cookie for both sides of the market, at every door', async () => {
    const newcomer = newWallet()
    const body = await signedChallenge(market, newcomer)
    const answer = await market.rest('POST', '/v1/auth/session', { body })
    const expected = { wallet: newcomer.address.toLowerCase(), expires_at: expect.any(Number) }
    expect([answer.status, answer.body]).toEqual([201, expect.objectContaining(expected)])
    const set = answer.headers.get('set-cookie') ?? ''
    expect(set).toMatch(/^mkt_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=604800$/)
    expect(answer.text).not.toContain(set.slice('mkt_session='.length, 40))
    const headers = sessionHeaders(answer)
    expect((await me(headers)).body).toMatchObject({ wallet: expected.wallet })
    expect((await market.rest('GET', '/v1/seller/offers', { headers })).body).toEqual({ items: [], next_token: null })
    expect((await market.rest('GET', '/v1/auth/session', { headers })).body).toMatchObject({ wallet: expected.wallet })
    const query =
      '{ viewer { kind wallet } session { wallet } me { wallet } sellerKeys(first: 5) { edges { cursor } } }'
    const graph = await market.rest('POST', '/graphql', { headers, body: { query } })
    expect(graph.body).toEqual({
      data: {
        viewer: { kind: 'session', wallet: expected.wallet },
        session: { wallet: expected.wallet },
        me: { wallet: expected.wallet },
        sellerKeys: { edges: [] },
      },
    })
    expect(await market.trpc(undefined, headers).signIn.session.query()).toMatchObject({ wallet: expected.wallet })
    const key = { 'idempotency-key': 'once' }
    const made = await market.rest('POST', '/v1/buyer/keys', { headers: { ...headers, ...key }, body: { label: 'x' } })
    expect(made.status).toBe(201)
  })

  it('has a __Host- cookie except over http on loopback', async () => {
    const environment = { BASE_URL: 'https://market.example', API_BASE_URL: 'https://api.market.example' }
    const abroad = await startMarket({ environment })
    const signed = await signedChallenge(abroad, wallet)
    expect(signed.message).toContain('api.market.example wants you')
    const answer = await abroad.rest('POST', '/v1/auth/session', { body: signed })
    expect(answer.headers.get('set-cookie')).toMatch(
      /^__Host-mkt_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=604800$/,
    )
    await abroad.stop()
  })

  it('is refused when edited, expired, unused for a day, after logout, and a second time', async () => {
    const refused = async (headers: Record<string, string>) => {
      const answer = await me(headers)
      return [answer.status, codeOf(answer)]
    }
    const headers = await signInForSession(market, wallet)
    const { cookie = '' } = headers
    const invalid = [401, 'invalid_session']
    const flipped = cookie.slice(0, -1) + (cookie.endsWith('A') ? 'E' : 'A')
    expect(await refused({ ...headers, cookie: flipped })).toEqual(invalid)
    expect(await refused({ ...headers, cookie: cookie.slice(0, -1) })).toEqual(invalid)
    expect(await refused({ ...headers, cookie: `${cookie}; ${cookie}` })).toEqual(invalid)
    expect(await refused({ ...headers, cookie: 'mkt_session=' })).toEqual(invalid)
    expect((await me({ ...headers, cookie: `a=b; ${cookie}` })).status).toBe(200)
    const out = await market.rest('DELETE', '/v1/auth/session', { headers })
    expect([out.status, out.headers.get('set-cookie')]).toEqual([204, expect.stringContaining('Max-Age=0')])
    expect(await refused(headers)).toEqual(invalid)
    expect(codeOf(await market.rest('DELETE', '/v1/auth/session', { headers }))).toBe('invalid_session')

    const idle = await signInForSession(market, wallet)
    market.advance(DAY - HOUR)
    expect((await me(idle)).status).toBe(200)
    market.advance(DAY)
    expect(await refused(idle)).toEqual(invalid)
    const old = await signInForSession(market, wallet)
    for (let hours = 0; hours < 7 * 24 - 12; hours += 12) {
      market.advance(12 * HOUR)
      expect((await me(old)).status).toBe(200)
    }
    market.advance(12 * HOUR)
    expect(await refused(old)).toEqual(invalid)
    expect(await purgeSignIns(market.plane)).toBeGreaterThan(0)
  })

  it('is replaced at every sign-in: an earlier cookie of the browser is worthless', async () => {
    const before = await signInForSession(market, wallet)
    const body = await signedChallenge(market, wallet)
    const answer = await market.rest('POST', '/v1/auth/session', { body, headers: before })
    const after = sessionHeaders(answer)
    expect(after['cookie']).not.toBe(before['cookie'])
    expect([(await me(before)).status, (await me(after)).status]).toEqual([401, 200])
    const planted = { cookie: `mkt_session=${'A'.repeat(43)}`, origin: OUR_ORIGIN }
    const fresh = await signedChallenge(market, wallet)
    expect((await market.rest('POST', '/v1/auth/session', { body: fresh, headers: planted })).status).toBe(201)
    expect((await me(planted)).status).toBe(401)
  })

  it("cannot be used by another site's page", async () => {
    const { cookie = '' } = await signInForSession(market, wallet)
    const wrong: Record<string, string>[] = [{ cookie }, { cookie, origin: 'https://evil.example' }]
    for (const headers of [...wrong, { cookie, origin: 'null' }]) {
      const idem = { ...headers, 'idempotency-key': 'evil' }
      const post = await market.rest('POST', '/v1/seller/keys', { headers: idem, body: { label: 'x' } })
      expect([post.status, codeOf(post)]).toEqual([403, 'forbidden'])
      expect(codeOf(await market.rest('DELETE', '/v1/auth/session', { headers }))).toBe('forbidden')
      const query = 'mutation { revokeSellerKey(id: "key_x") { id } }'
      expect(codeOf(await market.rest('POST', '/graphql', { headers, body: { query } }))).toBe('forbidden')
      const call = market.trpc(undefined, headers).sellerKey.create.mutate({ label: 'x' })
      expect(await trpcCodeOf(call)).toBe('forbidden')
    }
    const plain = { cookie, origin: OUR_ORIGIN }
    expect(
      codeOf(await market.rest('POST', '/graphql', { headers: plain, body: { query: '{ me { wallet } }' } })),
    ).toBe('forbidden')
    const signed = await signedChallenge(market, wallet)
    const elsewhere = await market.rest('POST', '/v1/auth/session', {
      body: signed,
      headers: { origin: 'https://evil.example' },
    })
    expect(codeOf(elsewhere)).toBe('forbidden')
    expect(elsewhere.headers.get('set-cookie')).toBeNull()
  })

  it('is ignored beside a key in the same request', async () => {
    const headers = await signInForSession(market, wallet)
    const { key } = await signInForKey(market, newWallet(), 'buyer')
    const both = await market.rest('GET', '/v1/buyer/me', { key, headers })
    expect(both.body).not.toMatchObject({ wallet: wallet.address.toLowerCase() })
    expect(codeOf(await market.rest('GET', '/v1/seller/keys', { key, headers }))).toBe('wrong_key_type')
  })
})

const wide = { perKey: 1_000, perWallet: null }

/** A market whose limits count all calls into one minute of the future, however long the test takes. */
async function startInOneMinute(rateLimits: OperationLimits): Promise<TestMarket> {
  const now = systemClock.now() + HOUR
  let count: Limiter | undefined
  const limiter: Limiter = (scope, limit) => {
    if (count === undefined) throw new Error('there are no counts before the start')
    return count(scope, limit)
  }
  const started = await startMarket({ overrides: { limiter, settings: { rateLimits } } })
  count = createRedisLimiter(started.world.redis, { now: () => now, monotonic: () => 0 })
  return started
}

describe('reads of the page', () => {
  const read = { perKey: 3, perWallet: null }

  it('have four times the limit of a key for a visitor, whose screens make several reads', async () => {
    const strict = await startInOneMinute({ read, write: wide, probe: wide, challenge: wide })
    const screen = () => strict.graphql(undefined, '{ a: rails { rail } b: rails { rail } c: rails { rail } }')
    for (let count = 0; count < 4; count++) expect((await screen()).body).not.toHaveProperty('errors')
    expect((await screen()).text).toContain('rate_limited')
    await strict.stop()
  })

  it('have four times the limit of a key for a session', async () => {
    const strict = await startInOneMinute({ read, write: wide, probe: wide, challenge: wide })
    const body = await signedChallenge(strict, wallet)
    const headers = sessionHeaders(await strict.rest('POST', '/v1/auth/session', { body }))
    const codes = []
    for (let count = 0; count < 13; count++) codes.push(codeOf(await strict.rest('GET', '/v1/buyer/me', { headers })))
    expect(codes.filter((code) => code === 'rate_limited')).toHaveLength(1)
    expect(codes.at(-1)).toBe('rate_limited')
    await strict.stop()
  })
})

describe('signing in', () => {
  it('is the same at every door', async () => {
    const query = `query ($address: String!) { signInChallenge(address: $address) { message expiresAt } }`
    const Graph = z.object({ data: z.object({ signInChallenge: z.object({ message: z.string() }) }) })
    const variables = { address: wallet.address }
    const graph = Graph.parse((await market.graphql(undefined, query, variables)).body).data.signInChallenge
    const trpc = await market.trpc(undefined).signIn.challenge.query({ address: wallet.address })
    const rest = await challengeOf(market, wallet)
    const shape = ({ message }: { message: string }) => message.replace(/(Nonce|Issued At|Expiration Time): .*/g, '$1')
    expect([shape(graph), shape(trpc)]).toEqual([shape(rest), shape(rest)])
    const signature = await wallet.signMessage({ message: trpc.message })
    const made = await market.trpc(undefined).signIn.forBuyerKey.mutate({ message: trpc.message, signature })
    expect((await market.rest('GET', '/v1/buyer/me', { key: made.key ?? '' })).status).toBe(200)
    const mutation = `mutation ($input: SignedMessage!) { signInForSellerKey(input: $input) { key record { id } } }`
    const used = await market.graphql(undefined, mutation, { input: { message: trpc.message, signature } })
    expect(codeOf(used)).toBe('invalid_signature')
    const signed = await signedChallenge(market, wallet)
    expect((await market.graphql(undefined, mutation, { input: signed })).body).toMatchObject({
      data: { signInForSellerKey: { key: expect.stringMatching(/^mkt_seller_/) } },
    })
  })

  it('is counted for each wallet at each address, and its refusal says when to retry', async () => {
    const strict = await startInOneMinute({
      read: wide,
      write: wide,
      probe: wide,
      challenge: { perKey: 3, perWallet: null },
    })
    const ask = (address: string, from = '203.0.113.1') =>
      strict.rest('GET', `/v1/seller/auth/challenge?address=${address}`, { headers: { 'x-forwarded-for': from } })
    const answers = []
    for (let count = 0; count < 4; count++) answers.push(await ask(wallet.address))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429])
    expect(answers[0]?.headers.get('x-ratelimit-remaining')).toBe('2')
    const last = answers[3]
    expect(last?.body).toMatchObject({ error: { code: 'rate_limited', detail: { limit_source: 'address', limit: 3 } } })
    expect([last?.headers.get('x-ratelimit-limit'), Number(last?.headers.get('retry-after'))]).toEqual([
      '3',
      expect.any(Number),
    ])
    expect(Number(last?.headers.get('x-ratelimit-reset'))).toBeGreaterThan(strict.plane.clock.now() / 1_000)
    // A second wallet at this address, and this wallet at a second address, have calls left.
    expect((await ask(newWallet().address)).status).toBe(200)
    expect((await ask(wallet.address, '203.0.113.2')).status).toBe(200)
    // The address comes from the last trusted hop, whatever the caller claims.
    expect((await ask(wallet.address, '203.0.113.9, 203.0.113.1')).status).toBe(429)
    // An address cannot go on with new wallets for ever.
    const others = []
    for (let count = 0; count < 60; count++) others.push((await ask(newWallet().address, '2001:db8::1')).status)
    expect((await ask(newWallet().address, '2001:db8::2')).status).toBe(429)
    expect(new Set(others)).toEqual(new Set([200]))
    await strict.stop()
  })

  it('succeeds with a valid signature, whatever strangers have tried in the name of its wallet', async () => {
    const strict = await startInOneMinute({
      read: wide,
      write: { perKey: 2, perWallet: 100 },
      probe: wide,
      challenge: wide,
    })
    const submit = (body: object) => strict.rest('POST', '/v1/seller/auth/keys', { body })
    const forged = async () => ({ ...(await signedChallenge(strict, wallet)), signature: `0x${'11'.repeat(65)}` })
    const codes = []
    for (let count = 0; count < 4; count++) codes.push(codeOf(await submit(await forged())))
    expect(codes).toEqual(['invalid_signature', 'invalid_signature', 'rate_limited', 'rate_limited'])
    // The address is the same.
    const signedIn = await submit(await signedChallenge(strict, wallet))
    const { key } = z.object({ key: z.string() }).parse(signedIn.body)
    // The use of the wallet's keys makes no difference.
    for (let count = 0; count < 2; count++) await strict.rest('DELETE', '/v1/seller/keys/key_none', { key })
    expect((await submit(await signedChallenge(strict, wallet))).status).toBe(201)
    const third = await submit(await signedChallenge(strict, wallet))
    expect(third.body).toMatchObject({ error: { code: 'rate_limited', detail: { limit_source: 'wallet' } } })
    expect((await submit(await signedChallenge(strict, newWallet()))).status).toBe(201)
    await strict.stop()
  })
})

describe('a session of a key', () => {
  const signIn = (proof: object, headers?: Record<string, string>) =>
    market.rest('POST', '/v1/auth/key-session', { body: proof, ...(headers && { headers }) })
  const viewer = (headers: Record<string, string>) =>
    market.rest('POST', '/graphql', { headers, body: { query: '{ viewer { kind keyId } }' } })
  const kindOf = async (headers: Record<string, string>) => Viewer.parse((await viewer(headers)).body).data.viewer.kind

  it('has the rights of that key only, and its answer has neither key nor token', async () => {
    const { key, id } = await signInForKey(market, newWallet(), 'seller')
    const answer = await signIn({ key })
    expect([answer.status, answer.body]).toEqual([201, expect.objectContaining({ key_id: id, kind: 'seller' })])
    const headers = sessionHeaders(answer)
    for (const secret of [key, headers['cookie']!.slice('mkt_session='.length)])
      expect(answer.text).not.toContain(secret)
    expect((await viewer(headers)).body).toEqual({ data: { viewer: { kind: 'seller', keyId: id } } })
    expect((await market.rest('GET', '/v1/seller/offers', { headers })).status).toBe(200)
    expect(codeOf(await me(headers))).toBe('wrong_key_type')
    const operatorSession = sessionHeaders(await signIn({ key: await market.managementKey('operator') }))
    expect(await kindOf(operatorSession)).toBe('operator')
    const staff = market.trpc(undefined, operatorSession)
    expect((await staff.hold.list.query({})).length).toBe(0)
    // A management key has no user behind it, so the audit names the key.
    const [entry] = (await staff.auditLog.search.query({ operation: 'key-session.create', limit: 1 })).items
    const { keyId } = Viewer.parse((await viewer(operatorSession)).body).data.viewer
    expect(keyId).toMatch(/^key_/)
    expect([entry?.actor, entry?.keyId]).toEqual([keyId, keyId])
  })

  it('ends with its key, with signing out, with another sign-in, and unused for a day', async () => {
    const { key, id } = await signInForKey(market, newWallet(), 'buyer')
    const [first, second] = [sessionHeaders(await signIn({ key })), sessionHeaders(await signIn({ key }))]
    expect((await market.rest('DELETE', '/v1/auth/key-session', { headers: first })).status).toBe(204)
    expect([(await me(first)).status, (await me(second)).status]).toEqual([401, 200])
    const third = sessionHeaders(await signIn({ key }, second))
    expect([codeOf(await me(second)), (await me(third)).status]).toEqual(['invalid_session', 200])
    expect((await market.rest('DELETE', `/v1/buyer/keys/${id}`, { headers: third })).status).toBe(204)
    expect(codeOf(await me(third))).toBe('invalid_session')
    expect(await kindOf(third)).toBe('nobody')
    expect(codeOf(await signIn({ key }))).toBe('invalid_api_key')
    const other = await signInForKey(market, newWallet(), 'buyer')
    const idle = sessionHeaders(await signIn({ key: other.key }))
    market.advance(DAY)
    expect(codeOf(await me(idle))).toBe('invalid_session')
  })

  it('begins with the code of a link: once, in time, and never with a code that a session created', async () => {
    const { key } = await signInForKey(market, newWallet(), 'buyer')
    const make = (body: object = {}, call: object = { key }) => market.rest('POST', '/v1/auth/codes', { ...call, body })
    const { code } = Code.parse((await make()).body)
    const rivals = await Promise.all([signIn({ code }), signIn({ code }), signIn({ code })])
    expect(rivals.map(({ status }) => status).sort()).toEqual([201, 401, 401])
    const winner = rivals.find(({ status }) => status === 201)!
    expect(codeOf(await make({}, { headers: sessionHeaders(winner) }))).toBe('forbidden')
    expect(codeOf(await make({}, {}))).toBe('authentication_required')
    const late = Code.parse((await make({ valid_seconds: 10 })).body)
    market.advance(11_000)
    expect(codeOf(await signIn({ code: late.code }))).toBe('invalid_session')
    for (const proof of [{}, { key, code }, { key: 'inf_nothing' }, { code: 'x' }]) {
      expect((await signIn(proof)).status).toBeGreaterThanOrEqual(400)
    }
    const rows = await market.plane.db.selectFrom('sign_in_code').select('hash').execute()
    expect(rows.map(({ hash }) => hash)).not.toContain(code)
  })

  it("cannot be used by another site's page, according to the browser's headers", async () => {
    const { key } = await signInForKey(market, newWallet(), 'buyer')
    expect(codeOf(await signIn({ key }, { origin: 'https://evil.example' }))).toBe('forbidden')
    const { cookie = '' } = sessionHeaders(await signIn({ key }))
    const post = (headers: Record<string, string>) =>
      market.rest('POST', '/v1/buyer/keys', {
        headers: { cookie, 'idempotency-key': 'a', ...headers },
        body: { label: 'x' },
      })
    expect(codeOf(await post({}))).toBe('forbidden')
    expect(codeOf(await post({ 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }))).toBe('forbidden')
    expect(codeOf(await post({ 'sec-fetch-site': 'same-site' }))).toBe('forbidden')
    expect((await post({ 'sec-fetch-site': 'same-origin', origin: 'http://127.0.0.1:9' })).status).toBe(201)
    const bare = { cookie, origin: OUR_ORIGIN }
    expect(codeOf(await viewer(bare))).toBe('forbidden')
  })
})

const Viewer = z.object({ data: z.object({ viewer: z.object({ kind: z.string(), keyId: z.string().nullable() }) }) })
const Code = z.object({ code: z.string(), expires_at: z.number() })

describe('the limits of an account', () => {
  it('count each key, and all keys and sessions of a wallet together, and name the reached limit', async () => {
    const strict = await startInOneMinute({
      read: wide,
      write: { perKey: 2, perWallet: 3 },
      probe: wide,
      challenge: wide,
    })
    const { buyerKey, sellerKey } = await strict.person()
    const revoke = (key: string, side: string) => strict.rest('DELETE', `/v1/${side}/keys/key_none`, { key })
    const answers = [
      await revoke(buyerKey, 'buyer'),
      await revoke(buyerKey, 'buyer'),
      await revoke(buyerKey, 'buyer'),
      await revoke(sellerKey, 'seller'),
    ]
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 429, 429])
    expect(answers[2]?.body).toMatchObject({ error: { code: 'rate_limited', limit_source: 'key', limit: 2 } })
    expect(answers[3]?.body).toMatchObject({ error: { detail: { limit_source: 'wallet', limit: 3 } } })
    for (const answer of answers.slice(2)) {
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(Number(answer.headers.get('x-ratelimit-reset')) * 1_000).toBeGreaterThan(strict.plane.clock.now())
      expect(answer.headers.get('x-ratelimit-remaining')).toBe('0')
    }
    await strict.stop()
  })
})
