import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { UsageFilter } from '#control-plane/db/buyer-usage.ts'
import { listUsage, sumUsage, sumUsageByTime } from '#control-plane/db/buyer-usage.ts'
import { transact } from '#control-plane/db/database.ts'
import { sumEarnings } from '#control-plane/db/earnings.ts'
import { migrate } from '#control-plane/db/migrate.ts'
import { compareNextDay } from '#control-plane/db/usage-days.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { getEarnings } from '#control-plane/services/earnings/earnings.ts'
import { archiveMonths, keepPartitions } from '#control-plane/services/retention/partitions.ts'
import { simulateRouting } from '#control-plane/services/routing/simulate-routing.ts'
import { listUsageBuckets } from '#control-plane/services/usage/buyer-usage.ts'
import { sumUsageDays } from '#control-plane/services/usage/usage-days.ts'
import { DAY, HOUR, utcDay, utcMonth } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'
import type { Usage } from '#shared/usage.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer } from '#test/support/doors/offers.ts'

const MIGRATIONS = fileURLToPath(new URL('../../migrations', import.meta.url))
const DAYS = 6

let market: TestMarket
let ada: Person
let bob: Person

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  bob = await market.person()
})
afterAll(() => market.stop())

type Call = {
  readonly at: number
  readonly model?: string
  readonly charge?: number
  readonly usage?: Usage
  readonly buyer?: Person
  readonly seller?: Person
}

function textOf({ at, model = 'gpt-test', charge = 1_000, buyer = bob, seller = ada, usage }: Call): string {
  const rid = createIds({ now: () => at }).ulid()
  const given = { rid, charge, model, startedAt: at, account: buyer.buyer.account }
  return eventText({ ...given, sellerAccount: seller.seller.account }, usage === undefined ? {} : { usage })
}

const book = (calls: readonly Call[]) => postBatch(market.plane, { events: calls.map(textOf), source: 'test' })
const sumDays = () => sumUsageDays(market.plane)
const daysAgo = (days: number) => Date.now() - days * DAY

/** Reads once from sums and calls, and once after removing the marks of summed days. */
async function bothWays<Result>(read: () => Promise<Result>): Promise<[Result, Result]> {
  const withSums = await read()
  await sql`alter table usage_summed rename to usage_summed_away`.execute(market.plane.db)
  await sql`create table usage_summed (before date)`.execute(market.plane.db)
  try {
    return [withSums, await read()]
  } finally {
    await sql`drop table usage_summed`.execute(market.plane.db)
    await sql`alter table usage_summed_away rename to usage_summed`.execute(market.plane.db)
  }
}

async function expectSame(filter: Omit<UsageFilter, 'account'>): Promise<void> {
  const { db } = market.plane
  const account = bob.buyer.account
  const [summed, counted] = await bothWays(async () => ({
    total: await sumUsage(db, { account, ...filter }, 10),
    byDay: await sumUsageByTime(
      db,
      { account, ...filter },
      { interval: 'day', group: 'model', own: undefined, limit: 1_000 },
    ),
    byHour: await sumUsageByTime(
      db,
      { account, ...filter },
      { interval: 'hour', group: undefined, own: undefined, limit: 1_000 },
    ),
    byProvider: await sumUsageByTime(
      db,
      { account, ...filter },
      { interval: 'hour', group: 'provider', own: undefined, limit: 1_000 },
    ),
    // An hour's models are summed from the calls themselves.
    byModel: await sumUsageByTime(
      db,
      { account, ...filter },
      { interval: 'hour', group: 'model', own: undefined, limit: 1_000 },
    ),
    byTop: await sumUsageByTime(
      db,
      { account, ...filter },
      { interval: 'day', group: 'provider', own: [''], limit: 1_000 },
    ),
    byMonth: await sumUsageByTime(
      db,
      { account, ...filter },
      { interval: 'month', group: undefined, own: undefined, limit: 1_000 },
    ),
    sales: await sumEarnings(db, ada.seller.account, filter),
  }))
  expect(summed).toEqual(counted)
}

