import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { readConfig } from '#control-plane/config.ts'
import type { Database } from '#control-plane/db/database.ts'
import type { ControlOverrides, ControlPlane } from '#control-plane/plane.ts'
import { createControlPlane } from '#control-plane/plane.ts'
import { sumUsageDays } from '#control-plane/services/usage/usage-days.ts'
import { startPostgres } from '#dev/services/postgres.ts'
import { startRedis } from '#dev/services/redis.ts'
import { SECOND } from '#shared/clock.ts'
import { createTestDatabase } from '#test/support/run/database.ts'
import { processorSeconds } from './processor-time.ts'

const TIMES = 20
const SECRET = 'for benches only, 32 characters long'
const WIDE = { perKey: 1_000_000_000, perWallet: null }

export type Figure = { readonly what: string; readonly figure: string; readonly beside: string }

/** A control plane without limits, on a filled and durable PostgreSQL and a Redis of its own. */
export type FilledPlane = {
  readonly plane: ControlPlane
  /** Milliseconds of processor time of this process and its two servers. Other processes do not count. */
  usedMs(): number
}

type Filling = {
  readonly overrides?: ControlOverrides
  /** Further variables of the plane's environment. */
  readonly environment?: Readonly<Record<string, string>>
  /** Runs operations before the rows are inserted. */
  readonly prepare?: (plane: ControlPlane) => Promise<void>
  /** Inserts rows by SQL, without the limits of a service. */
  readonly fill: (db: Database) => Promise<void>
}

/** Starts both servers and the plane, fills them, measures, and removes everything. */
export async function onFilledPlane<Result>(
  { overrides = {}, environment = {}, prepare, fill }: Filling,
  measure: (filled: FilledPlane) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'market-bench-'))
  const [postgres, redis] = await Promise.all([
    startPostgres({ dataDir: join(folder, 'postgres') }),
    startRedis({ dataDir: join(folder, 'redis') }),
  ])
  const { db, url, drop } = await createTestDatabase(postgres.url)
  const rateLimits = { read: WIDE, write: WIDE, probe: WIDE, challenge: WIDE }
  const config = readConfig({ ...environmentOf(url, redis.url), ...environment })
  const plane = createControlPlane(config, { ...overrides, settings: { rateLimits } })
  try {
    await plane.connected(5 * SECOND)
    await prepare?.(plane)
    await db.connection().execute(async (connection) => {
      await sql`select set_config('statement_timeout', '0', false), set_config('synchronous_commit', 'off', false)`.execute(
        connection,
      )
      await fill(connection)
      await sumUsageDays({ db: connection })
      await sql`vacuum analyze buyer_day, buyer_hour, seller_day, usage_late`.execute(connection)
      // Without this, pages that the filling left would be written during a measurement.
      await sql`checkpoint`.execute(connection)
    })
    return await measure({ plane, usedMs: () => 1_000 * processorSeconds(process.pid) })
  } finally {
    await plane.close()
    await drop()
    await Promise.all([postgres.stop(), redis.stop()])
    rmSync(folder, { recursive: true, force: true })
  }
}

function environmentOf(databaseUrl: string, redisUrl: string) {
  return {
    NODE_ENV: 'test',
    PORT: '0',
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    KEY_PEPPER: SECRET,
    FINGERPRINT_PEPPER: SECRET,
    SESSION_SECRET: SECRET,
    CREDENTIAL_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
    LOG_LEVEL: 'error',
  }
}

export type Timed = { readonly what: string; readonly goal: string; readonly run: () => Promise<unknown> }

/** The median of twenty runs after a first one, the slowest, and the processor time of a run. */
export async function timeRuns({ usedMs }: FilledPlane, { what, goal, run }: Timed): Promise<Figure> {
  const firstAt = performance.now()
  await run()
  const first = performance.now() - firstAt
  const took: number[] = []
  const before = usedMs()
  for (let time = 0; time < TIMES; time++) {
    const startedAt = performance.now()
    await run()
    took.push(performance.now() - startedAt)
  }
  const used = ((usedMs() - before) / TIMES).toFixed(1)
  const times = `first ${first.toFixed(1)} ms, slowest of ${TIMES} more ${Math.max(...took).toFixed(1)} ms`
  return { what, figure: `${median(took).toFixed(1)} ms`, beside: `${times}, ${used} ms of processor (goal ${goal})` }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}

/** Measures the rows per second of a file as it is written, and the growth of memory. The first line is not a row. */
export async function timeExport(
  { usedMs }: FilledPlane,
  {
    what,
    goal,
    chunks,
  }: { readonly what: string; readonly goal: string; readonly chunks: AsyncIterable<string | Uint8Array> },
): Promise<Figure> {
  let rows = -1
  let most = 0
  const rss = process.memoryUsage.rss()
  const startedAt = performance.now()
  const before = usedMs()
  for await (const piece of chunks) {
    const chunk = piece.toString()
    for (let at = chunk.indexOf('\n'); at !== -1; at = chunk.indexOf('\n', at + 1)) rows++
    most = Math.max(most, process.memoryUsage.rss() - rss)
  }
  const seconds = (performance.now() - startedAt) / 1_000
  const used = (((usedMs() - before) / rows) * 1_000).toFixed(1)
  const grown = `memory grew by at most ${Math.round(most / 1_048_576)} MB`
  const beside = `${rows} rows, ${grown}, ${used} µs of processor each (goal ${goal})`
  return { what, figure: `${Math.round(rows / seconds)} rows/s`, beside }
}
