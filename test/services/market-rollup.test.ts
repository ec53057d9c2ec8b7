import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { transact } from '#control-plane/db/database.ts'
import { areFiguresSummed, listFigures } from '#control-plane/db/market-figures.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { buildSold } from '#control-plane/services/lending/lent-documents.ts'
import { rollUp } from '#control-plane/services/market/market-rollup.ts'
import { readMarketRows, readSpeedClasses, readTradesTexts } from '#control-plane/services/market/market-rows.ts'
import { marketPriceHistory, marketSeries, readSeries } from '#control-plane/services/market/market-series.ts'
import { DAY, HOUR, MINUTE, systemClock } from '#shared/clock.ts'
import type { AccountId } from '#shared/ids.ts'
import { createIds, ulidTime } from '#shared/ids.ts'
import { SKETCH_ERROR, sketchBucket } from '#shared/sketch.ts'
import type { GateWorld } from '#test/support/books/gate.ts'
import { ids, log, startGateWorld } from '#test/support/books/gate.ts'
import { newAccount } from '#test/support/books/ledger.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import { until } from '#test/support/run/until.ts'

/** Noon of a day in the past, so that hours and days are complete at any time of the run. */
const NOON = Math.floor(Date.now() / DAY) * DAY - DAY + 12 * HOUR
const EACH = { model: 'each', provider: 'each' } as const
const CLOCK = { ...systemClock, now: () => NOON + 59 * MINUTE }
/** Calls of two days, for most tests. */
const SAMPLE = fc.sample(
  fc.record({
    minutes: fc.integer({ min: 0, max: 40 * 60 }),
    model: fc.constantFrom('alpha', 'beta'),
    provider: fc.constantFrom('p1', 'p2', 'p3'),
    ttftMs: fc.option(fc.integer({ min: 0, max: 20_000 }), { freq: 6 }),
    charge: fc.integer({ min: 0, max: 5_000 }),
    errorClass: fc.constantFrom(undefined, undefined, 'server_error', 'bad_request'),
    streamMs: fc.integer({ min: 1, max: 30_000 }),
    output: fc.integer({ min: 2, max: 4_000 }),
    cacheRead: fc.integer({ min: 0, max: 900 }),
  }),
  { numRuns: 600, seed: 7 },
)
let world: GateWorld
let buyer: AccountId
let seller: AccountId

beforeAll(async () => {
  world = await startGateWorld()
  await until('the gate is open', 10_000, async () => (await world.redis.get('m:epoch'))?.endsWith(':open') ?? false)
  buyer = await newAccount(world.db, 'buyer_credit', 90_000_000_000)
  seller = await newAccount(world.db, 'seller_available')
  const events = SAMPLE.map(({ minutes, streamMs, output, cacheRead, errorClass, ...given }) => {
    const isFailed = errorClass !== undefined
    return call({
      ...given,
      at: NOON - minutes * MINUTE,
      ...(isFailed ? { errorClass, charge: 0, outcome: 'failed' } : {}),
      changes: { streamMs, usage: { input: 100, cacheRead, output } },
    })
  })
  expect(await post(events)).toMatchObject({ posted: 600, poisoned: 0 })
  await rollUp(ctx(), 0)
})
afterAll(() => world.stop())

type CallFields = {
  readonly at: number
  readonly model?: string
  readonly provider?: string
  readonly ttftMs?: number | null
  readonly charge?: number
  readonly outcome?: string
  readonly errorClass?: string
  readonly changes?: Record<string, unknown>
}

/** The event of a call at this time. */
function call({ at, model = 'm', provider = 'p1', ttftMs = 200, charge = 1_000, ...rest }: CallFields): string {
  const { outcome = 'succeeded', errorClass = null, changes = {} } = rest
  const rid = createIds({ now: () => at }).ulid()
  const offer = `ofr_${provider}`
  const attempts = [{ offer, provider, status: errorClass === null ? 200 : 500, ms: 300, errorClass }]
  const facts = { provider, offer, ttftMs, outcome, isStreamed: true, attempts }
  const account = { account: buyer, sellerAccount: seller }
  return eventText({ rid, ...account, charge, model, startedAt: at }, { ...facts, ...changes })
}

