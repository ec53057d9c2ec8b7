import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { transact } from '#control-plane/db/database.ts'
import { listOfferSums } from '#control-plane/db/offer-figures.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { rollUp } from '#control-plane/services/market/market-rollup.ts'
import { listOfferFigures } from '#control-plane/services/offers/offer-figures.ts'
import { getOfferSeries } from '#control-plane/services/offers/offer-series.ts'
import { DAY, HOUR } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer } from '#test/support/doors/offers.ts'

let market: TestMarket
let ada: Person
let bob: Person
/** Offers in the order of their listing: with many small sales, with few large ones, and without a sale. */
let busy: string
let rich: string
let idle: string
/** Offers of another seller: one serves the calls that the other one failed. */
let stranger: string
let flaky: string

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  bob = await market.person()
  busy = (await listOffer(market, ada.seller)).id
  rich = (await listOffer(market, ada.seller, { model: 'claude-test' })).id
  idle = (await listOffer(market, ada.seller)).id
  stranger = (await listOffer(market, bob.seller)).id
  flaky = (await listOffer(market, bob.seller)).id
  await sell(ada, busy, { count: 6, charge: 101, ttftMs: 400 })
  await sell(ada, busy, { count: 2, charge: 101, ttftMs: 400, daysAgo: 5 })
  await sell(ada, rich, { count: 5, charge: 9_999, ttftMs: 100 })
  await sell(ada, rich, { count: 1, charge: 0, ttftMs: 100, outcome: 'failed' })
  await sell(bob, stranger, { count: 3, charge: 50_000, ttftMs: 50, failedBefore: flaky })
  await rollUp(market.plane, 0)
})
afterAll(() => market.stop())

type Sales = {
  readonly count: number
  readonly charge: number
  readonly ttftMs: number
  readonly daysAgo?: number
  readonly outcome?: string
  /** The offer that was tried before and failed, once by its own fault and once by the buyer's. */
  readonly failedBefore?: string
}

async function sell(seller: Person, offer: string, sales: Sales) {
  const { count, charge, ttftMs, daysAgo = 0, outcome, failedBefore } = sales
  const attempt = { offer: failedBefore, provider: 'sandbox-a', ms: 10 }
  const at = market.plane.clock.now() - daysAgo * DAY
  const events = Array.from({ length: count }, () => {
    const rid = createIds({ now: () => at }).ulid()
    const given = { rid, charge, startedAt: at, account: bob.buyer.account, sellerAccount: seller.seller.account }
    return eventText(given, {
      offer,
      ttftMs,
      ...(outcome === undefined ? {} : { outcome, errorCode: 'provider_error' }),
      ...(failedBefore === undefined
        ? {}
        : {
            attempts: [
              { ...attempt, status: 503, errorClass: 'overloaded' },
              { ...attempt, status: 400, errorClass: 'bad_request' },
              { ...attempt, offer, status: 200, errorClass: null },
            ],
          }),
    })
  })
  expect(await postBatch(market.plane, { events, source: 'test' })).toMatchObject({ posted: count, poisoned: 0 })
}

const figures = (input: object) => invoke(market.plane, ada.seller, listOfferFigures, input)
const idsOf = async (input: object) => (await figures(input)).items.map(({ id }) => id)
/** Earnings of a seller from some equal charges after a fee of five percent, each rounded down. */
const net = (count: number, charge: number) => count * Math.floor(charge * 0.95)

const series = (window: string) => invoke(market.plane, ada.seller, getOfferSeries, { id: busy, window })

describe('the traffic of the market’s offers', () => {
  it('is the calls that each sold, and the attempts that its provider failed, in 24 hours', async () => {
    const staff = market.trpc(await market.managementKey('operator'))
    const traffic = async () => {
      const { items } = await staff.marketOffer.search.query({ wallet: bob.wallet })
      return items.map(({ id, calls, failures }) => [id, calls, failures])
    }
    expect(await traffic()).toEqual([
      [stranger, 3, 0],
      [flaky, 0, 3],
    ])
    const { items } = await staff.marketOffer.search.query({ wallet: ada.wallet })
    expect(items.find(({ id }) => id === busy)).toMatchObject({ calls: 6, failures: 0 })
    await sql`update market_offer_hour set failed = null where offer = ${flaky}`.execute(market.plane.db)
    expect(await traffic()).toEqual([
      [stranger, 3, 0],
      [flaky, 0, null],
    ])
    await sql`update market_offer_hour set failed = 3 where offer = ${flaky}`.execute(market.plane.db)
  })
})