/** Calls with tokens only, with each unit by which media are sold, and with several units. */
const USAGES: readonly Usage[] = [
  { input: 100, output: 20 },
  { input: 7, imageInput: 3, imageOutput: 1_290 },
  { images: 2, images2k: 1 },
  { images4k: 3, calls: 1 },
  { pixels: 1_048_576 },
  { characters: 41 },
  { milliseconds: 1_500, milliseconds1080p: 250, milliseconds4k: 125 },
]

describe('sums of days', () => {
  it('keep every unit that calls used, of buyers and of sellers', async () => {
    const [buyer, seller] = [await market.person(), await market.person()]
    await book(USAGES.map((usage) => ({ at: daysAgo(5), usage, buyer, seller })))
    const figures = { requests: 7n, images: 6n, images2k: 1n, images4k: 3n, pixels: 1_048_576n, characters: 41n }
    const others = { milliseconds: 1_875n, milliseconds1080p: 250n, milliseconds4k: 125n, imageOutput: 1_290n }
    const window = { from: 0, to: Date.now() }
    const read = async () => [
      (await sumUsage(market.plane.db, { account: buyer.buyer.account, ...window }, 1)).total,
      ...(await sumEarnings(market.plane.db, seller.seller.account, window)),
    ]
    const whole = { ...figures, ...others, imageInput: 3n }
    expect(await read()).toMatchObject([
      { ...whole, input: 110n, output: 1_310n },
      { ...whole, inputTokens: 110n },
    ])
    await sumDays()
    expect(await read()).toMatchObject([
      { ...whole, input: 110n, output: 1_310n },
      { ...whole, inputTokens: 110n },
    ])
    const { rows } = await sql<{ calls: bigint }>`select sum(calls)::bigint as calls from buyer_day
      where account = ${buyer.buyer.account}`.execute(market.plane.db)
    expect(rows).toEqual([{ calls: 1n }])
  })

  it('give the groups that cost most buckets of their own, and sum the others, in both periods', async () => {
    const buyer = await market.person()
    const charges = { dear: 900, plain: 500, rare: 20, small: 10 }
    const calls = Object.entries(charges).map(([model, charge]) => ({ model, charge, buyer, at: daysAgo(1) }))
    // In the period before, the order of the models is the other one.
    const former = [{ at: daysAgo(4), model: 'small', charge: 5_000, buyer }]
    await book([...calls, ...former, { at: daysAgo(5), model: 'plain', charge: 7, buyer }])
    const actor = { kind: 'buyer', keyId: 'key_t', user: 'usr_t', account: buyer.buyer.account, wallet: '0x0' } as const
    const window = { from: daysAgo(3), to: Date.now() }
    const read = async (top: number | undefined, isPeriodBefore = false) => {
      const input = { ...window, interval: 'month', groupBy: 'model', top, isPeriodBefore }
      const { buckets } = await invoke(market.plane, actor, listUsageBuckets, input)
      const sums = new Map<string | null, number>()
      for (const { group, isRest, buyerCostMicro } of buckets) {
        expect(isRest).toBe(group === null)
        sums.set(group, (sums.get(group) ?? 0) + buyerCostMicro)
      }
      return Object.fromEntries(sums)
    }
    for (const summed of [false, true]) {
      if (summed) await sumDays()
      expect(await read(undefined)).toEqual(charges)
      expect(await read(2)).toEqual({ dear: 900, plain: 500, null: 30 })
      expect(await read(2, true)).toEqual({ plain: 7, null: 5_000 })
      expect(await read(4)).toEqual(charges)
    }
    await expect(invoke(market.plane, actor, listUsageBuckets, { ...window, top: 2 })).rejects.toMatchObject({
      code: 'invalid_request',
      param: 'top',
    })
  })

  it('count a failed call at the provider that failed last, in lists and in sums', async () => {
    const { db } = market.plane
    const buyer = await market.person()
    const at = daysAgo(3)
    const attempt = (provider: string, errorClass: string | null) => {
      return { offer: `ofr_${provider}`, provider, status: errorClass === null ? 200 : 500, ms: 9, errorClass }
    }
    const failed = { outcome: 'failed', provider: null, offer: null, usage: {} }
    const calls = [
      { outcome: 'succeeded', errorCode: null, provider: 'p1', attempts: [attempt('p1', null)] },
      { ...failed, attempts: [attempt('p1', 'server_error')] },
      { ...failed, attempts: [attempt('p1', 'server_error'), attempt('p2', 'timeout')] },
      { ...failed, attempts: [] },
    ]
    const events = calls.map((facts) => {
      const given = { rid: createIds({ now: () => at }).ulid(), charge: 0, model: 'gpt-test', startedAt: at }
      return eventText({ ...given, account: buyer.buyer.account, sellerAccount: ada.seller.account }, facts)
    })
    await postBatch(market.plane, { events, source: 'test' })
    await sumDays()
    const filter = { account: buyer.buyer.account, from: 0, to: Date.now() }
    for (const interval of ['hour', 'day'] as const) {
      const [summed, counted] = await bothWays(() =>
        sumUsageByTime(db, filter, { interval, group: 'provider', own: undefined, limit: 100 }),
      )
      expect(summed).toEqual(counted)
      expect(summed.map(({ group, requests, failed: lost }) => [group, requests, lost])).toEqual([
        ['p1', 2n, 1n],
        ['p2', 1n, 1n],
        [null, 1n, 1n],
      ])
    }
    for (const [provider, requests] of [
      ['p1', 2n],
      ['p2', 1n],
      ['p3', 0n],
    ] as const) {
      const rows = await listUsage(db, { ...filter, provider }, { after: undefined, isReversed: false, limit: 10 })
      expect(rows.map((row) => row.provider)).toEqual(Array.from({ length: Number(requests) }, () => provider))
      const { total } = await sumUsage(db, { ...filter, provider }, 10)
      expect(total?.requests ?? 0n).toBe(requests)
    }
    expect((await sumUsage(db, filter, 10)).total).toMatchObject({ requests: 4n, failed: 3n })
  })

  it('equal the calls, for any order of bookings and any window', async () => {
    const hours = fc.integer({ min: 0, max: DAYS * 24 })
    const step = fc.record({
      calls: fc.array(
        fc.record({
          hoursAgo: hours,
          model: fc.constantFrom('gpt-test', 'claude-test'),
          charge: fc.nat(500),
          usage: fc.constantFrom(...USAGES),
        }),
        { maxLength: 6 },
      ),
      isSummed: fc.boolean(),
      window: fc.tuple(hours, hours),
      model: fc.constantFrom(undefined, undefined, 'gpt-test'),
      outcome: fc.constantFrom(undefined, 'succeeded' as const),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 4 }), async (steps) => {
        for (const { calls, isSummed, window, ...chosen } of steps) {
          const now = Date.now()
          await book(calls.map(({ hoursAgo, ...call }) => ({ ...call, at: now - hoursAgo * HOUR })))
          if (isSummed) await sumDays()
          const [from, to] = [now - Math.max(...window) * HOUR, now - Math.min(...window) * HOUR + 1]
          await expectSame({ from, to, ...chosen })
        }
      }),
      { numRuns: 15 },
    )
  })

  it('are computed once, and again only for days with late calls', async () => {
    await book([{ at: daysAgo(3) }])
    await sumDays()
    expect(await sumDays()).toBe(0)
    await book([{ at: daysAgo(2) }, { at: daysAgo(2) }, { at: Date.now() }])
    expect(await sumDays()).toBe(1)
    expect(await sumDays()).toBe(0)
    await expectSame({ from: 0, to: Date.now() + 1 })
  })

  it('do not count while a missing call is being booked, and hide no call that is booked meanwhile', async () => {
    await book([{ at: daysAgo(4) }])
    await sumDays()
    const { plane } = market
    const copied = createIds({ now: () => daysAgo(4) }).ulid()
    await transact(plane.db, async (trx) => {
      await sql`create temporary table copied on commit drop as
        select * from settlement where account = ${bob.buyer.account} limit 1`.execute(trx)
      await sql`update copied set rid = ${copied}`.execute(trx)
      await sql`insert into settlement select * from copied`.execute(trx)
      await book([{ at: daysAgo(4) }])
      // The first call is still missing, so a day that is summed now lacks it.
      await sumDays()
    })
    await expectSame({ from: 0, to: Date.now() + 1 })
    expect(await sumDays()).toBe(1)
    await expectSame({ from: 0, to: Date.now() + 1 })
  })

  it('are compared with the calls day by day, and computed again where they differ', async () => {
    const day = utcDay(daysAgo(2))
    await book([{ at: daysAgo(2) }])
    await sumDays()
    const { db } = market.plane
    const compareAll = async () => {
      const wrong: string[] = []
      for (let day = 0; day <= DAYS; day++) {
        const found = await transact(db, compareNextDay)
        if (found !== undefined) wrong.push(found)
      }
      return wrong
    }
    expect(await compareAll()).toEqual([])
    await sql`update buyer_day set charge = charge + 1 where day = ${day}::date`.execute(db)
    expect(await compareAll()).toEqual([day])
    await sql`update buyer_hour set hour = hour + interval '1 hour' where day = ${day}::date`.execute(db)
    expect(await compareAll()).toEqual([day])
    await sql`delete from seller_day where day = ${day}::date`.execute(db)
    expect(await compareAll()).toEqual([day])
    await expectSame({ from: 0, to: Date.now() + 1 })
  })

  it('have no hours when they were computed before hours were stored: these days are read from calls and computed again', async () => {
    const { db } = market.plane
    await sql`drop table buyer_hour cascade`.execute(db)
    await sql`delete from migration where name = '0135_usage_hours.sql'`.execute(db)
    await migrate(db, MIGRATIONS)
    await expectSame({ from: 0, to: Date.now() + 1 })
    expect(await sumDays()).toBeGreaterThan(0)
    const { rows } = await sql<{ isWhole: boolean }>`select
      (select sum(requests) from buyer_hour) = (select sum(requests) from buyer_day) as "isWhole"`.execute(db)
    expect(rows).toEqual([{ isWhole: true }])
    await expectSame({ from: 0, to: Date.now() + 1 })
  })

  it('outlive the calls of a month that is detached', async () => {
    const at = daysAgo(100)
    await keepPartitions({ ...market.plane, clock: { ...market.plane.clock, now: () => at } })
    // The other two reads do not fit: their answers also count calls, and these calls will be gone.
    const [buyer, carol] = [await market.person(), await market.person()]
    await book([{ at, buyer, seller: carol }])
    const lifetime = () => sumEarnings(market.plane.db, carol.seller.account, { from: 0, to: Date.now() + 1 })
    const before = await lifetime()
    expect(before).toMatchObject([{ day: utcDay(at), requests: 1n }])
    expect(await archiveMonths(market.plane, 1)).toContain(utcMonth(at))
    expect(await lifetime()).toEqual(before)
    // Days that were archived before payments were summed know the earnings alone.
    await sql`update seller_day set charge = null where account = ${carol.seller.account}`.execute(market.plane.db)
    const { share, byModel } = await invoke(market.plane, carol.seller, getEarnings, { range: 'lifetime' })
    const earnedMicro = Number(before[0]?.earned)
    for (const sum of [share, ...byModel]) expect(sum).toMatchObject({ earnedMicro, grossMicro: null, feeMicro: null })
  })
})

