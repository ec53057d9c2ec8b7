import { Redis } from 'ioredis'
import type { Driver, Load, OpenLoopResult } from './load.ts'
import { driveOpenLoop } from './load.ts'
import type { BenchMarket } from './market.ts'
import { middle } from './middle.ts'
import { stolenSeconds } from './processor-time.ts'

/** Calls per second, however fast the answers are. */
const RATE = 1_000
/**
 * Both sides are measured in turns, because the disk and the host change from one second to the next. The median
 * counts.
 */
const ROUNDS = 5
/**
 * At a thousand calls per second the compilers would need too long, so both sides first get full load for these
 * seconds.
 */
const WARM_UP_SECONDS = 6

type Row = { readonly what: string; readonly figure: string; readonly beside?: string }

/** The subjects of the measurement: a market and the pass-through beside it, with `seconds` of calls on each. */
export type Latency = {
  readonly market: BenchMarket
  readonly driver: Driver
  readonly passUrl: string
  readonly body: string
  readonly connections: number
  readonly seconds: number
}

/**
 * Measures the time that a paid call takes beyond the pass-through when calls come at a fixed rate. A call waits twice
 * for Redis, and Redis for its disk, so the call is measured again with a Redis that waits for no disk. The first
 * figure is the market's, the second is the share of its own code.
 */
export async function measureLatency(latency: Latency): Promise<Row[]> {
  const { market, driver, passUrl, body, connections, seconds } = latency
  const path = '/v1/chat/completions'
  const bare = { url: passUrl + path, body }
  const paid = { url: market.network.sandbox.api_base_url + path, key: market.buyerKey, body }
  const load = { rate: RATE, seconds: Math.ceil(seconds / ROUNDS) }
  market.pausePosting()
  for (const side of [bare, paid]) await driver.drive({ ...side, connections, seconds: WARM_UP_SECONDS } satisfies Load)
  const byTurns = (): Pair[] =>
    Array.from({ length: ROUNDS }, () => ({
      bare: driveOpenLoop({ ...bare, ...load }),
      paid: driveOpenLoop({ ...paid, ...load }),
    }))
  const before = stolenSeconds()
  const begun = performance.now()
  const pairs = byTurns()
  const stolen = (stolenSeconds() - before) / ((performance.now() - begun) / 1_000)
  const diskless = await withoutDisk(market.network.sandbox.redis_url, byTurns)
  market.resumePosting()
  const pass = { p50: middle(pairs.map(({ bare }) => bare.p50)), p99: middle(pairs.map(({ bare }) => bare.p99)) }
  const beside = { bare: pass, paid: driveOpenLoop({ ...paid, ...load }) }
  return [
    {
      what: `pass-through at ${RATE} calls/s`,
      figure: `p50 ${pass.p50.toFixed(2)} ms, p99 ${pass.p99.toFixed(2)} ms`,
      beside: `${(stolen * 100).toFixed(0)} % of a core kept back by the host`,
    },
    { what: `paid chat at ${RATE} calls/s, added`, ...added(pairs) },
    { what: '  the same while Redis waits for no disk', ...added(diskless) },
    { what: '  the same beside the worker that posts them', ...added([beside]) },
  ]
}

type Pair = { readonly bare: Pick<OpenLoopResult, 'p50' | 'p99'>; readonly paid: OpenLoopResult }

function added(pairs: readonly Pair[]): Omit<Row, 'what'> {
  const p50 = pairs.map(({ bare, paid }) => paid.p50 - bare.p50)
  const p99 = pairs.map(({ bare, paid }) => paid.p99 - bare.p99)
  const errors = pairs.reduce((sum, { paid }) => sum + paid.errors, 0)
  const range = (values: readonly number[]) => `${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)}`
  return {
    figure: `p50 ${middle(p50).toFixed(2)} ms, p99 ${middle(p99).toFixed(2)} ms`,
    beside: `${pairs.length > 1 ? `rounds ${range(p50)}, ${range(p99)}` : ''}${errors > 0 ? ` ${errors} ERRORS` : ''}`,
  }
}

async function withoutDisk<T>(redisUrl: string, run: () => T): Promise<T> {
  const redis = new Redis(redisUrl)
  try {
    await redis.config('SET', 'appendfsync', 'no')
    return run()
  } finally {
    await redis.config('SET', 'appendfsync', 'always')
    redis.disconnect()
  }
}
