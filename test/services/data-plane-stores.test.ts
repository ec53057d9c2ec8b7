import { appendFile, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RedisKey } from 'ioredis'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { createBuyerKeys } from '#data-plane/store/buyer-keys.ts'
import { createForwardedJobs } from '#data-plane/store/forwarded-jobs.ts'
import { createHealth } from '#data-plane/store/health.ts'
import { createRateLimits } from '#data-plane/store/rate-limits.ts'
import { createSnapshotStore } from '#data-plane/store/snapshot.ts'
import { createSnapshotFile, readSnapshotFile } from '#data-plane/store/snapshot-file.ts'
import { hashApiKey, newApiKey } from '#shared/api-key.ts'
import { systemClock } from '#shared/clock.ts'
import type { HealthEvent } from '#shared/contract/health-event.ts'
import type { KeyRecord } from '#shared/contract/key-record.ts'
import { CHANNELS, cacheKeys } from '#shared/contract/redis-keys.ts'
import { AppError } from '#shared/errors.ts'
import { createIds } from '#shared/ids.ts'
import { createLogger } from '#shared/logger.ts'
import { Secret } from '#shared/secret.ts'
import { createSubscriptions } from '#shared/subscriptions.ts'
import { buildMarketOffer, buildModel, buildOffer, buildPlan, buildProvider } from '#test/support/bytes/build-market.ts'
import { until } from '#test/support/run/until.ts'

/** Databases of the run's Redis for this file alone. Announcements reach the whole server, so names must differ. */
const DATABASE = 41
const PEPPER = new Secret('a pepper of sixteen or more')
const ids = createIds(systemClock)
const log = createLogger('test', 'silent')
let redis: Redis
let closers: (() => unknown)[]
let folder: string

function connect(options: { readonly lazyConnect?: boolean } = {}): Redis {
  const connection = new Redis(inject('redisUrl'), { db: DATABASE, ...options })
  closers.push(() => connection.disconnect())
  return connection
}

beforeEach(async () => {
  closers = []
  redis = connect()
  await redis.flushdb()
  folder = await mkdtemp(join(tmpdir(), 'stores-'))
})

afterEach(async () => {
  for (const close of closers.reverse()) await close()
  await rm(folder, { recursive: true, force: true })
})

describe('a job at a provider', () => {
  it('belongs to the call that first got the id of the job', async () => {
    const jobs = createForwardedJobs({ cache: redis, money: redis })
    const started = (buyer: string) => ({
      submit: '{}',
      binding: {
        rid: ids.requestId(),
        buyer,
        offer: ids.make('ofr'),
        sellerAccount: ids.make('acc'),
        credentialId: ids.make('crd'),
        good: null,
        boundAt: 0,
      },
    })
    const [first, second] = [started('first'), started('second')]
    expect(await jobs.put('provider-h', 'req-1', first)).toBe(true)
    // A repetition of the same call changes nothing.
    expect(await jobs.put('provider-h', 'req-1', first)).toBe(true)
    expect(await jobs.put('provider-h', 'req-1', second)).toBe(false)
    expect((await jobs.find('provider-h', 'req-1'))?.binding).toEqual(first.binding)
    expect(await jobs.put('provider-p1', 'req-1', second)).toBe(true)
  })
})

async function publish(name: string, version: number, body: unknown): Promise<void> {
  const text = JSON.stringify({ schema: 1, name, version, body })
  await redis
    .multi()
    .set(`snap:doc:${name}`, text)
    .hset(cacheKeys.snapshotIndex, name, String(version))
    .publish(CHANNELS.snapshot, JSON.stringify([name]))
    .exec()
}

async function startSnapshot(file?: string) {
  const subscriptions = createSubscriptions(connect(), log)
  const store = createSnapshotStore({ redis: connect(), subscriptions, clock: systemClock, log, file })
  closers.push(() => store.close())
  await store.start()
  return store
}

