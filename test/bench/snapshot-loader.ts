/**
 * A process that keeps the market in memory like a data plane. Run it with the URL of Redis. It prints one line of JSON
 * once all is loaded, and one for each offer whose price is awaited.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { z } from 'zod'
import { freshBundles } from '#bundle/fresh-bundles.mjs'
import { listMarkets } from '#data-plane/reads/markets.ts'
import { createReadMemory } from '#data-plane/reads/read-memory.ts'
import { createSnapshotStore } from '#data-plane/store/snapshot.ts'
import { systemClock } from '#shared/clock.ts'
import { createLogger } from '#shared/logger.ts'
import { createSubscriptions } from '#shared/subscriptions.ts'

const SELF = fileURLToPath(import.meta.url)
const NAME = 'snapshot-loader'
const PAUSE_RESOLUTION_MS = 1
const Line = z.union([
  z.object({
    loadMs: z.number(),
    processorMs: z.number(),
    pauseMs: z.number(),
    listMs: z.number(),
    megabytes: z.number(),
  }),
  z.object({ seen: z.string(), at: z.number() }),
])
type Loaded = {
  readonly loadMs: number
  /** Milliseconds of processor time over all threads. */
  readonly processorMs: number
  /** The longest wait of other work for the event loop meanwhile, in milliseconds. */
  readonly pauseMs: number
  readonly listMs: number
  readonly megabytes: number
}

/**
 * The loaded process. `until` waits until it routes an offer at a share, and returns the time on this process's clock.
 */
export type Loader = Loaded & {
  readonly skew: number
  until(offer: string, kept: number): Promise<number>
  stop(): void
}

export async function startLoader(redisUrl: string): Promise<Loader> {
  // The loader is a bundle, like a data plane, because the compiler of sources would count as cost of the market.
  const folder = await freshBundles({
    name: 'bench',
    programs: { [NAME]: `test/bench/${NAME}.ts` },
    sources: ['shared', 'data-plane', 'test/bench'],
  })
  const program = folder === undefined ? ['--import', 'tsx', SELF] : [join(folder, `${NAME}.mjs`)]
  const child = spawn(process.execPath, ['--expose-gc', ...program, redisUrl], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const waiting = new Map<string, (at: number) => void>()
  const loaded = await new Promise<Loaded>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (text) => {
      const line = Line.parse(JSON.parse(text))
      if ('loadMs' in line) resolve(line)
      else waiting.get(line.seen)?.(line.at)
    })
  })
  return {
    ...loaded,
    // Both clocks are the machine's. The other process sends Unix time; this one counts from its own start.
    skew: performance.timeOrigin,
    until: (offer, kept) =>
      new Promise((resolve) => {
        waiting.set(offer, resolve)
        child.stdin.write(`${JSON.stringify({ offer, kept })}\n`)
      }),
    stop: () => void child.kill(),
  }
}

async function load(url: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'loader-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  process.on('SIGTERM', () => process.exit(0))
  // The process with the request has ended without an answer.
  process.stdin.on('end', () => process.exit(0))
  const connect = () => new Redis(url)
  const log = createLogger('loader', 'warn', process.stderr)
  const subscriptions = createSubscriptions(connect(), log)
  const file = join(folder, 'snapshot')
  const store = createSnapshotStore({ redis: connect(), subscriptions, clock: systemClock, log, file })
  const pauses = monitorEventLoopDelay({ resolution: PAUSE_RESOLUTION_MS })
  pauses.enable()
  const [startedAt, before] = [performance.now(), process.cpuUsage()]
  await store.start()
  const loadMs = performance.now() - startedAt
  pauses.disable()
  const { user, system } = process.cpuUsage(before)
  const [processorMs, pauseMs] = [(user + system) / 1e3, pauses.max / 1e6 - PAUSE_RESOLUTION_MS]
  const sources = {
    market: store.market,
    health: { blockedUntil: () => 0, restsUntil: () => 0, isAllWell: () => true },
    caps: { usedToday: async () => new Map() },
    feed: { latest: async () => [] },
    clock: systemClock,
    memory: createReadMemory(),
    version: '3.1.0',
    payments: { terms: () => undefined },
    addresses: { baseUrl: 'http://site.test', apiBaseUrl: 'http://api.test' },
  }
  const listAt = performance.now()
  await listMarkets(sources, { params: {}, query: new URLSearchParams() })
  const listMs = performance.now() - listAt
  // The measurement waits for the copy on disk, which is written some seconds after the start, so that only lasting
  // memory counts.
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  globalThis.gc?.()
  const megabytes = process.memoryUsage().rss / 1e6
  process.stdout.write(`${JSON.stringify({ loadMs, processorMs, pauseMs, listMs, megabytes })}\n`)
  const Expected = z.object({ offer: z.string(), kept: z.number() })
  createInterface({ input: process.stdin }).on('line', (text) => {
    const { offer, kept } = Expected.parse(JSON.parse(text))
    const timer = setInterval(() => {
      const found = store
        .market()
        .offers.get('model-0')
        ?.ranked.find(({ id }) => id === offer)
      if (found === undefined || Number(found.keptBps) !== kept) return
      clearInterval(timer)
      process.stdout.write(`${JSON.stringify({ seen: offer, at: performance.timeOrigin + performance.now() })}\n`)
    }, 1)
  })
}

const [, script = '', redisUrl] = process.argv
if ((script === SELF || script.endsWith(`${NAME}.mjs`)) && redisUrl !== undefined) await load(redisUrl)
