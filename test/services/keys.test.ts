import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { invoke } from '#control-plane/operation/invoke.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { noteKeyUses } from '#control-plane/services/keys/key-seen.ts'
import { publishWaitingKeys, restoreKeyStore } from '#control-plane/services/keys/key-store.ts'
import {
  createBuyerKey,
  createSellerKey,
  listBuyerKeys,
  listSellerKeys,
  revokeBuyerKey,
  revokeSellerKey,
} from '#control-plane/services/keys/keys.ts'
import { authenticate } from '#control-plane/services/sign-in/authenticate.ts'
import { createManagementKey } from '#control-plane/services/users/users.ts'
import { hashApiKey, newApiKey } from '#shared/api-key.ts'
import { HOUR } from '#shared/clock.ts'
import { KeyRecordSchema } from '#shared/contract/key-record.ts'
import { CHANNELS, cacheKeys } from '#shared/contract/redis-keys.ts'
import { ulidTime } from '#shared/ids.ts'
import { usageEvent } from '#test/support/books/usage-events.ts'
import { refusalOf } from '#test/support/bytes/refusal.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { operator, startMarket } from '#test/support/doors/control-plane.ts'
import { until } from '#test/support/run/until.ts'

let market: TestMarket
let ada: Person

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
})
afterAll(() => market.stop())

const idem = () => ({ idempotencyKey: market.plane.ids.ulid() })

/** The record of a key in the data plane's store. */
async function published(key: string) {
  const text = await market.world.redis.hget(cacheKeys.keys, hashApiKey(key, market.plane.settings.keyPepper))
  return text === null ? undefined : KeyRecordSchema.parse(JSON.parse(text))
}

describe('a new key', () => {
  it('works at once on both planes, is shown once, and is listed by its prefix only', async () => {
    const terms = {
      minDiscountPct: 20,
      capDailyUsd: 1.5,
      providersBlocked: ['test'],
      rateLimitRpm: 7,
      allowUntrusted: true,
    }
    const made = await invoke(market.plane, ada.buyer, createBuyerKey, { label: 'app', ...terms }, idem())
    const key = made.secret?.reveal() ?? ''
    expect(await authenticate(market.plane, key)).toMatchObject({ kind: 'buyer', wallet: ada.wallet })
    expect(await published(key)).toMatchObject({
      id: made.id,
      type: 'buyer',
      account: ada.buyer.account,
      isRevoked: false,
      minDiscountPct: 20,
      capDailyMicro: 1_500_000n,
      capMonthlyMicro: null,
      ratePerMinute: 7,
      providersBlocked: ['test'],
      allowsUntrusted: true,
    })
    const { keys } = await invoke(market.plane, ada.buyer, listBuyerKeys, {})
    expect(keys[0]).toMatchObject({ id: made.id, label: 'app', terms })
    expect(JSON.stringify([made, keys])).not.toContain(key.slice(made.keyPrefix.length))
    expect(key.startsWith(made.keyPrefix)).toBe(true)
  })

  it('needs an idempotency key; a repeat returns the record without the secret, and another body is refused', async () => {
    expect((await refusalOf(invoke(market.plane, ada.seller, createSellerKey, { label: 'x' }))).code).toBe(
      'idempotency_key_required',
    )
    const once = idem()
    const first = await invoke(market.plane, ada.seller, createSellerKey, { label: 'x' }, once)
    const again = await invoke(market.plane, ada.seller, createSellerKey, { label: 'x' }, once)
    expect(first.secret).not.toBeNull()
    expect(again).toEqual({ ...first, secret: null })
    expect((await refusalOf(invoke(market.plane, ada.seller, createSellerKey, { label: 'y' }, once))).code).toBe(
      'idempotency_key_reused',
    )
  })

  it('of a buyer needs no idempotency key, and honours one that is sent', async () => {
    const { buyerKey: key } = await market.person()
    const body = { label: 'app' }
    const make = (headers: Record<string, string> = {}) =>
      market.rest('POST', '/v1/buyer/keys', { key, body, headers }).then(({ status, body: made }) => {
        return { status, ...z.object({ id: z.string(), key: z.string().optional() }).parse(made) }
      })
    const [first, second] = [await make(), await make()]
    expect([first.status, first.key, second.status]).toEqual([201, expect.stringMatching(/^inf_/), 201])
    expect(second.id).not.toBe(first.id)
    const once = { 'idempotency-key': 'made-once' }
    const kept = await make(once)
    expect(await make(once)).toEqual({ status: 201, id: kept.id, key: undefined })
  })

  it('is refused beyond 25 active keys of a side, however many requests arrive at once', async () => {
    const eve = await market.person()
    const make = () => invoke(market.plane, eve.seller, createSellerKey, { label: 'many' }, idem())
    const outcomes = await Promise.allSettled(Array.from({ length: 30 }, make))
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(24)
    const error = await refusalOf(make())
    expect([error.code, error.status]).toEqual(['key_limit_reached', 409])
    const { keys } = await invoke(market.plane, eve.seller, listSellerKeys, {})
    await invoke(market.plane, eve.seller, revokeSellerKey, { id: keys[0]?.id ?? '' })
    expect((await make()).secret).not.toBeNull()
    expect((await invoke(market.plane, eve.buyer, listBuyerKeys, {})).keys).toHaveLength(1)
  })

  it('ends at its expiry, which cannot be in the past', async () => {
    const now = market.plane.clock.now()
    const input = { label: 'short', expiresAt: now + HOUR }
    const made = await invoke(market.plane, ada.seller, createSellerKey, input, idem())
    const key = made.secret?.reveal()
    expect((await authenticate(market.plane, key)).kind).toBe('seller')
    market.advance(HOUR)
    expect((await refusalOf(authenticate(market.plane, key))).code).toBe('invalid_api_key')
    const past = { label: 'past', expiresAt: new Date(now).toISOString() }
    expect((await refusalOf(invoke(market.plane, ada.seller, createSellerKey, past, idem()))).code).toBe(
      'invalid_request',
    )
  })
})