/** An offer in the form of the contract. */
function offerText(offer = buildOffer()) {
  return { ...offer, keptBps: Number(offer.keptBps) }
}

describe('the snapshot', () => {
  it('is loaded at the start, and a change is loaded within a moment of its announcement', async () => {
    await publish('models', 1, { models: [buildModel()] })
    await publish('providers', 2, { providers: [buildProvider('a')] })
    await publish('offers:gpt-5-mini', 3, { model: 'gpt-5-mini', offers: [offerText()] })
    const store = await startSnapshot()
    expect(store.isLoaded()).toBe(true)
    expect(store.market().resolve('openai/gpt-5-mini')?.id).toBe('gpt-5-mini')
    expect(store.market().offers.get('gpt-5-mini')?.ranked).toHaveLength(1)
    const before = store.market().resolve
    await publish('offers:gpt-5-mini', 4, { model: 'gpt-5-mini', offers: [offerText(), offerText()] })
    await until('the second offer is there', 1_000, () => store.market().offers.get('gpt-5-mini')?.ranked.length === 2)
    expect(store.market().resolve).toBe(before)
  })

  it('refuses a damaged document alone and keeps its last valid version', async () => {
    await publish('models', 1, { models: [buildModel()] })
    const store = await startSnapshot()
    await publish('models', 2, { models: 'none' })
    await publish('providers', 3, { providers: [buildProvider('b')] })
    await until('the valid document is loaded', 1_000, () => store.market().findProvider('b') !== undefined)
    expect(store.market().models).toHaveLength(1)
  })

  it('drops the offers of a model that the index does not name, and drops nothing when Redis is empty', async () => {
    await publish('models', 1, { models: [buildModel()] })
    await publish('offers:gpt-5-mini', 2, { model: 'gpt-5-mini', offers: [offerText()] })
    const store = await startSnapshot()
    await redis.flushdb()
    await redis.publish(CHANNELS.snapshot, '["models"]')
    await publish('models', 7, { models: [buildModel(), buildModel({ id: 'other' })] })
    await until('the new models are there', 1_000, () => store.market().models.length === 2)
    expect(store.market().offers.size).toBe(0)
  })

  it('starts from its copy on disk when Redis is empty, and only its owner can read the copy', async () => {
    const file = join(folder, 'snapshot.json')
    await publish('models', 1, { models: [buildModel()] })
    const first = await startSnapshot(file)
    await first.close()
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await readFile(file, 'utf8')).toContain('gpt-5-mini')
    await redis.flushdb()
    const second = await startSnapshot(file)
    expect(second.isLoaded()).toBe(true)
    expect(second.market().resolve('gpt-5-mini')).toBeDefined()
  })

  it('appends changes to its copy, drops removed entries, and rewrites the copy before most of it is outdated', async () => {
    const path = join(folder, 'copy')
    const file = createSnapshotFile(path)
    const kept = async () => {
      const found = new Map<string, string>()
      for await (const { name, text } of readSnapshotFile(path)) found.set(name, text)
      return Object.fromEntries(found)
    }
    await file.save(
      new Map([
        ['a', '1'.repeat(400_000)],
        ['offers:x/y:z', '2'],
        ['c', '3'],
      ]),
    )
    await file.save(
      new Map([
        ['offers:x/y:z', '22'],
        ['c', null],
      ]),
    )
    expect(await kept()).toEqual({ a: '1'.repeat(400_000), 'offers:x/y:z': '22' })
    for (let round = 0; round < 20; round++) await file.save(new Map([['a', `${round}`.repeat(200_000)]]))
    expect(await kept()).toEqual({ a: '19'.repeat(200_000), 'offers:x/y:z': '22' })
    expect((await stat(path)).size).toBeLessThan(2_500_000)
    // A line that a crash has cut counts as absent.
    await appendFile(path, '"a" 99')
    expect((await kept())['offers:x/y:z']).toBe('22')
    await file.save(new Map([['d', '4']]))
    expect(await kept()).toEqual({ a: '19'.repeat(200_000), 'offers:x/y:z': '22', d: '4' })
  })

  it('stores a market in parts, and replaces an earlier copy only when all parts are there', async () => {
    const path = join(folder, 'copy')
    await createSnapshotFile(path).save(new Map([['old', '1']]))
    const file = createSnapshotFile(path)
    await file.gather(new Map([['a', '1']]))
    await file.gather(new Map([['b', '2']]))
    expect(await readFile(path, 'utf8')).toBe('"old" 1\n')
    await file.save(new Map([['c', '3']]))
    expect(await readFile(path, 'utf8')).toBe('"a" 1\n"b" 2\n"c" 3\n')
    await file.gather(new Map([['d', '4']]))
    expect(await readFile(path, 'utf8')).toContain('"d" 4')
  })

  it('is missing where Redis and the disk have none', async () => {
    expect((await startSnapshot(join(folder, 'none.json'))).isLoaded()).toBe(false)
  })
})

