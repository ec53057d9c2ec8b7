import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkMoney } from '#control-plane/check-ledger/check.ts'
import { listJobs } from '#control-plane/db/jobs.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { importCatalog, putProvider } from '#control-plane/services/catalog/catalog.ts'
import { viewOfJob } from '#control-plane/services/jobs/job-view.ts'
import { listCaps } from '#control-plane/services/keys/key-caps.ts'
import { listBuyerKeys } from '#control-plane/services/keys/keys.ts'
import { rollUp } from '#control-plane/services/market/market-rollup.ts'
import { readMarketRows } from '#control-plane/services/market/market-rows.ts'
import { readSeries } from '#control-plane/services/market/market-series.ts'
import { listStatements } from '#control-plane/services/usage/statements.ts'
import type { SampleProvider } from '#dev/provider/server.ts'
import { createSampleProvider } from '#dev/provider/server.ts'
import { makeHistory } from '#dev/seed/history.ts'
import { pastOutages } from '#dev/seed/history-calls.ts'
import { readGoods } from '#dev/seed/history-goods.ts'
import { capSampleKeys, makeSampleKeys } from '#dev/seed/sample-keys.ts'
import { DAY, HOUR, MINUTE } from '#shared/clock.ts'
import type { AccountId } from '#shared/ids.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { operator, startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer } from '#test/support/doors/offers.ts'
import { textModel } from '#test/support/facts/text-model.ts'

const CALLS = 1_200
const FILM = { lengths: { least: 4, most: 12, step: 4, usual: 4 }, resolutions: [], roles: [], needsSource: false }
const MEDIA = [
  ['picture-test', { endpoints: ['image'], unit_pricing: { images: '0.04', images_2k: '0.06' } }],
  ['area-test', { endpoints: ['image'], unit_pricing: { pixels_per_million: '0.025' } }],
  ['voice-test', { endpoints: ['speech'], unit_pricing: { characters: '0.000015' } }],
  ['heard-test', { endpoints: ['transcription'], unit_pricing: { minutes: '0.006' } }],
  ['film-test', { endpoints: ['video'], unit_pricing: { seconds: '0.1' }, clip: FILM }],
  ['song-test', { endpoints: ['music'], pricing: { prompt: '0', completion: '0', request: '0.03' } }],
] as const
let market: TestMarket
/** A provider that is not trusted, with the lowest price. */
let stranger: SampleProvider
/** The first thirty days, just after they were made. */
let first: Awaited<ReturnType<typeof count>> & { readonly posted: number; readonly madeAt: number }

beforeAll(async () => {
  market = await startMarket()
  const seller = (await market.person()).seller
  for (const [index, model] of ['gpt-test', 'gpt-test', 'claude-test'].entries()) {
    await listOffer(market, seller, { model, discount: 20 + index })
  }
  const models = MEDIA.map(([name, kind]) => textModel(name, { pricing: { prompt: '0', completion: '0' }, ...kind }))
  await invoke(market.plane, operator, importCatalog, { source: 'test', models })
  for (const [model, { endpoints }] of MEDIA) {
    const apiFormat = endpoints[0] === 'music' ? 'falqueue' : 'openai'
    await listOffer(market, seller, { model, discount: 10, apiFormat })
  }
  stranger = await createSampleProvider({ host: '127.0.0.1', port: 0, name: 'stranger', models: ['gpt-test'] })
  const record = { id: 'stranger', name: 'Stranger', baseUrl: stranger.url, isTrusted: false }
  await invoke(market.plane, operator, putProvider, record)
  await listOffer(market, seller, { model: 'gpt-test', discount: 60, sellerBaseUrl: stranger.url })
  const posted = await makeHistory(market.plane, CALLS)
  first = { posted, madeAt: market.plane.clock.now(), ...(await count()) }
})
afterAll(async () => {
  await stranger.close()
  await market.stop()
})

const count = async () =>
  (
    await sql<{ calls: number; poison: number; oldest: Date; strays: number }>`select count(*)::int as calls,
      min(started_at) as oldest, (select count(*)::int from usage_poison) as poison,
      (select count(*)::int from settlement_default) as strays
    from settlement`.execute(market.plane.db)
  ).rows[0] ?? expect.fail('no row')