describe('the figures of an offer over time', () => {
  it('are those of the list, by hour and by UTC day', async () => {
    const now = market.plane.clock.now()
    const hours = await series('24h')
    expect(hours).toMatchObject({ interval: 'hour', from: Math.floor(now / HOUR) * HOUR - 23 * HOUR, knownFrom: null })
    const hour = { calls: 6, grossMicro: 606, feeMicro: 606 - net(6, 101), netMicro: net(6, 101), ttftSamples: 6 }
    expect(hours.points).toEqual([
      { bucket: Math.floor(now / HOUR) * HOUR, ttftP50Ms: hours.points?.[0]?.ttftP50Ms, ...hour },
    ])
    expect(Math.abs((hours.points?.[0]?.ttftP50Ms ?? 0) - 400)).toBeLessThanOrEqual(4)
    const today = Math.floor(now / DAY) * DAY
    const days = await series('7d')
    expect(days).toMatchObject({ interval: 'day', from: today - 6 * DAY })
    expect(days.points?.map(({ bucket, calls }) => [bucket, calls])).toEqual([
      [today - 5 * DAY, 2],
      [today, 6],
    ])
    // A median of two calls says nothing.
    expect(days.points?.[0]).toMatchObject({ netMicro: net(2, 101), ttftP50Ms: null, ttftSamples: 2 })
    expect((await series('30d')).points).toEqual(days.points)
  })

  it('are unknown before the first kept hour, and while an hour waits for its sum', async () => {
    const { db, clock } = market.plane
    const old = new Date(Math.floor(clock.now() / HOUR) * HOUR - 12 * DAY)
    await sql`insert into market_hour select (jsonb_populate_record(h, jsonb_build_object('starts_at', ${old}::timestamptz))).*
      from market_hour h limit 1`.execute(db)
    const { knownFrom, points } = await series('30d')
    expect(knownFrom).toBe(Math.floor((clock.now() - 5 * DAY) / HOUR) * HOUR)
    expect(points).toHaveLength(2)
    await sql`delete from market_hour where starts_at = ${old}`.execute(db)
    await sql`update market_offer_hour set net_micro = null, calls = null where offer = ${busy}
      and starts_at < now() - interval '1 day'`.execute(db)
    const unknown = { calls: null, grossMicro: null, feeMicro: null, netMicro: null }
    expect((await series('7d')).points?.[0]).toMatchObject(unknown)
    await sql`insert into market_due (grain, starts_at) select distinct 'hour', starts_at from market_offer_hour`.execute(
      db,
    )
    expect((await series('7d')).points?.[1]).toMatchObject({ calls: 6 })
    await rollUp(market.plane, 0)
    expect((await series('7d')).points?.[0]).toMatchObject({ calls: 2, netMicro: net(2, 101) })
  })

  it('are the seller’s own: another seller finds no such offer', async () => {
    const asked = invoke(market.plane, bob.seller, getOfferSeries, { id: busy, window: '24h' })
    await expect(asked).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe('the figures of offers', () => {
  it('are the calls, the money and the latency of each, and not of other offers', async () => {
    const { items } = await figures({})
    expect(items.map(({ id }) => id)).toEqual([idle, rich, busy])
    expect(items[2]).toMatchObject({
      calls: 6,
      grossMicro: 606,
      feeMicro: 606 - net(6, 101),
      netMicro: net(6, 101),
      ttftSamples: 6,
    })
    expect(Math.abs((items[2]?.ttftP50Ms ?? 0) - 400)).toBeLessThanOrEqual(4)
    expect(items[1]).toMatchObject({ calls: 5, grossMicro: 49_995, netMicro: net(5, 9_999) })
    expect(items[0]).toMatchObject({ calls: 0, grossMicro: 0, feeMicro: 0, netMicro: 0, ttftP50Ms: null })
    for (const { grossMicro, feeMicro, netMicro } of items) expect(grossMicro).toBe((feeMicro ?? 0) + (netMicro ?? 0))
  })

  it('are of 24 hours or of 7 days', async () => {
    const [line] = (await figures({ window: '7d', sort: 'calls' })).items
    expect(line).toMatchObject({ id: busy, calls: 8, grossMicro: 808, netMicro: net(8, 101) })
  })

  it('sort by each figure in both directions, page after page, and offers without the figure come last', async () => {
    expect(await idsOf({ sort: 'calls' })).toEqual([busy, rich, idle])
    expect(await idsOf({ sort: 'net' })).toEqual([rich, busy, idle])
    expect(await idsOf({ sort: 'gross', isReversed: true })).toEqual([idle, busy, rich])
    expect(await idsOf({ sort: 'latency' })).toEqual([rich, busy, idle])
    expect(await idsOf({ sort: 'latency', isReversed: true })).toEqual([busy, rich, idle])
    for (const sort of ['newest', 'calls', 'net', 'latency']) {
      const seen: string[] = []
      let nextToken: string | undefined
      do {
        const page = await figures({ sort, maxItems: 1, ...(nextToken === undefined ? {} : { nextToken }) })
        expect(page.total).toBe(3)
        seen.push(...page.items.map(({ id }) => id))
        nextToken = page.nextToken ?? undefined
      } while (nextToken !== undefined)
      expect(seen).toEqual(await idsOf({ sort }))
    }
    const { nextToken } = await figures({ sort: 'net', maxItems: 1 })
    await expect(figures({ sort: 'calls', maxItems: 1, nextToken })).rejects.toMatchObject({ code: 'invalid_request' })
  })

  it('are unknown, not zero, while hours wait for their sum', async () => {
    await sql`update market_offer_hour set net_micro = null, calls = null where offer = ${busy}`.execute(
      market.plane.db,
    )
    const line = (await figures({})).items.find(({ id }) => id === busy)
    expect(line).toMatchObject({ calls: null, grossMicro: null, feeMicro: null, netMicro: null })
    await sql`insert into market_due (grain, starts_at) select distinct 'hour', starts_at from market_offer_hour`.execute(
      market.plane.db,
    )
    await rollUp(market.plane, 0)
    expect((await figures({})).items.find(({ id }) => id === busy)).toMatchObject({ calls: 6, netMicro: net(6, 101) })
  })

  it('read the hours of each offer by an index, however many the market has', async () => {
    const { db } = market.plane
    await sql`insert into market_offer_hour (starts_at, offer, model, trades, volume_micro, calls, net_micro, ttft_samples, ttft_sketch)
      select ${new Date(market.plane.clock.now())}::timestamptz - h * interval '1 hour', 'ofr_other_' || o, 'm', 1, 1, 1, 1, 0, ''
      from generate_series(1, 150) h, generate_series(1, 200) o`.execute(db)
    await sql`analyze market_offer_hour`.execute(db)
    const from = market.plane.clock.now() - 24 * HOUR
    const reads = await transact(db, async (trx) => {
      const readsOf = async () => {
        const { rows } = await sql<{ seq: number; tuples: number }>`select seq_scan::int as seq,
          idx_tup_fetch::int as tuples from pg_stat_xact_user_tables where relname = 'market_offer_hour'`.execute(trx)
        return rows[0] ?? expect.fail('no such table')
      }
      const before = await readsOf()
      await listOfferSums(trx, ada.seller.account, { status: undefined, model: undefined, from, limit: 100 })
      const after = await readsOf()
      return { seq: after.seq - before.seq, tuples: after.tuples - before.tuples }
    })
    expect(reads.seq).toBe(0)
    expect(reads.tuples).toBeLessThan(100)
    const { rows: plan } = await sql<{ 'QUERY PLAN': string }>`explain select sum(net_micro) from market_offer_hour
      where offer = ${busy} and starts_at >= ${new Date(from)}`.execute(db)
    expect(plan.map((row) => row['QUERY PLAN']).join('\n')).toContain('market_offer_hour_by_offer')
    await sql`delete from market_offer_hour where offer like 'ofr_other_%'`.execute(db)
  })
})