async function startKeys(connection = connect(), subscriptions = createSubscriptions(connect(), log)) {
  const keys = createBuyerKeys({ redis: connection, subscriptions, clock: systemClock, pepper: PEPPER })
  closers.push(() => keys.close())
  await keys.start()
  return keys
}

async function issue(given: Partial<Record<keyof KeyRecord, unknown>> = {}): Promise<string> {
  const key = newApiKey('buyer').secret.reveal()
  const record = {
    v: 1,
    id: ids.make('key'),
    type: 'buyer',
    account: 'acc_1',
    wallet: null,
    isRevoked: false,
    expiresAt: null,
    minDiscountPct: 20,
    providersBlocked: ['b'],
    allowsUntrusted: null,
    capDailyMicro: '1000',
    capMonthlyMicro: null,
    ratePerMinute: null,
    modelsAllowed: null,
    ...given,
  }
  await redis.hset(cacheKeys.keys, hashApiKey(key, PEPPER), JSON.stringify(record))
  await redis.incr(cacheKeys.keysVersion)
  return key
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'accepted',
    (error: unknown) => (error instanceof AppError ? error.code : String(error)),
  )
}

describe('buyers’ keys', () => {
  it('have their caps and limits, with the preferences of their account', async () => {
    const key = await issue()
    const policy = {
      v: 1,
      account: 'acc_1',
      allowsUntrusted: true,
      providersBlocked: ['c'],
      minDiscountPct: 30,
      ownProviders: [],
    }
    await redis.set(cacheKeys.account('acc_1'), JSON.stringify(policy))
    expect(await (await startKeys()).identify(key)).toMatchObject({
      account: 'acc_1',
      floorPercents: [20, 30],
      providersBlocked: ['b', 'c'],
      allowsUntrusted: true,
      caps: { dailyMicro: 1_000n, monthlyMicro: null },
    })
  })

  it('are refused with the reason', async () => {
    const keys = await startKeys()
    const [revoked, expired] = [await issue({ isRevoked: true }), await issue({ expiresAt: 1 })]
    const stranger = newApiKey('buyer').secret.reveal()
    expect(await codeOf(keys.identify(await issue({ isFrozen: true })))).toBe('key_frozen')
    expect(await codeOf(keys.identify(await issue({ isFrozen: true, isRevoked: true })))).toBe('invalid_api_key')
    expect(await codeOf(keys.identify(revoked))).toBe('invalid_api_key')
    expect(await codeOf(keys.identify(expired))).toBe('invalid_api_key')
    expect(await codeOf(keys.identify(stranger))).toBe('invalid_api_key')
    expect(await codeOf(keys.identify(`${stranger.slice(0, -1)}!`))).toBe('invalid_api_key')
    expect(await codeOf(keys.identify(newApiKey('seller').secret.reveal()))).toBe('wrong_key_type')
    expect(await codeOf(keys.identify(newApiKey('management').secret.reveal()))).toBe('wrong_key_type')
    expect(await codeOf(keys.identify(await issue({ type: 'seller' })))).toBe('wrong_key_type')
  })

  it('are not called invalid while the store is not filled', async () => {
    const keys = await startKeys()
    expect(await codeOf(keys.identify(newApiKey('buyer').secret.reveal()))).toBe('service_unavailable')
  })

  it('stop working at once when their change is announced', async () => {
    const keys = await startKeys()
    const key = await issue()
    await keys.identify(key)
    const hmac = hashApiKey(key, PEPPER)
    await redis.hdel(cacheKeys.keys, hmac)
    await redis.publish(CHANNELS.keys, JSON.stringify([hmac]))
    await until('the key is refused', 1_000, async () => (await codeOf(keys.identify(key))) === 'invalid_api_key')
  })

  it('are looked up again once announcements arrive, and after a change during a look-up', async () => {
    const late = connect({ lazyConnect: true })
    const [first, second] = [await issue(), await issue()]
    const keys = await startKeys(connect(), createSubscriptions(late, log))
    const revoke = async (key: string) => {
      const hmac = hashApiKey(key, PEPPER)
      await redis.hdel(cacheKeys.keys, hmac)
      await redis.publish(CHANNELS.keys, JSON.stringify([hmac]))
    }
    await keys.identify(first)
    await revoke(first)
    expect(await codeOf(keys.identify(first))).toBe('accepted')
    await late.connect()
    await until('the key is refused', 3_000, async () => (await codeOf(keys.identify(first))) === 'invalid_api_key')

    const connection = connect()
    const subscriptions = createSubscriptions(connect(), log)
    const heard: string[] = []
    let isListening = false
    subscriptions.listen(
      CHANNELS.keys,
      (hmacs) => heard.push(...hmacs),
      () => {
        isListening = true
      },
    )
    await until('it listens', 3_000, () => isListening)
    const others = await startKeys(connection, subscriptions)
    const get = connection.get.bind(connection)
    connection.get = async (name: RedisKey) => {
      // Of the two reads this one ends first: the preferences of its account.
      if (name !== cacheKeys.account('acc_1')) return get(name)
      connection.get = get
      await revoke(second)
      await until('the change is announced', 3_000, () => heard.includes(hashApiKey(second, PEPPER)))
      return get(name)
    }
    expect(await codeOf(others.identify(second))).toBe('accepted')
    expect(await codeOf(others.identify(second))).toBe('invalid_api_key')
  })

  it('stop working within 5 s when no change was announced, and continue while Redis is away', async () => {
    const connection = connect()
    const keys = await startKeys(connection)
    const [gone, kept] = [await issue(), await issue()]
    await Promise.all([keys.identify(gone), keys.identify(kept)])
    await redis.hdel(cacheKeys.keys, hashApiKey(gone, PEPPER))
    await redis.incr(cacheKeys.keysVersion)
    await until('the key is refused', 6_000, async () => (await codeOf(keys.identify(gone))) === 'invalid_api_key')
    connection.disconnect()
    expect(await codeOf(keys.identify(kept))).toBe('accepted')
    expect(await codeOf(keys.identify(newApiKey('buyer').secret.reveal()))).toBe('service_unavailable')
  })
})

