import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { transact } from '#control-plane/db/database.ts'
import { sweepFormerSecrets } from '#control-plane/services/keys/former-secrets.ts'
import { publishWaitingKeys } from '#control-plane/services/keys/key-store.ts'
import { purgeSignIns } from '#control-plane/services/retention/purge-expired.ts'
import { hashApiKey } from '#shared/api-key.ts'
import { HOUR, MINUTE } from '#shared/clock.ts'
import { KeyRecordSchema } from '#shared/contract/key-record.ts'
import { cacheKeys } from '#shared/contract/redis-keys.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, startMarket } from '#test/support/doors/control-plane.ts'
import { newWallet, OUR_ORIGIN, sessionHeaders, signInForSession } from '#test/support/doors/wallet.ts'
import { until } from '#test/support/run/until.ts'

const WAIT_MS = 10_000

let market: TestMarket

beforeAll(async () => {
  market = await startMarket()
})
afterAll(() => market?.stop())

type Headers = Record<string, string>
const Opened = z.strictObject({ key_id: z.string(), secret: z.string(), expires_at: z.number() })
const Keys = z.object({
  keys: z.array(z.object({ id: z.string(), kind: z.string(), cap_daily_usd: z.number().nullable() }).loose()),
})
const Made = z.object({ id: z.string() })

const post = (headers: Headers, body: unknown = {}) => market.rest('POST', '/v1/auth/playground', { headers, body })
const open = async (headers: Headers) => Opened.parse((await post(headers)).body)
const keysOf = async (headers: Headers) =>
  Keys.parse((await market.rest('GET', '/v1/buyer/keys', { headers })).body).keys
const change = (headers: Headers, id: string, body: object) =>
  market.rest('PATCH', `/v1/buyer/keys/${id}`, { headers, body })

async function signInByKey(key: string): Promise<Headers> {
  return sessionHeaders(await market.rest('POST', '/v1/auth/key-session', { body: { key } }))
}

/** The record of a secret in the store of the data plane. */
async function published(secret: string) {
  const hash = hashApiKey(secret, market.plane.settings.keyPepper)
  const text = await market.world.redis.hget(cacheKeys.keys, hash)
  return text === null ? undefined : KeyRecordSchema.parse(JSON.parse(text))
}

/** True while a data plane lets a secret pay. */
async function pays(secret: string): Promise<boolean> {
  await publishWaitingKeys(market.plane)
  const record = await published(secret)
  if (record === undefined || record.isRevoked) return false
  return record.expiresAt === null || record.expiresAt > market.plane.clock.now()
}