describe('revoking', () => {
  it('is final, reaches the data plane at once, and may be repeated', async () => {
    const made = await invoke(market.plane, ada.buyer, createBuyerKey, { label: 'gone' }, idem())
    const key = made.secret?.reveal() ?? ''
    const heard: string[] = []
    const listener = market.world.redis.duplicate()
    await listener.subscribe(CHANNELS.keys)
    listener.on('message', (_channel, message) => heard.push(message))
    const revoked = await invoke(market.plane, ada.buyer, revokeBuyerKey, { id: made.id })
    expect(revoked.revokedAt).not.toBeNull()
    const again = await invoke(market.plane, ada.buyer, revokeBuyerKey, { id: made.id })
    expect(again.revokedAt).toBe(revoked.revokedAt)
    expect((await refusalOf(authenticate(market.plane, key))).code).toBe('invalid_api_key')
    expect((await published(key))?.isRevoked).toBe(true)
    await until('the hash was announced', 2_000, () =>
      heard.some((message) => message.includes(hashApiKey(key, market.plane.settings.keyPepper))),
    )
    listener.disconnect()
    const undone = sql`update api_key set revoked_at = null where id = ${made.id}`.execute(market.plane.db)
    await expect(undone).rejects.toThrow(/stays revoked/)
  })

  it('does not reach the keys of another wallet or of the other side', async () => {
    const bob = await market.person()
    const { keys } = await invoke(market.plane, ada.seller, listSellerKeys, {})
    const id = keys[0]?.id ?? ''
    expect((await refusalOf(invoke(market.plane, bob.seller, revokeSellerKey, { id }))).code).toBe('not_found')
    expect((await refusalOf(invoke(market.plane, ada.buyer, revokeBuyerKey, { id }))).code).toBe('not_found')
    expect((await refusalOf(invoke(market.plane, ada.seller, revokeSellerKey, { id: 'key_x' }))).code).toBe('not_found')
  })

  it('survives an outage of Redis: the row is stored, and the key store receives it later', async () => {
    const made = await invoke(market.plane, ada.buyer, createBuyerKey, { label: 'later' }, idem())
    const key = made.secret?.reveal() ?? ''
    const away = {
      ...market.plane,
      publisher: { ...market.plane.publisher, hasKeys: () => Promise.reject(new Error('away')) },
    }
    const revoked = await invoke(away, ada.buyer, revokeBuyerKey, { id: made.id })
    expect(revoked.revokedAt).not.toBeNull()
    expect((await published(key))?.isRevoked).toBe(false)
    expect(await publishWaitingKeys(market.plane)).toBe(1)
    expect((await published(key))?.isRevoked).toBe(true)
    expect(await publishWaitingKeys(market.plane)).toBe(0)
  })
})