async function startHealth(node: string, events: HealthEvent[] = [], listening = connect()) {
  const subscriptions = createSubscriptions(listening, log)
  const health = createHealth({
    redis: connect(),
    subscriptions,
    clock: systemClock,
    ids,
    node,
    emit: (event) => void events.push(event),
  })
  closers.push(() => health.close())
  await health.start()
  return health
}

describe('offers’ health', () => {
  it('is shared: a back-off of one process applies to all, and so does its end', async () => {
    const events: HealthEvent[] = []
    const [first, second] = [await startHealth('n1', events), await startHealth('n2')]
    const [offer, { rid }] = [buildMarketOffer(), buildPlan()]
    const failure = { errorClass: 'rate_limited', status: 429, retryAfterMs: 60_000, detail: 'status 429' } as const
    first.failed(offer, rid, failure)
    expect(first.blockedUntil(offer, Date.now())).toBeGreaterThan(Date.now())
    await until('the other process knows the back-off', 1_000, () => second.blockedUntil(offer, Date.now()) > 0)
    expect((await startHealth('n3')).blockedUntil(offer, Date.now())).toBeGreaterThan(0)
    second.succeeded(offer, rid)
    await until('the first process knows the end', 1_000, () => first.blockedUntil(offer, Date.now()) === 0)
    expect(events.map(({ action, errorClass }) => [action, errorClass])).toEqual([['backed_off', 'rate_limited']])
  })

  it('is known to a process that missed its announcement, once that process is connected again', async () => {
    const late = connect({ lazyConnect: true })
    const [first, second] = [await startHealth('n1'), await startHealth('n2', [], late)]
    const [offer, { rid }] = [buildMarketOffer(), buildPlan()]
    first.failed(offer, rid, { errorClass: 'not_found', status: 404, retryAfterMs: undefined, detail: '' })
    await until('the back-off is shared', 1_000, async () => (await redis.hexists(cacheKeys.health, offer.id)) === 1)
    expect(second.blockedUntil(offer, Date.now())).toBe(0)
    await late.connect()
    await until('the other process knows the back-off', 1_000, () => second.blockedUntil(offer, Date.now()) > 0)
  })

  it('ends when its record is removed', async () => {
    const health = await startHealth('n1')
    const [offer, { rid }] = [buildMarketOffer(), buildPlan()]
    health.failed(offer, rid, { errorClass: 'not_found', status: 404, retryAfterMs: undefined, detail: '' })
    await until('the back-off is shared', 1_000, async () => (await redis.hexists(cacheKeys.health, offer.id)) === 1)
    await redis.hdel(cacheKeys.health, offer.id)
    await redis.publish(CHANNELS.health, JSON.stringify([offer.id]))
    await until('the offer is back', 1_000, () => health.blockedUntil(offer, Date.now()) === 0)
  })
})