describe('calls that are replayed under a policy', () => {
  it('show the models that it changes first, then those with the most calls, and equal ones by name', async () => {
    const eve = await market.person()
    await listOffer(market, eve.seller, { model: 'gpt-test', discount: 40 })
    await listOffer(market, eve.seller, { model: 'claude-test', discount: 60 })
    const models = ['idle-b', 'gpt-test', 'idle-c', 'idle-c', 'claude-test', 'claude-test', 'idle-a']
    await book(models.map((model) => ({ at: Date.now() - HOUR, model, buyer: eve, seller: eve })))
    const order = async (policy: object) =>
      (await invoke(market.plane, eve.buyer, simulateRouting, { policy })).byModel.map(({ model }) => model)
    const byCalls = ['claude-test', 'idle-c', 'gpt-test', 'idle-a', 'idle-b']
    expect(await order({})).toEqual(byCalls)
    // No seller has the first model at this discount. The second model stays where it is.
    expect(await order({ minDiscountPct: 50 })).toEqual(['gpt-test', 'claude-test', 'idle-c', 'idle-a', 'idle-b'])
    expect(await order({ providersBlocked: ['test'] })).toEqual([
      'claude-test',
      'gpt-test',
      'idle-c',
      'idle-a',
      'idle-b',
    ])
  })
})