describe('the past of the development market', () => {
  it('is booked over 30 days like any other calls, and the ledger is in order', async () => {
    const { posted, madeAt, calls, oldest, poison, strays } = first
    expect([calls, poison, strays]).toEqual([posted, 0, 0])
    expect(Math.abs(calls - CALLS)).toBeLessThan(CALLS * 0.05)
    const age = madeAt - oldest.getTime()
    expect(age).toBeLessThanOrEqual(30 * DAY + MINUTE)
    expect(age).toBeGreaterThan(28 * DAY)
    const checked = await checkMoney(
      { databaseUrl: market.world.databaseUrl, redisUrl: market.world.redisUrl, journalDir: undefined },
      { isQuiesced: false },
    )
    expect(checked.findings.filter((finding) => finding.state === 'breach')).toEqual([])
  })

  it('has images, sound, films and music beside text, each charged by its unit, and in the days of the market', async () => {
    const { rows } = await sql<{ model: string; units: number; price: number }>`select model,
      sum(images + pixels + characters + milliseconds + calls)::float8 as units,
      sum(list_cost)::float8 / sum(images + pixels + characters + milliseconds + calls) as price
      from settlement where endpoint <> 'chat' and outcome <> 'failed' group by model`.execute(market.plane.db)
    expect(new Set(rows.map(({ model }) => model))).toEqual(new Set(MEDIA.map(([name]) => name)))
    const price = (name: string) => rows.find(({ model }) => model === name)?.price
    // Micro-USD of a character, of a millisecond and of a pixel.
    expect(price('voice-test')).toBe(15)
    expect(price('heard-test')).toBeCloseTo(0.1, 2)
    expect(price('area-test')).toBeCloseTo(0.025, 3)
    expect(price('film-test')).toBe(100)
    expect(price('song-test')).toBe(30_000)
    const films = await sql<{ seconds: number }>`select distinct milliseconds::float8 / 1000 as seconds from settlement
      where model = 'film-test' and outcome <> 'failed' order by 1`.execute(market.plane.db)
    expect(films.rows.every(({ seconds }) => [4, 8, 12].includes(seconds))).toBe(true)
    await rollUp(market.plane, 0)
    const days = await readSeries(market.plane, { bucket: 'day', from: market.plane.clock.now() - 31 * DAY })
    const booked = await sql<{ images: number; characters: number }>`select sum(images)::float8 as images,
      sum(characters)::float8 as characters from settlement`.execute(market.plane.db)
    const sum = (read: (day: (typeof days)[number]) => number) => days.reduce((all, day) => all + read(day), 0)
    expect({ images: sum(({ images }) => images), characters: sum(({ characters }) => characters) }).toEqual(
      booked.rows[0],
    )
  })

  it('records for each call its other possible offers, and the first attempt went to the first of them', async () => {
    const { rows } = await sql<{ calls: number; led: number; jobs: number }>`select count(*)::int as calls,
      (count(*) filter (where explanation #> '{ranked,0,offer}' = attempts #> '{0,offer}'))::int as led,
      (count(*) filter (where explanation is null))::int as jobs
      from settlement`.execute(market.plane.db)
    const jobs = rows[0]?.jobs ?? 0
    expect(rows[0]).toEqual({ calls: first.posted, led: first.posted - jobs, jobs })
  })

  it('has a finished job for each film and each piece of music, which no worker saw run', async () => {
    const { rows } = await sql<{ sales: number; jobs: number; late: number; waiting: number }>`select
      (select count(*)::int from settlement where endpoint in ('video', 'music') and outcome <> 'failed') as sales,
      count(*)::int as jobs, (count(*) filter (where ended_at is null or polls > 0))::int as late,
      (select count(*)::int from job_end where booked_at is null) as waiting from job`.execute(market.plane.db)
    const sales = rows[0]?.sales ?? 0
    expect(sales).toBeGreaterThan(10)
    expect(rows).toEqual([{ sales, jobs: sales, late: 0, waiting: 0 }])
    // A job ends when its event says so, and not when the end is booked, which was a month later.
    const film = await sql<{ account: AccountId }>`select account from job order by rid limit 1`.execute(
      market.plane.db,
    )
    const account = film.rows[0]?.account ?? expect.fail('no job')
    const jobs = await listJobs(market.plane.db, account, { state: 'succeeded', before: undefined, limit: 100 })
    for (const job of jobs) {
      const { submittedAt, endedAt, deadlineAt, units } = viewOfJob(job)
      expect(endedAt).toBeGreaterThan(submittedAt)
      expect(endedAt).toBeLessThan(deadlineAt)
      expect(units).toBeGreaterThan(0)
    }
  })

  it('buys at trusted providers only, because its buyers allow no others', async () => {
    const { rows } = await sql<{ provider: string; excluded: boolean }>`select attempt ->> 'provider' as provider,
      bool_and(explanation @> '{"excluded":[{"reason":"trusted"}]}') as excluded
      from settlement, jsonb_array_elements(attempts) as attempt where model = 'gpt-test' group by 1`.execute(
      market.plane.db,
    )
    expect(rows).toEqual([{ provider: 'test', excluded: true }])
  })

  it('has outages, each of which ends within it', async () => {
    const span = { from: first.madeAt, to: first.madeAt + 30 * DAY, count: 0 }
    const outages = pastOutages(await readGoods(market.plane), span)
    expect(outages.length).toBeGreaterThan(MEDIA.length)
    expect(outages.filter(({ at }) => at < span.from || at > span.to)).toEqual([])
  })

  it('gives the market figures', async () => {
    await rollUp(market.plane, 0)
    const rows = await readMarketRows(market.plane.db, ['gpt-test', 'claude-test'], market.plane.clock.now())
    expect(rows.reduce((sum, row) => sum + (row.requests24h ?? 0), 0)).toBeGreaterThan(10)
    expect(rows.some((row) => row.ttftP50Ms !== null && row.discountTrend !== null)).toBe(true)
  })

  it('stays unchanged when it is made again, and continues from its end', async () => {
    const { calls } = await count()
    expect(await makeHistory(market.plane, CALLS)).toBe(0)
    expect((await count()).calls).toBe(calls)
    market.advance(12 * HOUR)
    const added = await makeHistory(market.plane, CALLS)
    expect(added).toBeGreaterThan(3)
    expect(added).toBeLessThan(30)
  })

  it('has a named buyer among its buyers, and that buyer paid before calling', async () => {
    const buyer = await market.person()
    const made = await makeSampleKeys(market.plane, buyer.buyerKey, CALLS)
    expect(await makeSampleKeys(market.plane, buyer.buyerKey, CALLS)).toEqual([])
    const { keys: own } = await invoke(market.plane, buyer.buyer, listBuyerKeys, { maxItems: 100 })
    expect(own.map(({ label }) => label)).toEqual(expect.arrayContaining(['production-chatbot', 'research-agent']))
    expect(own).toHaveLength(3)
    market.advance(HOUR)
    expect(await makeHistory(market.plane, 60_000, [buyer.wallet])).toBeGreaterThan(40)
    const { items } = await invoke(market.plane, buyer.buyer, listStatements, { maxItems: 100 })
    expect(items.length).toBeGreaterThan(8)
    expect(items.at(-1)).toMatchObject({ kind: 'grant' })
    expect(items.every(({ balanceMicro }) => balanceMicro > 0)).toBe(true)
    // Lines are in the order of their time, and calls have the key by which spend is summed.
    const times = items.map(({ createdAt }) => createdAt)
    expect(times).toEqual([...times].sort((left, right) => right - left))
    expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(30 * MINUTE)
    const keys = items.flatMap(({ kind, keyId }) => (kind === 'settle' ? [keyId] : []))
    expect(new Set(keys)).toEqual(new Set(own.map(({ id }) => id)))
    // The caps of the new keys count what the past calls have cost.
    await capSampleKeys(market.plane, buyer.buyerKey, made)
    const caps = (await invoke(market.plane, buyer.buyer, listCaps, {})).keys.flatMap(({ monthly }) => monthly ?? [])
    expect(caps).toHaveLength(2)
    for (const { usedUsdc, leftUsdc } of caps) {
      expect(Number(usedUsdc)).toBeGreaterThan(0)
      expect(Number(leftUsdc)).toBeGreaterThan(0)
    }
  })
})
