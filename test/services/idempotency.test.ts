import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { NOBODY } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { createRedisLimiter } from '#control-plane/ports/limits/redis-limiter.ts'
import { purgeIdempotencyKeys } from '#control-plane/services/retention/purge-expired.ts'
import { DAY, MINUTE, SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { operator, startMarket } from '#test/support/doors/control-plane.ts'

let market: TestMarket
let ada: Person
let bob: Person
let runs = 0
let wait: Promise<void> | undefined

const Made = z.object({ number: z.number(), secret: z.string().nullable() })

/** An operation that counts its runs, and waits or fails on demand. */
const makeThing = defineOperation({
  name: 'thing.make',
  summary: 'Make a thing',
  access: 'seller',
  input: z.object({ name: z.string().min(1), fails: z.boolean().optional() }),
  limit: 'write',
  idempotency: 'accepted',
  output: Made,
  forReplay: (made) => ({ ...made, secret: null }),
  run: async (ctx, _actor, input): Promise<z.infer<typeof Made>> => {
    const number = ++runs
    await wait
    if (input.fails) throw new AppError('conflict')
    await ctx.change(
      async () => undefined,
      () => ({ subject: input.name, before: null, after: { number } }),
    )
    return { number, secret: 'canary-secret' }
  },
})

let outside = async (): Promise<void> => undefined
/** An operation that changes state outside of the tables. */
const moveOutside = defineOperation({
  name: 'thing.move',
  summary: 'Move a thing',
  access: 'seller',
  input: z.object({}),
  limit: 'write',
  idempotency: 'none',
  output: z.object({}),
  run: async (ctx): Promise<object> => {
    await ctx.act({ subject: 'outside', before: { place: 1 }, after: { place: 2 } }, () => outside())
    return {}
  },
})

beforeAll(async () => {
  market = await startMarket({ operations: [makeThing, moveOutside] })
  ada = await market.person()
  bob = await market.person()
})
afterAll(() => market.stop())

const make = (input: object, idempotencyKey?: string, who = ada) =>
  invoke(market.plane, who.seller, makeThing, input, { idempotencyKey })
const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'accepted',
    (error: AppError) => error.code,
  )

describe('an idempotency key', () => {
  it('runs once and replays the answer, without secrets that are shown once', async () => {
    const first = await make({ name: 'a' }, 'k1')
    expect(first.secret).toBe('canary-secret')
    expect(await make({ name: 'a' }, 'k1')).toEqual({ number: first.number, secret: null })
    const stored = await market.plane.db.selectFrom('idempotency').selectAll().execute()
    expect(JSON.stringify(stored)).not.toContain('canary')
  })

  it('is refused with another request; another order of fields is the same request', async () => {
    const first = await make({ name: 'b', fails: false }, 'k2')
    expect((await make({ fails: false, name: 'b' }, 'k2')).number).toBe(first.number)
    expect(await codeOf(make({ name: 'c' }, 'k2'))).toBe('idempotency_key_reused')
  })

  it('belongs to one caller', async () => {
    const first = await make({ name: 'd' }, 'k3')
    expect((await make({ name: 'other' }, 'k3', bob)).number).not.toBe(first.number)
  })

  it('lets a single one of many requests run; the others are refused with a conflict', async () => {
    let go = () => {}
    wait = new Promise((resolve) => {
      go = resolve
    })
    const before = runs
    const calls = Array.from({ length: 10 }, () => make({ name: 'e' }, 'k4'))
    const settled = Promise.allSettled(calls)
    const losers = calls.map((call) => codeOf(call))
    await Promise.race(losers)
    go()
    wait = undefined
    const outcomes = await settled
    expect(runs).toBe(before + 1)
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled').length).toBeGreaterThanOrEqual(1)
    for (const code of await Promise.all(losers)) expect(['accepted', 'idempotency_in_progress']).toContain(code)
    expect((await make({ name: 'e' }, 'k4')).number).toBe(before + 1)
  })

  it('is free again when its run failed', async () => {
    const before = runs
    expect(await codeOf(make({ name: 'f', fails: true }, 'k5'))).toBe('conflict')
    expect(await codeOf(make({ name: 'f', fails: true }, 'k5'))).toBe('conflict')
    expect(runs).toBe(before + 2)
    expect(await codeOf(make({ name: 'f' }, 'k5'))).toBe('accepted')
  })

  it('is free again a minute after its process died, for the same request only', async () => {
    const place = { tenant: ada.seller.user, operation: makeThing.name, key: 'k6' }
    await make({ name: 'g' }, 'k6')
    await market.plane.db
      .updateTable('idempotency')
      .set({ answer: null })
      .where('key', '=', place.key)
      .where('tenant', '=', place.tenant)
      .execute()
    expect(await codeOf(make({ name: 'g' }, 'k6'))).toBe('idempotency_in_progress')
    market.advance(61 * SECOND)
    expect(await codeOf(make({ name: 'h' }, 'k6'))).toBe('idempotency_key_reused')
    expect(await codeOf(make({ name: 'g' }, 'k6'))).toBe('accepted')
  })

  it('is remembered for 24 hours', async () => {
    const first = await make({ name: 'i' }, 'k7')
    market.advance(DAY - MINUTE)
    expect((await make({ name: 'i' }, 'k7')).number).toBe(first.number)
    market.advance(MINUTE)
    expect((await make({ name: 'j' }, 'k7')).number).not.toBe(first.number)
    market.advance(DAY)
    expect(await purgeIdempotencyKeys(market.plane)).toBeGreaterThan(0)
    expect(await market.plane.db.selectFrom('idempotency').selectAll().execute()).toEqual([])
  })

  it('is 1 to 255 printable characters', async () => {
    for (const key of ['', ' ', 'a b', 'é', 'a'.repeat(256), 'a\u0000']) {
      expect(await codeOf(make({ name: 'k' }, key))).toBe('invalid_request')
    }
  })
})

