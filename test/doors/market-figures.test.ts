import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { invoke } from '#control-plane/operation/invoke.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { importCatalog } from '#control-plane/services/catalog/catalog.ts'
import { rollUp } from '#control-plane/services/market/market-rollup.ts'
import { marketPriceHistory, marketSeries } from '#control-plane/services/market/market-series.ts'
import { DAY, HOUR } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'
import { grant } from '#test/support/books/ledger.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { catalogItem, operator, startMarket, trpcCodeOf } from '#test/support/doors/control-plane.ts'

const NOBODY = { kind: 'nobody' } as const
/** The calls lie in whole hours that ended before the test began. */
const HOUR_NOW = Math.floor(Date.now() / HOUR) * HOUR
let market: TestMarket
let ada: Person

beforeAll(async () => {
  market = await startMarket()
  ada = await market.person()
  await grant(market.plane.db, ada.buyer.account, 1_000_000)
  await postCalls()
  await rollUp(market.plane, 0)
})
afterAll(() => market.stop())

const answered = { offer: 'ofr_test', status: 200, ms: 900, errorClass: null }

/** Posts six calls an hour over three hours, of two models, at two providers by turns. */
async function postCalls(): Promise<void> {
  const events = [1, 2, 3].flatMap((hoursAgo) =>
    Array.from({ length: 6 }, (_, index) => {
      const at = HOUR_NOW - hoursAgo * HOUR + index * 1_000
      const provider = index % 2 === 0 ? 'p1' : 'p2'
      return eventText(
        {
          rid: createIds({ now: () => at }).ulid(),
          account: ada.buyer.account,
          sellerAccount: ada.seller.account,
          model: index < 4 ? 'gpt-test' : 'claude-test',
          charge: 100 * hoursAgo,
          startedAt: at,
        },
        { provider, ttftMs: 100 * (index + 1), keptBps: 5_000 + hoursAgo, attempts: [{ ...answered, provider }] },
      )
    }),
  )
  const report = await postBatch(market.plane, { events, source: 'test' })
  expect(report).toMatchObject({ posted: 18, poisoned: 0 })
}

const series = async (input: object) =>
  (await invoke(market.plane, NOBODY, marketSeries, { from: HOUR_NOW - 3 * HOUR, ...input })) ?? []

describe('series of the market', () => {
  it('have one point per bucket, for all callers, with every call in it', async () => {
    const points = await series({})
    expect(points.map(({ bucket, calls, volumeMicro }) => [(HOUR_NOW - bucket) / HOUR, calls, volumeMicro])).toEqual([
      [3, 6, 1_800n],
      [2, 6, 1_200n],
      [1, 6, 600n],
    ])
    expect(points[0]).toMatchObject({ model: null, provider: null, trades: 6, discountPct: 50, bestDiscountPct: 49.97 })
    expect(points[0]?.ttftP50Ms).toBeGreaterThanOrEqual(297)
    expect(points[0]?.ttftP50Ms).toBeLessThanOrEqual(303)
  })

  it('are grouped and filtered by model and provider, and the parts add up', async () => {
    const whole = await series({})
    const byModel = await series({ groupBy: ['model'] })
    const byBoth = await series({ groupBy: ['model', 'provider'] })
    const sum = (points: typeof whole) => points.reduce((total, point) => total + point.calls, 0)
    expect([sum(byModel), sum(byBoth), sum(await series({ groupBy: ['provider'] }))]).toEqual([18, 18, 18])
    expect(new Set(byBoth.map(({ model, provider }) => `${model} ${provider}`)).size).toBe(4)
    expect(sum(await series({ models: ['gpt-test'] }))).toBe(12)
    expect(sum(await series({ models: ['gpt-test'], providers: ['p1'] }))).toBe(6)
    expect(await series({ models: ['nothing'] })).toEqual([])
    // The median over several providers comes from the merged sketches, not from the providers' medians.
    const [point] = await series({ models: ['gpt-test'], from: HOUR_NOW - 3 * HOUR, to: HOUR_NOW - 2 * HOUR })
    expect(point).toMatchObject({ calls: 4, ttftP50Ms: null, ttftSamples: 4 })
    const days = await series({ bucket: 'day', from: HOUR_NOW - 2 * DAY })
    expect(sum(days)).toBe(18)
  })

  it('refuse spans that are too long or invalid', async () => {
    await expect(series({ from: 0 })).rejects.toMatchObject({ code: 'invalid_request', param: 'from' })
    await expect(series({ from: HOUR_NOW, to: HOUR_NOW - DAY })).rejects.toMatchObject({ code: 'invalid_request' })
  })
})

describe('the prices of a model', () => {
  it('are its reference by version, and the amounts that buyers paid for it', async () => {
    const item = { ...catalogItem('gpt-test'), pricing: { prompt: '0.000001', completion: '0.000004' } }
    await invoke(market.plane, operator, importCatalog, { source: 'later', models: [item] })
    market.advance(1_000)
    const history = await invoke(market.plane, NOBODY, marketPriceHistory, {
      model: 'gpt-test',
      bucket: 'hour',
      from: HOUR_NOW - DAY,
    })
    expect(history.references.map(({ source, unitPrices }) => [source, unitPrices['input']])).toEqual([
      ['test', '250000'],
      ['later', '1000000'],
    ])
    expect(history.paid?.map(({ trades, bestDiscountPct }) => [trades, bestDiscountPct])).toEqual([
      [4, 49.97],
      [4, 49.98],
      [4, 49.99],
    ])
  })
})

describe('the tRPC door', () => {
  it('answers series, prices and trades to all callers, amounts as text', async () => {
    const client = market.trpc(undefined)
    const points = await client.market.series.query({ from: HOUR_NOW - 3 * HOUR, groupBy: ['model'] })
    expect(points?.[0]).toMatchObject({ model: 'claude-test', volumeMicro: '600' })
    const trades = await client.market.trades.query({ limit: 2 })
    expect(trades.map(({ chargeMicro }) => chargeMicro)).toEqual(['100', '100'])
    expect(JSON.stringify(trades)).not.toMatch(/acc_|ofr_|key_|seller|buyer/)
    expect((await client.market.prices.query({ model: 'gpt-test' })).references.length).toBeGreaterThan(0)
  })

  it('refuses limits of -1 and a million', async () => {
    for (const limit of [-1, 0, 1_000_000]) {
      expect(await trpcCodeOf(market.trpc(undefined).market.trades.query({ limit }))).toBe('invalid_request')
    }
  })

  it.each([
    ['a wrong type', { bucket: 5 }],
    ['an unknown group', { groupBy: ['buyer'] }],
    ['an integer of 2^53', { from: 2 ** 53 }],
    ['a name of a megabyte', { models: ['x'.repeat(1_000_000)] }],
    ['a thousand names', { models: Array.from({ length: 1_000 }, (_, index) => `m${index}`) }],
    ['a negative time', { from: -1 }],
  ])('refuses %s', async (_what, input) => {
    await expect(series(input)).rejects.toMatchObject({ code: 'invalid_request' })
  })

  it('accepts ten queries in a batch, and no more', async () => {
    const ask = (count: number) => {
      const input = encodeURIComponent(
        JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [at, {}]))),
      )
      return fetch(`${market.url}/trpc/${Array(count).fill('market.series').join(',')}?batch=1&input=${input}`)
    }
    expect((await ask(10)).status).toBe(200)
    expect((await ask(11)).status).toBe(400)
  })
})