describe('rate limits', () => {
  it('count a minute, and report the rest and the end of the minute', () => {
    const rates = createRateLimits({ redis, clock: { now: () => 90_000, monotonic: () => 0 } })
    expect(rates.enter('k', 2, 10)).toEqual({ limit: 2, remaining: 1, resetAt: 120 })
    rates.enter('k', 2, 10)
    expect(() => rates.enter('k', 2, 10)).toThrow(
      expect.objectContaining({ code: 'rate_limited', retryAfterSeconds: 30 }),
    )
    expect(rates.enter('other', 2, 10).remaining).toBe(1)
  })

  it('bound the calls at once', () => {
    const rates = createRateLimits({ redis, clock: systemClock })
    rates.enter('k', 100, 1)
    expect(() => rates.enter('k', 100, 1)).toThrow(expect.objectContaining({ code: 'too_many_in_flight' }))
    rates.leave('k')
    rates.enter('k', 100, 1)
  })

  it('are shared between processes', async () => {
    const clock = { now: () => 90_000, monotonic: () => 0 }
    const [first, second] = [createRateLimits({ redis, clock }), createRateLimits({ redis: connect(), clock })]
    for (const rates of [first, second]) {
      rates.start()
      closers.push(() => rates.close())
    }
    for (let call = 0; call < 5; call++) first.enter('k', 100, 100)
    second.enter('k', 100, 100)
    await until(
      'the second process has the calls',
      2_000,
      async () => (await redis.get(cacheKeys.rate('k', 1))) === '6',
    )
    second.enter('k', 100, 100)
    await until('both processes have the sum', 2_000, () => second.enter('k', 1_000, 100).remaining < 993)
  })
})