describe('a session of a user', () => {
  it('pays with one capped key of kind playground, which its owner sees and changes, and which stays capped', async () => {
    const headers = await signInForSession(market, newWallet())
    const [first, second] = [await open(headers), await open(headers)]
    expect([first.key_id, first.secret]).toEqual([second.key_id, expect.stringMatching(/^inf_\w+$/)])
    expect(second.secret).not.toBe(first.secret)
    expect(first.expires_at - market.plane.clock.now()).toBeLessThanOrEqual(HOUR)
    const [key] = await keysOf(headers)
    expect(key).toMatchObject({ id: first.key_id, kind: 'playground', label: 'Playground', cap_daily_usd: 1 })
    expect(await published(first.secret)).toMatchObject({
      id: first.key_id,
      isRevoked: false,
      capDailyMicro: 1_000_000n,
      expiresAt: first.expires_at,
    })
    expect((await change(headers, first.key_id, { cap_daily_usd: 0.25 })).status).toBe(200)
    for (const secret of [first.secret, second.secret]) {
      expect(await published(secret)).toMatchObject({ capDailyMicro: 250_000n })
    }
    for (const body of [{ cap_daily_usd: null }, { expires_at: market.plane.clock.now() + HOUR }]) {
      expect(codeOf(await change(headers, first.key_id, body))).toBe('invalid_request')
    }
    const rotate = { headers: { ...headers, 'idempotency-key': 'rotate' }, body: {} }
    expect(codeOf(await market.rest('POST', `/v1/buyer/keys/${first.key_id}/rotate`, rotate))).toBe('conflict')
    expect(await pays(first.secret)).toBe(true)
  })

  it('has at most five such secrets, and tabs that open them at once share one key', async () => {
    const headers = await signInForSession(market, newWallet())
    const opened = await Promise.all(Array.from({ length: 8 }, () => open(headers)))
    expect(new Set(opened.map(({ key_id }) => key_id)).size).toBe(1)
    const alive = await Promise.all(opened.map(({ secret }) => pays(secret)))
    expect(alive.filter((each) => each)).toHaveLength(5)
    const last = await open(headers)
    expect(await pays(last.secret)).toBe(true)
    expect((await keysOf(headers)).length).toBe(1)
  })

  it('loses them at sign-out, at the next sign-in, at its expiry, and within the hour', async () => {
    const wallet = newWallet()
    const leaving = await signInForSession(market, wallet)
    const staying = await signInForSession(market, wallet)
    const [left, stayed] = [await open(leaving), await open(staying)]
    expect(left.key_id).toBe(stayed.key_id)
    expect((await market.rest('DELETE', '/v1/auth/session', { headers: leaving })).status).toBe(204)
    expect([await pays(left.secret), await pays(stayed.secret)]).toEqual([false, true])
    market.advance(HOUR - MINUTE)
    expect(await pays(stayed.secret)).toBe(true)
    market.advance(MINUTE)
    expect(await pays(stayed.secret)).toBe(false)
    expect(await sweepFormerSecrets(market.plane)).toBeGreaterThanOrEqual(2)
    expect([await published(left.secret), await published(stayed.secret)]).toEqual([undefined, undefined])

    const expiring = await open(staying)
    const soon = new Date(market.plane.clock.now() + MINUTE)
    await sql`update web_session set expires_at = ${soon} where user_id =
      (select user_id from api_key where id = ${expiring.key_id})`.execute(market.plane.db)
    const short = await open(staying)
    expect(short.expires_at).toBe(soon.getTime())
    market.advance(MINUTE)
    expect(await purgeSignIns(market.plane)).toBeGreaterThan(0)
    expect(await pays(expiring.secret)).toBe(false)
    expect(codeOf(await post(staying))).toBe('invalid_session')
  })

  it('opens a new key once its own was revoked, which ends the open secrets', async () => {
    const headers = await signInForSession(market, newWallet())
    const former = await open(headers)
    expect((await market.rest('DELETE', `/v1/buyer/keys/${former.key_id}`, { headers })).status).toBe(204)
    expect(await pays(former.secret)).toBe(false)
    const next = await open(headers)
    expect([next.key_id === former.key_id, await pays(next.secret)]).toEqual([false, true])
  })

  it('has this key in addition to 25 others', async () => {
    const headers = await signInForSession(market, newWallet())
    for (let made = 0; made < 25; made++) {
      const body = { label: `key ${made}` }
      expect((await market.rest('POST', '/v1/buyer/keys', { headers, body })).status).toBe(201)
    }
    expect(await pays((await open(headers)).secret)).toBe(true)
  })
})

describe('a session of a key', () => {
  it('pays with that key itself: its caps, its models and its count apply', async () => {
    const ada = await market.person()
    const own = { label: 'small', cap_daily_usd: 0.5, models_allowed: ['gpt-test'] }
    const made = await market.rest('POST', '/v1/buyer/keys', { key: ada.buyerKey, body: own })
    const { id, key } = Made.extend({ key: z.string() }).parse(made.body)
    const headers = await signInByKey(key)
    const opened = await open(headers)
    expect(opened.key_id).toBe(id)
    expect(await published(opened.secret)).toMatchObject({ id, capDailyMicro: 500_000n, modelsAllowed: ['gpt-test'] })
    // A limited key changes none of its limits, with its session or without.
    expect(codeOf(await change(headers, id, { cap_daily_usd: 9 }))).toBe('forbidden')
    await market.rest('PATCH', `/v1/buyer/keys/${id}`, { key: ada.buyerKey, body: { cap_daily_usd: 0.1 } })
    expect(await published(opened.secret)).toMatchObject({ capDailyMicro: 100_000n })
    expect((await market.rest('DELETE', '/v1/auth/key-session', { headers })).status).toBe(204)
    expect([await pays(opened.secret), await pays(key)]).toEqual([false, true])
    const again = await signInByKey(key)
    const last = await open(again)
    expect((await market.rest('DELETE', `/v1/buyer/keys/${id}`, { key: ada.buyerKey })).status).toBe(204)
    expect(await pays(last.secret)).toBe(false)
    expect(codeOf(await post(again))).toBe('invalid_session')
  })

  it('pays no longer than its key', async () => {
    const { buyerKey } = await market.person()
    const ends = market.plane.clock.now() + 10 * MINUTE
    const body = { label: 'short', expires_at: ends }
    const made = await market.rest('POST', '/v1/buyer/keys', { key: buyerKey, body })
    const { key } = z.object({ key: z.string() }).parse(made.body)
    expect((await open(await signInByKey(key))).expires_at).toBe(ends)
  })

  it('of a seller or of an operator cannot pay', async () => {
    const { sellerKey } = await market.person()
    expect(codeOf(await post(await signInByKey(sellerKey)))).toBe('wrong_key_type')
    expect(codeOf(await post(await signInByKey(await market.managementKey('operator'))))).toBe('wrong_key_type')
  })
})