describe('invoke', () => {
  it('checks the caller first, then the limit, then the input, and runs nothing that it refuses', async () => {
    const before = runs
    const call = (actor: Parameters<typeof invoke>[1], input: unknown) =>
      codeOf(invoke(market.plane, actor, makeThing, input))
    expect(await call(NOBODY, {})).toBe('authentication_required')
    expect(await call(ada.buyer, {})).toBe('wrong_key_type')
    expect(await call(operator, { name: 'x' })).toBe('wrong_key_type')
    for (const input of [{}, { name: '' }, { name: 5 }, [], null, 'text', undefined]) {
      expect(await call(ada.seller, input)).toBe('invalid_request')
    }
    expect(runs).toBe(before)
  })

  it('records the actor and the state before and after', async () => {
    const { number } = await make({ name: 'audited' })
    const row = await market.plane.db
      .selectFrom('audit_log')
      .selectAll()
      .where('subject', '=', 'audited')
      .executeTakeFirstOrThrow()
    expect(row).toMatchObject({
      actor_kind: 'seller',
      actor: ada.seller.user,
      key_id: ada.seller.keyId,
      operation: 'thing.make',
      before: null,
      after: { number },
    })
    const undone = market.plane.db.deleteFrom('audit_log').where('id', '=', row.id).execute()
    await expect(undone).rejects.toThrow(/never changed or deleted/)
  })

  it('records a change outside of the tables beforehand, and marks it when it may not have happened', async () => {
    outside = () => Promise.reject(new AppError('service_unavailable'))
    expect(await codeOf(invoke(market.plane, ada.seller, moveOutside, {}))).toBe('service_unavailable')
    const rows = async () => {
      const { db } = market.plane
      const found = await db
        .selectFrom('audit_log')
        .select(['subject', 'before', 'after'])
        .where('operation', '=', 'thing.move')
        .orderBy('id')
        .execute()
      return found
    }
    const asked = { subject: 'outside', before: { place: 1 }, after: { place: 2 } }
    const unconfirmed = { subject: 'outside', before: null, after: { unconfirmed: 'service_unavailable' } }
    expect(await rows()).toEqual([asked, unconfirmed])
    outside = async () => expect(await rows()).toEqual([asked, unconfirmed, asked])
    await invoke(market.plane, ada.seller, moveOutside, {})
    expect(await rows()).toHaveLength(3)
  })

  it('limits the calls of a key and of a wallet, and names the limit and its end', async () => {
    const narrow = { perKey: 3, perWallet: 5 }
    const rateLimits = { ...market.plane.settings.rateLimits, write: narrow }
    const plane = { ...market.plane, settings: { ...market.plane.settings, rateLimits } }
    const eve = await market.person()
    const call = (keyId: `key_${string}`) => invoke(plane, { ...eve.seller, keyId }, makeThing, { name: 'x' })
    for (let turn = 0; turn < 3; turn++) await call('key_one')
    const byKey = await call('key_one').catch((error: AppError) => error)
    if (!(byKey instanceof AppError)) return expect.fail('the limit did not hold')
    expect([byKey.code, byKey.detail['limit_source'], byKey.detail['limit']]).toEqual(['rate_limited', 'key', 3])
    expect(byKey.retryAfterSeconds).toBeGreaterThan(0)
    expect(byKey.retryAfterSeconds).toBeLessThanOrEqual(60)
    await call('key_two')
    const byWallet = await call('key_two').catch((error: AppError) => error)
    expect(byWallet instanceof AppError && byWallet.detail['limit_source']).toBe('wallet')
    market.advance(MINUTE)
    expect((await call('key_one')).secret).toBe('canary-secret')
  })

  it('allows calls while the counter is away: the limit guards against abuse, not money', async () => {
    const away = market.world.redis.duplicate({ lazyConnect: true, enableOfflineQueue: false })
    const limiter = createRedisLimiter(away, market.plane.clock)
    expect(await limiter('scope', 1)).toMatchObject({ isExceeded: false })
    expect(await limiter('scope', 1)).toMatchObject({ isExceeded: false })
    away.disconnect()
  })
})