const post = (events: readonly string[]) =>
  postBatch({ ledger: world.ledger, gate: world.gate, clock: systemClock, ids, log }, { events, source: 'test' })
const ctx = () => ({ db: world.db, clock: CLOCK })
const rowOf = async (model: string) => {
  const [row] = await readMarketRows(world.db, [model], NOON)
  return row ?? expect.fail('no row')
}

/** The amounts that buyers paid for a model in the hours of the day, as shown in the price history. */
const paidFor = async (model: string) => {
  const history = marketPriceHistory.run({ db: world.db, clock: CLOCK } as never, {} as never, {
    model,
    bucket: 'hour',
    from: NOON - DAY,
    to: NOON + HOUR,
  })
  return (await history).paid
}

describe('the figures of the market', () => {
  it('equal raw settlements, recomputed in SQL', async () => {
    const from = new Date(NOON - 23 * HOUR)
    for (const model of ['alpha', 'beta']) {
      const row = await rowOf(model)
      const { rows } = await sql<Record<string, number | bigint>>`
        select count(*)::int as requests, sum(charge)::text as volume,
          count(ttft_ms)::int as ttft_samples, percentile_disc(0.5) within group (order by ttft_ms) as ttft,
          percentile_disc(0.5) within group (order by (output_tokens + reasoning_tokens) * 1000.0 / stream_ms)::float8 as tps,
          round(100.0 * sum(cache_read_tokens) / sum(input_tokens + cache_read_tokens), 2)::float8 as cache,
          round(100.0 * count(*) filter (where outcome = 'succeeded') / count(*) filter (where outcome = 'succeeded'
            or attempts -> 0 ->> 'errorClass' = 'server_error'), 2)::float8 as uptime,
          trunc(100.0 * (sum(list_cost) - sum(charge)) / sum(list_cost), 2)::float8 as discount
        from settlement where model = ${model} and rid >= ulid_floor(${from}) and rid < ulid_floor(${new Date(NOON + HOUR)})`.execute(
        world.db,
      )
      const raw = rows[0] ?? {}
      expect(row).toMatchObject({
        requests24h: raw['requests'],
        volume24hMicro: BigInt(raw['volume'] ?? 0),
        ttftSamples: raw['ttft_samples'],
        cacheHitRatePct: raw['cache'],
        uptimePct: raw['uptime'],
      })
      expect(row.discountTrend?.currentDiscountPct).toBe(raw['discount'])
      const isNear = (found: number | null, exact: unknown) =>
        expect(Math.abs((found ?? Number.NaN) - Number(exact))).toBeLessThanOrEqual(Number(exact) * SKETCH_ERROR + 0.5)
      isNear(row.ttftP50Ms, raw['ttft'])
      isNear(row.tpsP50, raw['tps'])
      for (const provider of row.providers) {
        const { rows: tries } = await sql<{ samples: number; ttft: number; uptime: number }>`
          select count(ttft_ms)::int as samples, percentile_disc(0.5) within group (order by ttft_ms) as ttft,
            round(100.0 * count(*) filter (where attempts -> 0 ->> 'errorClass' is null)
              / count(*) filter (where attempts -> 0 ->> 'errorClass' is distinct from 'bad_request'), 2)::float8 as uptime
          from settlement where model = ${model} and provider = ${provider.provider} and rid >= ulid_floor(${from})`.execute(
          world.db,
        )
        expect(provider.ttftSamples).toBe(tries[0]?.samples)
        expect(provider.uptimePct).toBe(tries[0]?.uptime)
        isNear(provider.ttftP50Ms, tries[0]?.ttft)
      }
    }
    expect(SAMPLE.every(({ ttftMs }) => ttftMs === null || sketchBucket(ttftMs) <= 1_000)).toBe(true)
  })

  it('agree with the rows of models for the same period, including the calls that a share is based on', async () => {
    const period = await readSeries(ctx(), { bucket: 'period', groupBy: ['model'] })
    const byHour = await readSeries(ctx(), { groupBy: ['model'] })
    for (const model of ['alpha', 'beta']) {
      const [row, point] = [await rowOf(model), period.find((one) => one.model === model)]
      expect(point).toMatchObject({
        calls: row.requests24h,
        uptimePct: row.uptimePct,
        ttftP50Ms: row.ttftP50Ms,
        hours: 24,
      })
      const hours = byHour.filter((one) => one.model === model)
      expect(hours.reduce((sum, { uptimeBase }) => sum + uptimeBase, 0)).toBe(point?.uptimeBase)
      expect(hours.every(({ bucket }) => bucket > NOON - DAY && bucket <= NOON)).toBe(true)
      const providers = await readSeries(ctx(), { bucket: 'period', models: [model], groupBy: ['provider'] })
      expect(providers.map(({ provider, uptimePct }) => ({ provider, uptimePct }))).toEqual(
        row.providers.map(({ provider, uptimePct }) => ({ provider, uptimePct })),
      )
    }
  })

  it('are one sum over all calls of a period of 90 days, also where its days differ', async () => {
    const [model, days] = ['long', [80, 60, 3]]
    const calls = days.flatMap((daysAgo, at) =>
      // Ten calls of the first day, of which five failed, 20 of the second and 30 of the third.
      Array.from({ length: 10 * (at + 1) }, (_, index) =>
        call({
          at: NOON - daysAgo * DAY + index * MINUTE,
          model,
          ...(at === 0 && index % 2 === 0 ? { errorClass: 'server_error', charge: 0, outcome: 'failed' } : {}),
        }),
      ),
    )
    expect(await post([...calls, call({ at: NOON - HOUR, model })])).toMatchObject({ posted: 61, poisoned: 0 })
    await rollUp(ctx(), 0)
    const choice = { from: NOON - 89 * DAY, models: [model], bucket: 'period' as const }
    const [point] = await readSeries(ctx(), choice)
    expect(point).toMatchObject({ calls: 61, uptimeBase: 61, uptimePct: Math.round((56 / 61) * 10_000) / 100 })
    expect(point?.bucket).toBe(Math.floor((NOON - 89 * DAY) / DAY) * DAY)
    const summed = marketSeries.run({ db: world.db, clock: CLOCK } as never, {} as never, {
      ...choice,
      groupBy: [],
      withBands: false,
      withSpeeds: false,
    })
    expect((await summed)?.map(({ calls: sum }) => sum)).toEqual([61])
  })

  it('hold the calls of the last minutes in the bucket of the running day, whose own row is summed later', async () => {
    const model = 'running'
    const day = { from: NOON - DAY, models: [model], bucket: 'day' as const }
    await post([call({ at: NOON - HOUR, model })])
    await rollUp(ctx(), 0)
    await post([call({ at: NOON - MINUTE, model, provider: 'latest' })])
    await rollUp(ctx())
    const span = { from: NOON - DAY, to: NOON, models: [model], level: EACH }
    expect(await listFigures(world.db, 'day', span)).toHaveLength(1)
    expect((await readSeries(ctx(), day)).map(({ bucket, hours, calls }) => [bucket, hours, calls])).toEqual([
      [Math.floor(NOON / DAY) * DAY, 24, 2],
    ])
    const providers = await readSeries(ctx(), { ...day, groupBy: ['provider'] })
    expect(providers.map(({ provider }) => provider)).toContain('latest')
  })

  it('come in buckets long enough for their calls to be measured, which keep every call', async () => {
    const models = ['alpha', 'beta']
    for (const groupBy of [['model'], ['provider'], []] as const) {
      const choice = { models, groupBy: [...groupBy], withBands: true }
      const points = await readSeries(ctx(), { ...choice, bucket: 'fit' })
      const single = await readSeries(ctx(), { ...choice, bucket: 'hour' })
      const sum = (some: typeof points, read: (point: (typeof points)[number]) => number) =>
        some.reduce((total, point) => total + read(point), 0)
      expect(sum(points, ({ calls }) => calls)).toBe(sum(single, ({ calls }) => calls))
      expect(sum(points, ({ uptimeBase }) => uptimeBase)).toBe(sum(single, ({ uptimeBase }) => uptimeBase))
      const lengths = new Set(points.map(({ hours }) => hours))
      expect(lengths.size).toBe(1)
      const known = points.filter(({ uptimePct }) => uptimePct !== null)
      expect(sum(known, ({ uptimeBase }) => uptimeBase)).toBeGreaterThanOrEqual(
        0.9 * sum(points, ({ uptimeBase }) => uptimeBase),
      )
      // Buckets end with the running hour, and none goes beyond it.
      for (const { bucket, hours } of points) expect((NOON + HOUR - bucket) % (hours * HOUR)).toBe(0)
    }
    const byModel = await readSeries(ctx(), { models, groupBy: ['model', 'provider'], bucket: 'fit' })
    const hourly = await readSeries(ctx(), { models, groupBy: ['model', 'provider'], bucket: 'hour' })
    const measured = (some: typeof byModel) => some.filter(({ uptimePct }) => uptimePct !== null).length / some.length
    expect(measured(byModel)).toBeGreaterThan(measured(hourly))
    const bare = await readSeries(ctx(), { models, groupBy: ['model'], bucket: 'period', withSpeeds: false })
    expect(bare.map(({ ttftP50Ms, ttftSamples }) => [ttftP50Ms, ttftSamples])).toEqual([
      [null, 0],
      [null, 0],
    ])
  })

  it('sum days up from hours, and both from the same calls', async () => {
    const span = { from: NOON - 3 * DAY, to: NOON + DAY, models: ['alpha', 'beta'], level: EACH }
    const [hours, days] = [await listFigures(world.db, 'hour', span), await listFigures(world.db, 'day', span)]
    for (const day of days) {
      const own = hours.filter(
        (row) =>
          Math.floor(row.startsAt.getTime() / DAY) * DAY === day.startsAt.getTime() &&
          row.model === day.model &&
          row.provider === day.provider,
      )
      expect(own.reduce((sum, row) => sum + row.calls, 0)).toBe(day.calls)
      expect(own.reduce((sum, row) => sum + row.volumeMicro, 0n)).toBe(day.volumeMicro)
      expect(own.reduce((sum, row) => sum + row.ttftSamples, 0)).toBe(day.ttftSamples)
    }
    expect(days.reduce((sum, row) => sum + row.calls, 0)).toBe(600)
  })

  it('stay the same when hours are computed again, and a dead worker leaves the other hours marked', async () => {
    const everything = async () =>
      (await sql<{ row: string }>`select h::text as row from market_hour h order by 1`.execute(world.db)).rows
    const before = await everything()
    await sql`insert into market_due (grain, starts_at) select distinct 'hour', starts_at from market_hour`.execute(
      world.db,
    )
    const report = await rollUp(ctx(), 0)
    expect(report.hours).toBeGreaterThan(20)
    expect(await everything()).toEqual(before)
    expect((await sql`select 1 from market_due`.execute(world.db)).rows).toEqual([])
    // A second read soon after reads the same rows and returns the same figures.
    await rollUp(ctx(), 0)
    expect(await everything()).toEqual(before)
  })

  it('are unknown, not zero, while calls of their time are not summed', async () => {
    const from = NOON - 20 * DAY
    const lonely = { from, to: from + HOUR }
    const today = { from: NOON, to: NOON + HOUR }
    expect(await areFiguresSummed(world.db, 'hour', lonely)).toBe(true)
    await post([call({ at: from + 1_000, model: 'alpha' })])
    expect(await areFiguresSummed(world.db, 'hour', lonely)).toBe(false)
    expect(await areFiguresSummed(world.db, 'day', lonely)).toBe(false)
    // A recent call in an hour with other calls does not make the figure unknown.
    expect(await areFiguresSummed(world.db, 'hour', today)).toBe(true)
    // The first sum of a day does not wait.
    await rollUp(ctx())
    expect(await areFiguresSummed(world.db, 'day', lonely)).toBe(true)
    expect(await rowOf('alpha')).toMatchObject({ requests24h: expect.any(Number) })
    // No worker has summed for an hour, and calls were booked meanwhile.
    await sql`update market_watermark set looked_at = now() - interval '1 hour'`.execute(world.db)
    expect(await areFiguresSummed(world.db, 'hour', today)).toBe(false)
    expect(await rowOf('alpha')).toMatchObject({ requests24h: null, volume24hMicro: null })
    expect(await rowOf('nobody-called')).toMatchObject({ requests24h: null, volume24hMicro: null })
    expect(await readTradesTexts(world.db, NOON)).toBeNull()
    expect(await paidFor('alpha')).toBeNull()
    expect(await transact(world.db, (trx) => buildSold(trx, NOON))).toEqual({ rows: null })
    await rollUp(ctx(), 0)
    expect(await areFiguresSummed(world.db, 'hour', today)).toBe(true)
    expect(await rowOf('nobody-called')).toMatchObject({ requests24h: 0, volume24hMicro: 0n })
    expect(await readTradesTexts(world.db, NOON, ['alpha'])).toEqual(
      new Map([['alpha', expect.stringMatching(/^ofr_/)]]),
    )
    expect(await paidFor('alpha')).not.toEqual([])
    expect(await transact(world.db, (trx) => buildSold(trx, NOON))).toEqual({ rows: [] })
  })

  it('count a late event in the hour it belongs to', async () => {
    const at = NOON - 5 * HOUR
    await post(Array.from({ length: 5 }, (_, index) => call({ at: at + index * 1_000, model: 'late', ttftMs: 100 })))
    await rollUp(ctx(), 0)
    expect(await rowOf('late')).toMatchObject({ requests24h: 5, ttftSamples: 5, ttftP50Ms: 100 })
    const late = call({ at: at + 9_000, model: 'late', ttftMs: 4_000 })
    await post([late, late])
    await rollUp(ctx(), 0)
    expect(await rowOf('late')).toMatchObject({ requests24h: 6, ttftSamples: 6 })
    const hours = await listFigures(world.db, 'hour', {
      from: at - HOUR,
      to: at + HOUR,
      models: ['late'],
      level: EACH,
    })
    expect(hours.map(({ startsAt, calls }) => [startsAt.getTime(), calls])).toEqual([[Math.floor(at / HOUR) * HOUR, 6]])
    expect(ulidTime(JSON.parse(late).rid)).toBe(at + 9_000)
  })

  it('are null, with the count beside them, while too few calls are behind them', async () => {
    await post([call({ at: NOON, model: 'rare' }), call({ at: NOON, model: 'rare' })])
    await rollUp(ctx(), 0)
    expect(await rowOf('rare')).toMatchObject({
      ttftP50Ms: null,
      ttftSamples: 2,
      tpsP50: null,
      tpsSamples: 2,
      uptimePct: null,
      cacheHitRatePct: null,
      requests24h: 2,
    })
    expect(await rowOf('never sold')).toMatchObject({
      ttftP50Ms: null,
      ttftSamples: 0,
      requests24h: 0,
      discountTrend: null,
    })
  })

  it('count a provider as down while its offer is backed off, once for any number of processes', async () => {
    const at = NOON - 2 * HOUR
    await insertOffer('ofr_down', 'down')
    await post(
      Array.from({ length: 20 }, (_, index) =>
        index < 10
          ? call({ at: at + index, model: 'sick', provider: 'down' })
          : call({ at: at + index, model: 'well', provider: 'down' }).replaceAll('ofr_down', 'ofr_well'),
      ),
    )
    const health = async (action: string, from: number, until: number | null) =>
      sql`insert into health_log (id, at, node, offer, model, detail, action, backed_off_until)
        values (${createIds(systemClock).make('hlt')}, ${new Date(from)}, 'n', 'ofr_down', 'sick', '', ${action},
          ${until === null ? null : new Date(until)})`.execute(world.db)
    const start = Math.floor(at / HOUR) * HOUR
    await health('backed_off', start, start + 40 * MINUTE)
    await health('backed_off', start + 10 * MINUTE, start + 40 * MINUTE)
    await health('recovered', start + 30 * MINUTE, null)
    await rollUp(ctx(), 0)
    const [hour] = await listFigures(world.db, 'hour', {
      from: start,
      to: start + HOUR,
      providers: ['down'],
      level: EACH,
    })
    expect(hour).toMatchObject({ downMs: 30 * MINUTE, offers: 1, attemptsGood: 10, attemptsBad: 0 })
    // The window is 23 hours and 59 minutes long so far. The outage took half an hour of it.
    const [provider] = (await rowOf('sick')).providers
    expect(provider?.uptimePct).toBeCloseTo(100 * (1 - 30 / (23 * 60 + 59)), 1)
    // The provider has two offers, of two models. One of them was down for half an hour.
    const [all] = await readSeries(ctx(), { bucket: 'period', groupBy: ['provider'], providers: ['down'] })
    expect(all?.uptimePct).toBeCloseTo(100 * (1 - 30 / (2 * (23 * 60 + 59))), 1)
  })

  it('divide offers into coarse classes of speed', async () => {
    const events = [100, 101, 102, 99, 100, 2_000, 2_001, 2_002, 1_999, 2_000].map((ttftMs, index) =>
      call({ at: NOON + index, model: 'fast', provider: ttftMs < 1_000 ? 'quick' : 'slow', ttftMs }),
    )
    await post(events)
    await rollUp(ctx(), 0)
    const classes = await readSpeedClasses(world.db, ['fast'], CLOCK.now())
    const [quick = 0, slow = 0] = [classes.get('ofr_quick'), classes.get('ofr_slow')]
    expect(quick / 100).toBeLessThan(1.26)
    expect(slow / quick).toBeGreaterThan(15)
  })

  it('fall into the same buckets in SQL as in TypeScript', async () => {
    const { rows } = await sql<{ v: number; b: number }>`select v::float8 as v, sketch_bucket(v) as b
      from (select generate_series(0, 20000) union all select generate_series(20000, 4000000, 997)) s (v)`.execute(
      world.db,
    )
    expect(rows.filter(({ v, b }) => sketchBucket(v) !== b)).toEqual([])
  })
})

async function insertOffer(id: string, provider: string): Promise<void> {
  const { db } = world
  await sql`insert into provider (id, name, base_url, host, is_trusted, updated_at)
    values (${provider}, 'P', 'https://p.example/v1', ${`${provider}.example`}, true, now())`.execute(db)
  await sql`insert into model (id, is_sandbox, body, updated_at) values ('sick', false, '{}', now())`.execute(db)
  const sealed = { id: 'crd_x', tenant: seller, host: 'p.example', purpose: 'offer' }
  await sql`insert into credential (id, tenant, host, purpose, base_url, fingerprint, sealed, created_at)
    values ('crd_x', ${seller}, 'p.example', 'offer', 'https://p.example/v1', ${'a'.repeat(64)},
      ${JSON.stringify(sealed)}::jsonb, now())`.execute(db)
  await sql`insert into offer (id, seller_account, model, provider, credential_id, fingerprint, base_url, api_format,
      provider_model, pricing_mode, kept_bps, status, created_at, updated_at)
    values (${id}, ${seller}, 'sick', ${provider}, 'crd_x', ${'a'.repeat(64)}, 'https://p.example/v1', 'openai', 'x',
      'discount', 5000, 'active', now(), now())`.execute(db)
}
