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
import { rollUp } from '#control-plane/services/market-rollup.ts'
import { readMarketRows } from '#control-plane/services/market-rows.ts'
import { readSeries } from '#control-plane/services/market-series.ts'
import { publishOffers, reconcileSnapshot } from '#control-plane/services/snapshot.ts'
import { startPostgres } from '#dev/services/postgres.ts'
import { startRedis } from '#dev/services/redis.ts'
import { DAY, HOUR, SECOND } from '#shared/clock.ts'
import { createTestDatabase } from '#test/support/database.ts'
import type { MarketSize } from './market-history.ts'
import { fillMarket } from './market-history.ts'
import { startLoader } from './snapshot-loader.ts'

const SIZE: MarketSize = { models: 100, providers: 4, sellers: 200, offers: 100_000, calls: 1_000_000, hours: 48 }
/** One hour of heavy traffic, which the even spread above does not have. */
const BUSY_HOUR_CALLS = 100_000
const ROUNDS = 11
const SECRET = 'for benches only, 32 characters long'

type Figure = { readonly what: string; readonly figure: string; readonly beside: string }

/** Figures of a market of 100,000 offers and a million usage rows, on PostgreSQL and Redis of its own. */
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
    return [...(await measureRollUps(plane, size)), ...(await measureSnapshot(plane, server.url))]
  } finally {
    await plane.close()
    await database.drop()
    await Promise.all([postgres.stop(), server.stop()])
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measureRollUps(plane: ControlPlane, size: MarketSize): Promise<Figure[]> {
  const all = await timed(() => rollUp(plane, 0))
  const hour = await timed(() => rollUpBusyHour(plane.db, size))
  const models = Array.from({ length: size.models }, (_, index) => `model-${index}`)
  const now = plane.clock.now()
  const rows = await median(() => readMarketRows(plane.db, models))
  const { rows: counted } = await sql<{ count: number }>`select count(*)::int as count from market_hour`.execute(
    plane.db,
  )
  const span = { from: now - 30 * DAY, to: now }
  const byHour = await median(() =>
    readSeries(plane, { ...span, from: now - 2 * DAY, bucket: 'hour', groupBy: ['provider'] }),
  )
  const byDay = await median(() => readSeries(plane, { ...span, bucket: 'day', groupBy: ['model', 'provider'] }))
  return [
    { what: 'market rows of 100 models, with medians', figure: ms(rows), beside: `${counted[0]?.count} hour rows` },
    { what: 'series of two days by hour and provider', figure: ms(byHour), beside: '' },
    { what: 'series of 30 days by day, model and provider', figure: ms(byDay), beside: '' },
    { what: `roll-up of an hour of ${BUSY_HOUR_CALLS} calls`, figure: ms(hour), beside: '' },
    { what: `  of ${size.calls} calls over ${size.hours} hours`, figure: ms(all), beside: '' },
  ]
}

/** Computes a spread-out hour's worth of rows as one hour would have them: several hours that hold as many together. */
async function rollUpBusyHour(db: Database, { calls, hours }: MarketSize): Promise<void> {
  const count = Math.ceil(BUSY_HOUR_CALLS / (calls / hours))
  const last = Math.floor(Date.now() / HOUR) * HOUR
  await transact(db, async (trx) => {
    await lockRollUp(trx)
    const due = Array.from({ length: count }, (_, index) => last - (index + 2) * HOUR)
    await countHours(trx, due)
  })
}

async function measureSnapshot(plane: ControlPlane, redisUrl: string): Promise<Figure[]> {
  const redis = new Redis(redisUrl)
  try {
    const built = await timed(() => reconcileSnapshot(plane))
    const loader = await startLoader(redisUrl)
    const again = await median(() => reconcileSnapshot(plane))
    const routed: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const id = `ofr_${round * 100}`
      const kept = 1_000 + round
      const startedAt = performance.now()
      await sql`update offer set kept_bps = ${kept}, updated_at = now() where id = ${id}`.execute(plane.db)
      const seen = loader.until(id, kept)
      await publishOffers(plane, ['model-0'])
      routed.push((await seen) - startedAt - loader.skew)
    }
    const { loadMs, listMs, megabytes } = loader
    loader.stop()
    return [
      { what: 'snapshot of 100,000 offers, built and stored', figure: ms(built), beside: '' },
      { what: '  looked through again, nothing changed', figure: ms(again), beside: '' },
      { what: '  loaded by a data plane', figure: ms(loadMs), beside: `${megabytes.toFixed(0)} MB resident` },
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

async function timed(run: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await run()
  return performance.now() - startedAt
}

async function median(run: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) times.push(await timed(run))
  return middle(times)
}

function middle(times: readonly number[]): number {
  return [...times].sort((left, right) => left - right)[Math.floor(times.length / 2)] ?? Number.NaN
}

function ms(time: number): string {
  return `${time < 10 ? time.toFixed(1) : time.toFixed(0)} ms`
}
