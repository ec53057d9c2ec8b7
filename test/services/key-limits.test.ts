import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ROWS } from '#control-plane/api/rest/door.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { sweepFormerSecrets } from '#control-plane/services/keys/former-secrets.ts'
import { updateBuyerKey } from '#control-plane/services/keys/key-limits.ts'
import { restoreKeyStore } from '#control-plane/services/keys/key-store.ts'
import { createBuyerKey } from '#control-plane/services/keys/keys.ts'
import { hashApiKey } from '#shared/api-key.ts'
import { DAY, HOUR, SECOND, systemClock } from '#shared/clock.ts'
import { KeyRecordSchema } from '#shared/contract/key-record.ts'
import { cacheKeys, moneyKeys } from '#shared/contract/redis-keys.ts'
import type { AccountId, KeyId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'
import type { Node } from '#test/support/books/gate.ts'
import { eventText, reserveRequest, untilOpen } from '#test/support/books/gate.ts'
import { grant, newAccount } from '#test/support/books/ledger.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { codeOf, startMarket, trpcCodeOf } from '#test/support/doors/control-plane.ts'
import { sessionHeaders } from '#test/support/doors/wallet.ts'

let market: TestMarket
let node: Node
let seller: AccountId

beforeAll(async () => {
  market = await startMarket()
  node = await market.world.node('n1')
  await untilOpen(node)
  seller = await newAccount(market.world.db, 'seller_available')
})
afterAll(() => market?.stop())

const idem = () => ({ idempotencyKey: market.plane.ids.ulid() })
const View = z
  .object({
    id: z.string(),
    key: z.string().optional(),
    former_expires_at: z.number().optional(),
    frozen_at: z.number().nullish(),
  })
  .loose()

async function published(key: string) {
  const text = await market.world.redis.hget(cacheKeys.keys, hashApiKey(key, market.plane.settings.keyPepper))
  return text === null ? undefined : KeyRecordSchema.parse(JSON.parse(text))
}

async function newKey(person: Person, terms: object = {}): Promise<{ id: KeyId; secret: string }> {
  const made = await invoke(market.plane, person.buyer, createBuyerKey, { label: 'app', ...terms }, idem())
  if (!isId('key', made.id)) throw new Error('the id is not a key')
  return { id: made.id, secret: made.secret?.reveal() ?? '' }
}

const signInByKey = async (key: string) =>
  sessionHeaders(await market.rest('POST', '/v1/auth/key-session', { body: { key } }))
const patch = (person: Person, id: string, body: object, key = person.buyerKey) =>
  market.rest('PATCH', `/v1/buyer/keys/${id}`, { key, body })
const rotate = (person: Person, id: string, body: object = {}, key = person.buyerKey) =>
  market.rest('POST', `/v1/buyer/keys/${id}/rotate`, {
    key,
    body,
    headers: { 'idempotency-key': market.plane.ids.ulid() },
  })

/** A call of a key, captured and booked. */
async function spend(account: AccountId, keyId: KeyId, amount: number, daily?: number): Promise<void> {
  const given = { want: amount, keyId, ...(daily === undefined ? {} : { daily }) }
  const hold = await node.funds.reserve(reserveRequest(account, given))
  const event = JSON.stringify({ ...JSON.parse(eventText(hold, amount, 'n1')), sellerAccount: seller })
  node.journal.capture(hold, event)
  await node.funds.capture(hold, microUsd(amount), event)
  await postBatch(market.plane, { events: [event], source: 'test' })
}

describe('the models of a buyer key', () => {
  it('must exist, or the key is refused with the nearest name, at every door', async () => {
    const ada = await market.person()
    const message = 'No model has the id gtp-test. Did you mean gpt-test?'
    const input = { label: 'app', modelsAllowed: ['claude-test', 'gtp-test'] }
    const refused = { code: 'invalid_request', message, param: 'modelsAllowed', detail: { suggestion: 'gpt-test' } }
    await expect(invoke(market.plane, ada.buyer, createBuyerKey, input, idem())).rejects.toMatchObject(refused)
    const body = { label: 'app', models_allowed: ['gtp-test'] }
    const rest = await market.rest('POST', '/v1/buyer/keys', { key: ada.buyerKey, body })
    expect([codeOf(rest), rest.text]).toEqual(['invalid_request', expect.stringContaining(message)])
    const graph = await market.graphql(
      ada.buyerKey,
      'mutation { createBuyerKey(input: { label: "app", modelsAllowed: ["gtp-test"] }) { key } }',
    )
    expect(graph.text).toContain(message)
    const { id } = await newKey(ada, { modelsAllowed: ['GPT-test', 'gpt-test-2026-11-20'] })
    const patched = await patch(ada, id, { models_allowed: ['nothing-like-any-model'] })
    expect([codeOf(patched), patched.text]).toEqual([
      'invalid_request',
      expect.stringContaining('No model has the id nothing-like-any-model.'),
    ])
    expect((await patch(ada, id, { models_allowed: ['claude-test'] })).status).toBe(200)
    expect((await patch(ada, id, { label: 'renamed' })).status).toBe(200)
  })
})

describe('a frozen buyer key', () => {
  it('is published as frozen with each of its secrets, and works again with the same limits', async () => {
    const ada = await market.person()
    const { id, secret } = await newKey(ada, { minDiscountPct: 10 })
    const rotated = View.parse((await rotate(ada, id)).body)
    expect((await published(secret))?.isFrozen).toBe(false)
    const frozen = await patch(ada, id, { is_frozen: true })
    expect([frozen.status, frozen.body]).toEqual([200, expect.objectContaining({ frozen_at: expect.any(Number) })])
    for (const one of [secret, rotated.key ?? '']) {
      expect(await published(one)).toMatchObject({ isFrozen: true, isRevoked: false, minDiscountPct: 10 })
    }
    const renamed = await patch(ada, id, { label: 'renamed', cap_daily_usd: 3 })
    expect(View.parse(renamed.body).frozen_at).toBe(View.parse(frozen.body).frozen_at)
    expect(View.parse((await patch(ada, id, { is_frozen: true })).body).frozen_at).toBe(
      View.parse(frozen.body).frozen_at,
    )
    expect(View.parse((await patch(ada, id, { is_frozen: false })).body).frozen_at).toBeNull()
    expect(await published(secret)).toMatchObject({ isFrozen: false, minDiscountPct: 10, capDailyMicro: 3_000_000n })
  })

  it('opens no account path, so it cannot unfreeze itself, nor does a browser that it signed in', async () => {
    const ada = await market.person()
    const { id, secret } = await newKey(ada)
    const headers = await signInByKey(secret)
    const unfreeze = { is_frozen: false }
    expect((await market.rest('GET', '/v1/buyer/me', { headers })).status).toBe(200)
    await patch(ada, id, { is_frozen: true })
    expect(codeOf(await patch(ada, id, unfreeze, secret))).toBe('key_frozen')
    expect(codeOf(await market.rest('PATCH', `/v1/buyer/keys/${id}`, { headers, body: unfreeze }))).toBe(
      'invalid_session',
    )
    const signIn = market.rest('POST', '/v1/auth/key-session', { body: { key: secret } })
    expect(codeOf(await signIn)).toBe('key_frozen')
    await patch(ada, id, unfreeze)
    expect((await market.rest('GET', '/v1/buyer/me', { headers })).status).toBe(200)
  })
})

describe('the limits of a buyer key', () => {
  it('are changed one by one, published at once, and removed by null', async () => {
    const ada = await market.person()
    const { id, secret } = await newKey(ada, { minDiscountPct: 10 })
    const end = market.plane.clock.now() + HOUR
    const limits = {
      label: 'renamed',
      expires_at: end,
      min_discount_pct: 25,
      providers_blocked: ['test'],
      allow_untrusted: true,
      cap_daily_usd: 1.5,
      cap_monthly_usd: 20,
      rate_limit_rpm: 30,
      models_allowed: ['gpt-test'],
    }
    const changed = await patch(ada, id, limits)
    expect([changed.status, changed.body]).toEqual([200, expect.objectContaining({ id, ...limits })])
    expect(await published(secret)).toMatchObject({
      expiresAt: end,
      minDiscountPct: 25,
      providersBlocked: ['test'],
      allowsUntrusted: true,
      capDailyMicro: 1_500_000n,
      capMonthlyMicro: 20_000_000n,
      ratePerMinute: 30,
      modelsAllowed: ['gpt-test'],
    })
    await patch(ada, id, { cap_daily_usd: null, models_allowed: null, expires_at: null, providers_blocked: [] })
    expect(await published(secret)).toMatchObject({
      expiresAt: null,
      minDiscountPct: 25,
      providersBlocked: [],
      capDailyMicro: null,
      capMonthlyMicro: 20_000_000n,
      modelsAllowed: null,
    })
  })

  it("are refused when they make no sense, for unknown fields, for another account's keys and for revoked keys", async () => {
    const [ada, eve] = [await market.person(), await market.person()]
    const { id } = await newKey(ada)
    for (const body of [
      { min_discount_pct: 101 },
      { min_discount_pct: 1.5 },
      { cap_daily_usd: 0 },
      { cap_daily_usd: '5' },
      { cap_monthly_usd: -1 },
      { cap_daily_usd: 0.0000001 },
      { rate_limit_rpm: 0 },
      { models_allowed: [] },
      { expires_at: 1 },
      { label: '' },
      { owner_id: 'usr_1' },
      { revoked_at: null },
    ]) {
      expect([body, codeOf(await patch(ada, id, body))]).toEqual([body, 'invalid_request'])
    }
    expect(codeOf(await patch(eve, id, { label: 'mine' }))).toBe('not_found')
    expect(codeOf(await patch(eve, id, { cap_daily_usd: 1 }))).toBe('not_found')
    expect(codeOf(await rotate(eve, id))).toBe('not_found')
    expect(codeOf(await patch(ada, 'key_nope', { label: 'x' }))).toBe('not_found')
    await market.rest('DELETE', `/v1/buyer/keys/${id}`, { key: ada.buyerKey })
    expect([codeOf(await patch(ada, id, { label: 'x' })), codeOf(await rotate(ada, id))]).toEqual([
      'conflict',
      'conflict',
    ])
  })

  it('cannot be raised by a key that has limits of its own', async () => {
    const ada = await market.person()
    const [bounded, free] = [await newKey(ada, { capDailyUsd: 1 }), await newKey(ada)]
    expect(codeOf(await patch(ada, bounded.id, { cap_daily_usd: 9 }, bounded.secret))).toBe('forbidden')
    expect(codeOf(await patch(ada, free.id, { label: 'x' }, bounded.secret))).toBe('forbidden')
    expect(codeOf(await rotate(ada, free.id, {}, bounded.secret))).toBe('forbidden')
    const more = { key: bounded.secret, body: { label: 'more' }, headers: { 'idempotency-key': 'more' } }
    expect(codeOf(await market.rest('POST', '/v1/buyer/keys', more))).toBe('forbidden')
    const revoke = (id: string) => market.rest('DELETE', `/v1/buyer/keys/${id}`, { key: bounded.secret })
    expect(codeOf(await revoke(free.id))).toBe('forbidden')
    expect((await rotate(ada, bounded.id, {}, bounded.secret)).status).toBe(200)
    expect((await revoke(bounded.id)).status).toBe(204)
  })

  it('allow the key to buy and read, and refuse it the settings of the whole account', async () => {
    const ada = await market.person()
    const { secret: key } = await newKey(ada, { modelsAllowed: ['gpt-test'] })
    const refused = ROWS.filter(({ access }) => access === 'buyer-account')
    expect(new Set(refused.map(({ operation }) => operation))).toEqual(
      new Set([
        'allowance.close',
        'allowance.open',
        'allowance.sign',
        'buyer-key.create',
        'buyer-key.update',
        'own-provider.create',
        'own-provider.remove',
        'preferences.put',
        'sample-credit.take',
        'webhook.create',
        'webhook.remove',
        'webhook.rotate-secret',
        'webhook.test',
        'webhook.update',
      ]),
    )
    for (const { method, path } of refused) {
      const answer = await market.rest(method, path.replace(/:\w+/, 'x'), { key, body: {} })
      expect([path, answer.status, codeOf(answer)]).toEqual([path, 403, 'forbidden'])
    }
    const mutation = 'mutation { putPreferences(allowUntrusted: true) { allowUntrusted } }'
    expect(codeOf(await market.graphql(key, mutation))).toBe('forbidden')
    expect(await trpcCodeOf(market.trpc(key).preferences.put.mutate({ allowUntrusted: true }))).toBe('forbidden')
    for (const path of ['me', 'keys', 'preferences', 'providers', 'webhooks', 'usage', 'statements']) {
      expect((await market.rest('GET', `/v1/buyer/${path}`, { key })).status).toBe(200)
    }
  })

  it("count the key's use from before its cap", async () => {
    const ada = await market.person()
    await grant(market.world.db, ada.buyer.account, 100_000)
    const [balance] = await market.plane.ledger.findBalances([ada.buyer.account])
    await market.plane.gate.seed([
      { account: ada.buyer.account, balanceMicro: microUsd(balance?.balance ?? 0n), version: balance?.version ?? 1n },
    ])
    const { id } = await newKey(ada)
    await spend(ada.buyer.account, id, 700)
    await spend(ada.buyer.account, id, 60)
    expect((await patch(ada, id, { cap_daily_usd: 0.001 })).status).toBe(200)
    expect(await market.world.redis.hget(moneyKeys.keyUse('m00', id), 'du')).toBe('760')
    await spend(ada.buyer.account, id, 200, 1_000)
    const refused = node.funds.reserve(reserveRequest(ada.buyer.account, { want: 100, keyId: id, daily: 1_000 }))
    await expect(refused).rejects.toMatchObject({ code: 'key_cap_reached', detail: { spent_usdc: '960' } })
  })

  it('need the gate for a new cap, and stay unchanged while the gate is away', async () => {
    const ada = await market.person()
    const { id, secret } = await newKey(ada)
    const away = { ...market.plane.gate, markUse: () => Promise.reject(new Error('away')) }
    const refused = invoke({ ...market.plane, gate: away }, ada.buyer, updateBuyerKey, { id, capDailyUsd: 1 })
    await expect(refused).rejects.toThrow()
    expect((await published(secret))?.capDailyMicro).toBeNull()
  })

  it('are the same at all three doors', async () => {
    const ada = await market.person()
    const { id } = await newKey(ada)
    const query = `mutation($id: ID!, $input: UpdateBuyerKeyInput!) {
      updateBuyerKey(id: $id, input: $input) { id label terms { capDailyUsd minDiscountPct } } }`
    const made = await market.graphql(ada.buyerKey, query, { id, input: { capDailyUsd: 2.5 } })
    expect(made.body).toEqual({
      data: { updateBuyerKey: { id, label: 'app', terms: { capDailyUsd: 2.5, minDiscountPct: null } } },
    })
    const trpc = market.trpc(ada.buyerKey, { 'idempotency-key': 'rotation' })
    expect((await trpc.buyerKey.update.mutate({ id, minDiscountPct: 5 })).terms).toMatchObject({ capDailyUsd: 2.5 })
    expect((await trpc.buyerKey.rotate.mutate({ id })).key).toMatch(/^inf_/)
    expect((await trpc.buyerKey.rotate.mutate({ id })).key).toBeNull()
    expect(await trpcCodeOf(trpc.buyerKey.update.mutate({ id: 'key_nope' }))).toBe('not_found')
  })
})

describe('a rotated key', () => {
  it('has two secrets for a time, one id and one count, on both planes', async () => {
    const ada = await market.person()
    const { id, secret } = await newKey(ada, { capDailyUsd: 1 })
    const answer = await rotate(ada, id, { window_seconds: 3_600 })
    const rotated = View.parse(answer.body)
    const now = market.plane.clock.now()
    expect([answer.status, rotated.id]).toEqual([200, id])
    expect(rotated.former_expires_at).toBeGreaterThan(now + 3_500 * SECOND)
    const fresh = rotated.key ?? ''
    expect(fresh).not.toBe(secret)
    const [before, after] = [await published(secret), await published(fresh)]
    expect([before?.id, after?.id, before?.expiresAt, after?.expiresAt]).toEqual([
      id,
      id,
      rotated.former_expires_at,
      null,
    ])
    expect(after?.capDailyMicro).toBe(1_000_000n)
    for (const key of [secret, fresh]) expect((await market.rest('GET', '/v1/buyer/me', { key })).status).toBe(200)
    market.advance(2 * HOUR)
    expect((await market.rest('GET', '/v1/buyer/me', { key: secret })).status).toBe(401)
    expect((await market.rest('GET', '/v1/buyer/me', { key: fresh })).status).toBe(200)
  })

  it('is revoked with all its secrets, and changed with all of them', async () => {
    const ada = await market.person()
    const { id, secret } = await newKey(ada)
    const fresh = View.parse((await rotate(ada, id)).body).key ?? ''
    await patch(ada, id, { rate_limit_rpm: 3 })
    expect([(await published(secret))?.ratePerMinute, (await published(fresh))?.ratePerMinute]).toEqual([3, 3])
    await market.rest('DELETE', `/v1/buyer/keys/${id}`, { key: ada.buyerKey })
    for (const key of [secret, fresh]) {
      expect((await published(key))?.isRevoked).toBe(true)
      expect((await market.rest('GET', '/v1/buyer/me', { key })).status).toBe(401)
    }
  })

  it('replaces its secret at once with a window of zero, and limits its window and its secrets', async () => {
    const ada = await market.person()
    const { id, secret } = await newKey(ada)
    const fresh = View.parse((await rotate(ada, id, { window_seconds: 0 })).body).key ?? ''
    expect((await market.rest('GET', '/v1/buyer/me', { key: secret })).status).toBe(401)
    expect((await market.rest('GET', '/v1/buyer/me', { key: fresh })).status).toBe(200)
    for (const seconds of [-1, 1.5, (7 * DAY) / SECOND + 1, '60']) {
      expect(codeOf(await rotate(ada, id, { window_seconds: seconds }))).toBe('invalid_request')
    }
    for (let times = 0; times < 5; times++) expect((await rotate(ada, id)).status).toBe(200)
    expect(codeOf(await rotate(ada, id))).toBe('conflict')
  })

  it('loses the old secret for good when the window is over, also in the key store', async () => {
    const ada = await market.person()
    const { id, secret } = await newKey(ada)
    const fresh = View.parse((await rotate(ada, id, { window_seconds: 3_600 })).body).key ?? ''
    const later = (ms: number) => ({ ...market.plane, clock: { ...systemClock, now: () => systemClock.now() + ms } })
    const end = market.plane.clock.now() - systemClock.now()
    await sweepFormerSecrets(later(end))
    expect((await published(secret))?.id).toBe(id)
    expect(await sweepFormerSecrets(later(end + HOUR + SECOND))).toBeGreaterThanOrEqual(1)
    expect([await published(secret), (await published(fresh))?.id]).toEqual([undefined, id])
    expect((await market.rest('GET', '/v1/buyer/me', { key: secret })).status).toBe(401)
    await market.world.redis.del(cacheKeys.keys, cacheKeys.keysVersion)
    await restoreKeyStore(market.plane)
    expect([await published(secret), (await published(fresh))?.id]).toEqual([undefined, id])
    expect(await sweepFormerSecrets(later(end + HOUR + SECOND))).toBe(0)
  })

  it('is restored whole after the key store was lost, and shows no secret twice', async () => {
    const ada = await market.person()
    const { id, secret } = await newKey(ada)
    const path = `/v1/buyer/keys/${id}/rotate`
    const headers = { 'idempotency-key': 'once' }
    const first = await market.rest('POST', path, { key: ada.buyerKey, body: {}, headers })
    const again = await market.rest('POST', path, { key: ada.buyerKey, body: {}, headers })
    const fresh = View.parse(first.body).key ?? ''
    expect([again.status, View.parse(again.body).key]).toEqual([200, undefined])
    const bare = await market.rest('POST', `/v1/buyer/keys/${(await newKey(ada)).id}/rotate`, { key: ada.buyerKey })
    expect([bare.status, View.parse(bare.body).key]).toEqual([200, expect.stringMatching(/^inf_/)])
    await market.world.redis.del(cacheKeys.keys, cacheKeys.keysVersion)
    await patch(ada, id, { label: 'again' })
    expect([(await published(secret))?.id, (await published(fresh))?.id]).toEqual([id, id])
    const { rows } = await sql<{ text: string }>`select to_jsonb(k)::text || coalesce(to_jsonb(f)::text, '') as text
      from api_key k left join key_former_secret f on f.key_id = k.id`.execute(market.world.db)
    const digest = createHash('sha256').update(fresh).digest('hex')
    for (const { text } of rows) for (const canary of [secret, fresh, digest]) expect(text).not.toContain(canary)
  })
})
