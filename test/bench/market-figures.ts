import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { sql } from 'kysely'
import { readConfig } from '#control-plane/config.ts'
import type { Database } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import { countHours, lockRollUp } from '#control-plane/db/market-rollup.ts'
import type { ControlPlane } from '#control-plane/plane.ts'
import { createControlPlane } from '#control-plane/plane.ts'
import { rollUp } from '#control-plane/services/market/market-rollup.ts'
import { readMarketRows } from '#control-plane/services/market/market-rows.ts'
import { readSeries } from '#control-plane/services/market/market-series.ts'
import { startPostgres } from '#dev/services/postgres.ts'
import { startRedis } from '#dev/services/redis.ts'
import { DAY, HOUR, SECOND } from '#shared/clock.ts'
import { createTestDatabase } from '#test/support/run/database.ts'
import type { MarketSize } from './market-history.ts'
import { fillMarket } from './market-history.ts'
import { middle } from './middle.ts'
import { processorSeconds } from './processor-time.ts'
import { startLoader } from './snapshot-loader.ts'

const SIZE: MarketSize = { models: 100, providers: 4, sellers: 200, offers: 100_000, calls: 1_000_000, hours: 48 }
/** Calls in one hour of heavy traffic. The even spread above has no such hour. */
const BUSY_HOUR_CALLS = 100_000
const ROUNDS = 11
const SECRET = 'for benches only, 32 characters long'

type Figure = { readonly what: string; readonly figure: string; readonly beside: string }

/** Figures of a market of 100,000 offers and a million usage rows, on a PostgreSQL and a Redis of its own. */
export async function measureMarketFigures(size: MarketSize = SIZE): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'market-figures-'))
  const [postgres, server] = await Promise.all([
    startPostgres({ dataDir: join(folder, 'postgres') }),
    startRedis({ dataDir: join(folder, 'redis') }),
  ])
  const database = await createTestDatabase(postgres.url, 4)
  const plane = createControlPlane(
    readConfig({
      NODE_ENV: 'test',
      PORT: '0',
      DATABASE_URL: database.url,
      REDIS_URL: server.url,
      KEY_PEPPER: SECRET,
      FINGERPRINT_PEPPER: SECRET,
      SESSION_SECRET: SECRET,
      CREDENTIAL_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
      LOG_LEVEL: 'warn',
    }),
  )
  try {
    await plane.connected(5 * SECOND)
    await fillMarket(database.db, size)
    const used = () =>
      process.cpuUsage().user / 1e3 + 1_000 * (processorSeconds(postgres.pid) + processorSeconds(server.pid))
    return [...(await measureRollUps(plane, size, used)), ...(await measureSnapshot(plane, server.url, used))]
  } finally {
    await plane.close()
    await database.drop()
    await Promise.all([postgres.stop(), server.stop()])
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Milliseconds of processor time of this process and both servers. Other processes do not count. */
type Used = () => number

async function measureRollUps(plane: ControlPlane, size: MarketSize, used: Used): Promise<Figure[]> {
  const all = await timed(() => rollUp(plane, 0), used)
  const hour = await timed(() => rollUpBusyHour(plane.db, size), used)
  const models = Array.from({ length: size.models }, (_, index) => `model-${index}`)
  const now = plane.clock.now()
  const rows = await median(() => readMarketRows(plane.db, models, now), used)
  const { rows: counted } = await sql<{ count: number }>`select count(*)::int as count from market_hour`.execute(
    plane.db,
  )
  const span = { from: now - 30 * DAY, to: now }
  const byHour = await median(
    () => readSeries(plane, { ...span, from: now - 2 * DAY, bucket: 'hour', groupBy: ['provider'] }),
    used,
  )
  const byModel = await median(() => readSeries(plane, { ...span, bucket: 'hour', models: ['model-1'] }), used)
  const byDay = await median(() => readSeries(plane, { ...span, bucket: 'day', groupBy: ['model', 'provider'] }), used)
  return [
    figure('market rows of 100 models, with medians', rows),
    figure('series of two days by hour and provider', byHour),
    figure('series of 30 days by hour, one model', byModel),
    figure('series of 30 days by day, model and provider', byDay),
    figure(`roll-up of an hour of ${BUSY_HOUR_CALLS} calls`, hour),
    figure(`  of ${size.calls} calls over ${size.hours} hours`, all, `${counted[0]?.count} hour rows`),
  ]
}

/** Computes the rows of one busy hour: the calls of several hours together. */
async function rollUpBusyHour(db: Database, { calls, hours }: MarketSize): Promise<void> {
  const count = Math.ceil(BUSY_HOUR_CALLS / (calls / hours))
  const last = Math.floor(Date.now() / HOUR) * HOUR
  await transact(db, async (trx) => {
    await lockRollUp(trx)
    const due = Array.from({ length: count }, (_, index) => last - (index + 2) * HOUR)
    await countHours(trx, due)
  })
}

async function measureSnapshot(plane: ControlPlane, redisUrl: string, used: Used): Promise<Figure[]> {
  const redis = new Redis(redisUrl)
  try {
    const built = await timed(() => plane.publication.reconcile(), used)
    const loader = await startLoader(redisUrl)
    const again = await median(() => plane.publication.reconcile(), used)
    const routed: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const id = `ofr_${round * 100}`
      const kept = 1_000 + round
      const startedAt = performance.now()
      await sql`update offer set kept_bps = ${kept}, updated_at = now() where id = ${id}`.execute(plane.db)
      const seen = loader.until(id, kept)
      await plane.publication.publishOffers(['model-0'])
      routed.push((await seen) - startedAt - loader.skew)
    }
    const { loadMs, processorMs, pauseMs, listMs, megabytes } = loader
    loader.stop()
    return [
      figure('snapshot of 100,000 offers, built and stored', built),
      figure('  looked through again, nothing changed', again),
      {
        what: '  loaded by a data plane',
        figure: ms(loadMs),
        beside: `${ms(processorMs)} of processor time, longest pause ${ms(pauseMs)}, ${megabytes.toFixed(0)} MB resident`,
      },
      { what: '  list of markets from the data plane', figure: ms(listMs), beside: 'made anew' },
      {
        what: '  one offer changed to routed',
        figure: `${ms(middle(routed))}`,
        beside: `worst ${ms(Math.max(...routed))}`,
      },
    ]
  } finally {
    redis.disconnect()
  }
}

/** Milliseconds by the clock, and milliseconds of processor time. */
type Taken = { readonly clock: number; readonly processor: number }

async function timed(run: () => Promise<unknown>, used: Used): Promise<Taken> {
  const [startedAt, before] = [performance.now(), used()]
  await run()
  return { clock: performance.now() - startedAt, processor: used() - before }
}

async function median(run: () => Promise<unknown>, used: Used): Promise<Taken> {
  const times: Taken[] = []
  for (let round = 0; round < ROUNDS; round++) times.push(await timed(run, used))
  // Processor time is counted in ticks of 10 ms, so only the sum of all rounds is meaningful.
  const processor = times.reduce((sum, time) => sum + time.processor, 0) / ROUNDS
  return { clock: middle(times.map((time) => time.clock)), processor }
}

function figure(what: string, { clock, processor }: Taken, more = ''): Figure {
  return { what, figure: ms(clock), beside: `${ms(processor)} of processor time${more === '' ? '' : `, ${more}`}` }
}

function ms(time: number): string {
  return `${time < 10 ? time.toFixed(1) : time.toFixed(0)} ms`
}