describe('the key store', () => {
  it('is filled whole after it was emptied, and stays closed until all keys are in', async () => {
    await invoke(market.plane, ada.buyer, createBuyerKey, { label: 'more' }, idem())
    const before = await market.world.redis.hgetall(cacheKeys.keys)
    const version = Number(await market.world.redis.get(cacheKeys.keysVersion))
    await market.world.redis.del(cacheKeys.keys, cacheKeys.keysVersion)
    expect(await restoreKeyStore(market.plane)).toBe(true)
    expect(await restoreKeyStore(market.plane)).toBe(false)
    expect(await market.world.redis.hgetall(cacheKeys.keys)).toEqual(before)
    expect(Number(await market.world.redis.get(cacheKeys.keysVersion))).toBeGreaterThan(version)
    expect(await market.world.redis.ttl(cacheKeys.keys)).toBe(-1)
  })

  it('is filled whole by the first change after it was emptied', async () => {
    await market.world.redis.del(cacheKeys.keys, cacheKeys.keysVersion)
    await invoke(market.plane, ada.buyer, createBuyerKey, { label: 'first' }, idem())
    const { rows } = await sql<{
      count: number
    }>`select count(*)::int as count from api_key where type <> 'management'`.execute(market.plane.db)
    expect(await market.world.redis.hlen(cacheKeys.keys)).toBe(rows[0]?.count)
  })
})

describe('the last use of a key', () => {
  it('is recorded for several paid calls in one write, and never goes back', async () => {
    const made = await invoke(market.plane, ada.buyer, createBuyerKey, { label: 'used' }, idem())
    const listed = async () =>
      (await invoke(market.plane, ada.buyer, listBuyerKeys, {})).keys.find(({ id }) => id === made.id)?.lastUsedAt
    expect(await listed()).toBeNull()
    const rids = [market.plane.ids.ulid(), market.plane.ids.ulid()]
    const account = ada.buyer.account
    const events = rids.map((rid) => JSON.stringify(usageEvent({ account, rid, charge: 0 }, { keyId: made.id })))
    await postBatch(market.plane, { events, source: 'test' })
    const late = { ...market.plane, clock: { ...market.plane.clock, now: Date.now } }
    expect(await noteKeyUses(late)).toBeGreaterThanOrEqual(1)
    expect(await listed()).toBe(ulidTime(rids[1] ?? ''))
    expect(await noteKeyUses(late)).toBe(0)
  })

  it('is recorded when no process has done so for an hour', async () => {
    const made = await invoke(market.plane, ada.buyer, createBuyerKey, { label: 'used unseen' }, idem())
    const lookAt = (at: number) => noteKeyUses({ ...market.plane, clock: { ...market.plane.clock, now: () => at } })
    await lookAt(Date.now())
    const rid = market.plane.ids.ulid()
    const event = JSON.stringify(usageEvent({ account: ada.buyer.account, rid, charge: 0 }, { keyId: made.id }))
    await postBatch(market.plane, { events: [event], source: 'test' })
    expect(await lookAt(Date.now() + HOUR)).toBeGreaterThanOrEqual(1)
    const { keys } = await invoke(market.plane, ada.buyer, listBuyerKeys, {})
    expect(keys.find(({ id }) => id === made.id)?.lastUsedAt).toBe(ulidTime(rid))
  })
})

describe('a presented key', () => {
  it("is refused unless it is exactly one of the market's keys", async () => {
    const key = ada.sellerKey
    const flipped = key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a')
    const never = newApiKey('seller').secret.reveal()
    for (const wrong of [
      flipped,
      key.slice(0, -1),
      `${key}x`,
      `inf_${key.slice('mkt_seller_'.length)}`,
      never,
      '',
      'inf_',
    ]) {
      expect((await refusalOf(authenticate(market.plane, wrong))).code).toBe('invalid_api_key')
    }
    expect((await authenticate(market.plane, undefined)).kind).toBe('nobody')
  })

  it('of management has its scope, and no door creates a key for operators', async () => {
    const org = await authenticate(market.plane, await market.managementKey('org'))
    const top = await authenticate(market.plane, await market.managementKey('operator'))
    expect([org.kind, top.kind]).toEqual(['org', 'operator'])
    const make = (actor: typeof top, scope: string) =>
      invoke(market.plane, actor, createManagementKey, { label: 'x', scope })
    expect((await refusalOf(make(top, 'operator'))).code).toBe('forbidden')
    expect((await refusalOf(make(org, 'org'))).code).toBe('forbidden')
    expect((await refusalOf(make(ada.seller, 'org'))).code).toBe('wrong_key_type')
    expect((await make(operator, 'operator')).key.reveal()).toMatch(/^mkt_mgmt_/)
  })
})