describe('a member of an organisation', () => {
  it('pays with the current workspace, and no longer once the member is removed or may only read', async () => {
    const [owner, member] = [newWallet(), newWallet()]
    const boss = await signInForSession(market, owner)
    const headers = await signInForSession(market, member)
    const make = async (path: string, body: object, by = boss) =>
      Made.parse((await market.rest('POST', path, { headers: by, body })).body).id
    const organization = await make('/v1/organizations', { name: 'Team' })
    const workspace = await make(`/v1/organizations/${organization}/workspaces`, { name: 'Main' })
    const invited = { wallet: member.address, role: 'developer' }
    const invitation = await make(`/v1/organizations/${organization}/invitations`, invited)
    await market.rest('POST', `/v1/invitations/${invitation}/accept`, { headers, body: {} })
    const entered = { ...headers, 'x-mkt-workspace': workspace }
    const [inside, outside] = [await open(entered), await open(headers)]
    expect(inside.key_id).not.toBe(outside.key_id)
    const accounts = [(await published(inside.secret))?.account, (await published(outside.secret))?.account]
    expect(accounts[0]).not.toBe(accounts[1])
    const { user } = z
      .object({ user: z.string() })
      .parse((await market.rest('GET', '/v1/auth/session', { headers })).body)
    const path = `/v1/organizations/${organization}/members/${user}`
    const reads = await market.rest('PATCH', path, { headers: boss, body: { role: 'viewer' } })
    expect(reads.status).toBe(200)
    expect([await pays(inside.secret), await pays(outside.secret)]).toEqual([false, true])
    expect(codeOf(await post(entered))).toBe('forbidden')
  })
})

describe('the path of the playground', () => {
  it('is closed to keys, to strangers and to pages of other sites', async () => {
    const { buyerKey } = await market.person()
    const byKey = await market.rest('POST', '/v1/auth/playground', { key: buyerKey, body: {} })
    expect([byKey.status, codeOf(byKey)]).toEqual([403, 'forbidden'])
    expect(codeOf(await post({}))).toBe('authentication_required')
    const { cookie = '' } = await signInForSession(market, newWallet())
    for (const from of [
      {},
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
      { 'sec-fetch-site': 'same-site' },
    ]) {
      const answer = await post({ cookie, ...from })
      expect([answer.status, codeOf(answer), answer.text.includes('inf_')]).toEqual([403, 'forbidden', false])
    }
    // A page of another origin with an earlier request is refused too, so no script of it reads an answer.
    const preflight = await fetch(`${market.url}/v1/auth/playground`, {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    })
    expect(preflight.headers.get('access-control-allow-origin')).toBeNull()
    const good = await post({ cookie, origin: OUR_ORIGIN })
    expect([good.status, good.headers.get('access-control-allow-origin')]).toEqual([201, null])
    expect(codeOf(await market.rest('GET', '/v1/auth/playground', { headers: { cookie } }))).not.toBe(undefined)
  })

  it('opens secrets that no account path accepts, and stores none of them', async () => {
    const headers = await signInForSession(market, newWallet())
    const { secret, key_id } = await open(headers)
    for (const path of ['/v1/buyer/me', '/v1/buyer/keys', '/v1/seller/offers']) {
      expect(codeOf(await market.rest('GET', path, { key: secret }))).toBe('invalid_api_key')
    }
    expect(codeOf(await market.rest('POST', '/v1/auth/key-session', { body: { key: secret } }))).toBe('invalid_api_key')
    expect(codeOf(await market.rest('POST', '/v1/auth/codes', { key: secret, body: {} }))).toBe('invalid_api_key')
    const audit = await sql`select * from audit_log where subject = ${key_id}`.execute(market.plane.db)
    expect(audit.rows).toHaveLength(1)
    const stored = await sql`select * from key_session_secret where key_id = ${key_id}`.execute(market.plane.db)
    expect(JSON.stringify([audit.rows, stored.rows])).not.toContain(secret.slice(0, 20))
  })

  it('gives no secret to a session that ends meanwhile', async () => {
    const headers = await signInForSession(market, newWallet())
    const { key_id } = await open(headers)
    const { opening } = await transact(market.plane.db, async (trx) => {
      await sql`delete from web_session where user_id = (select user_id from api_key where id = ${key_id})`.execute(trx)
      const asked = post(headers)
      await untilOneWaits()
      return { opening: asked }
    })
    const answer = await opening
    expect([answer.status, codeOf(answer)]).toEqual([401, 'invalid_session'])
  })
})

/** Returns once a call waits for a lock. */
const untilOneWaits = () =>
  until('the call waits', WAIT_MS, async () => {
    const { rows } = await sql`select from pg_stat_activity where datname = current_database()
      and wait_event_type = 'Lock'`.execute(market.plane.db)
    return rows.length === 1
  })
