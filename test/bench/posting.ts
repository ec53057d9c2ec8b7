import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { sql } from 'kysely'
import { openAccount } from '#control-plane/db/accounts.ts'
import type { Database } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import { createRedisGate } from '#control-plane/ports/gate/redis-gate.ts'
import { openRedisGateKeeper } from '#control-plane/ports/gate-keeper/redis-gate-keeper.ts'
import { createMoneyLedger, moneyTransaction } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import { postTransaction } from '#control-plane/services/ledger/ledger.ts'
import { startRebuildGate } from '#control-plane/workers/rebuild-gate.ts'
import { startPostgres } from '#dev/services/postgres.ts'
import { startRedis } from '#dev/services/redis.ts'
import { systemClock } from '#shared/clock.ts'
import { encodeSettle } from '#shared/contract/money-scripts/settle.ts'
import { moneyScripts, parseMoneyEpoch } from '#shared/contract/money-scripts.ts'
import { moneyKeys, QUEUES } from '#shared/contract/redis-keys.ts'
import type { CapturedCall, UsageBatch } from '#shared/contract/usage-event.ts'
import type { AccountId } from '#shared/ids.ts'
import { createIds } from '#shared/ids.ts'
import { createLogger } from '#shared/logger.ts'
import { microUsd } from '#shared/money.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import { createTestDatabase } from '#test/support/run/database.ts'
import { until } from '#test/support/run/until.ts'
import { processorSeconds } from './processor-time.ts'

const EVENTS = 100_000
const WARM_UP_EVENTS = 6_000
/** Events in 15 ms at 4,000 calls per second. */
const BATCH = 60
const WORKERS = 2
const BUYERS = 50
const SELLERS = 10
const LOOK_EVERY_MS = 20
const LIMIT_MS = 300_000

type Figure = { readonly what: string; readonly figure: string; readonly beside: string }

/**
 * Measures the events per second that two worker processes book and acknowledge from a backlog in the queue. PostgreSQL
 * is durable, and Redis syncs every answer to its disk first. The calls were captured before.
 */
export async function measurePosting(): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'market-posting-'))
  const [postgres, server] = await Promise.all([
    startPostgres({ dataDir: join(folder, 'postgres') }),
    startRedis({ dataDir: join(folder, 'redis') }),
  ])
  const log = createLogger('bench', 'error')
  const redis = new Redis(server.url)
  const queue = new Queue(QUEUES.usage, { connection: { url: server.url } })
  const { keeper, close } = openRedisGateKeeper({ url: server.url, buckets: 1, clock: systemClock, log })
  const { db, url, drop } = await createTestDatabase(postgres.url)
  const gate = createRedisGate({ redis, buckets: 1 })
  const stopRebuilder = startRebuildGate({ ledger: createMoneyLedger(db), keeper, gate, clock: systemClock, log })
  const workers: ChildProcess[] = []
  try {
    await fund(db)
    await until('the gate is open', 10_000, async () => (await redis.get(moneyKeys.epoch))?.endsWith(':open') ?? false)
    for (let count = 0; count < WORKERS; count++) workers.push(await startPoster(url, server.url))
    const pids = { postgres: postgres.pid, redis: server.pid }
    const bench: Bench = { redis, queue, db, pids, workers: workers.map((worker) => worker.pid ?? 0) }
    await drain(bench, WARM_UP_EVENTS)
    return await drain(bench, EVENTS)
  } finally {
    for (const worker of workers) worker.kill('SIGKILL')
    await stopRebuilder()
    close()
    await queue.close()
    redis.disconnect()
    await drop()
    await Promise.all([postgres.stop(), server.stop()])
    rmSync(folder, { recursive: true, force: true })
  }
}

async function startPoster(databaseUrl: string, redisUrl: string): Promise<ChildProcess> {
  const args = ['--import', 'tsx', 'test/bench/poster.ts', databaseUrl, redisUrl]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  return child
}

type Bench = {
  readonly redis: Redis
  readonly queue: Queue
  readonly db: Database
  readonly pids: { readonly postgres: number; readonly redis: number }
  readonly workers: readonly number[]
}

/** Fills the queue while it is paused, resumes it, and waits until the gate has every posting. */
async function drain({ redis, queue, db, pids, workers }: Bench, count: number): Promise<Figure[]> {
  await queue.pause()
  await captureAll(redis, queue, count)
  const used = () => ({
    postgres: processorSeconds(pids.postgres),
    redis: processorSeconds(pids.redis),
    workers: workers.reduce((sum, pid) => sum + processorSeconds(pid), 0),
  })
  const before = used()
  const startedAt = performance.now()
  await queue.resume()
  const unposted = moneyKeys.unposted('m00', parseMoneyEpoch(await redis.get(moneyKeys.epoch))?.epoch ?? 1)
  await until('every event is posted', LIMIT_MS, async () => {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
    return (await redis.zcard(unposted)) === 0
  })
  const seconds = (performance.now() - startedAt) / 1_000
  const after = used()
  const { rows } = await sql<{ booked: bigint; deadlocks: bigint }>`select
    (select count(*) from settlement) as booked,
    (select deadlocks from pg_stat_database where datname = current_database()) as deadlocks`.execute(db)
  const each = (part: keyof typeof after) => `${(((after[part] - before[part]) * 1e6) / count).toFixed(0)} µs ${part}`
  return [
    {
      what: `posting a backlog of ${count} usage events`,
      figure: `${(count / seconds).toFixed(0)} events/s`,
      beside: `${workers.length} workers, batches of ${BATCH}, ${rows[0]?.deadlocks} deadlocks, ${rows[0]?.booked} booked`,
    },
    {
      what: '  processor time of one event',
      figure: [each('workers'), each('postgres'), each('redis')].join(', '),
      beside: '',
    },
  ]
}

const buyer = (index: number): AccountId => `acc_buyer${index % BUYERS}`
const seller = (index: number): AccountId => `acc_seller${index % SELLERS}`

async function fund(db: Database): Promise<void> {
  const ids = createIds(systemClock)
  await transact(db, async (trx) => {
    for (let index = 0; index < SELLERS; index++) {
      await openAccount(trx, { id: seller(index), kind: 'seller_available', owner: 'usr_seller' })
    }
    for (let index = 0; index < BUYERS; index++) {
      const account = buyer(index)
      await openAccount(trx, { id: account, kind: 'buyer_credit', owner: 'usr_buyer' })
      const amount = 1_000_000_000n
      const entries = [
        { account, amount },
        { account: 'acc_promo', amount: -amount },
      ] as const
      await postTransaction(moneyTransaction(trx), { id: ids.ulid(), key: `grant:${index}`, kind: 'grant', entries })
    }
  })
}

/** Captures calls in the gate, like the data plane would, and puts their names into the queue in batches. */
async function captureAll(redis: Redis, queue: Queue, count: number): Promise<void> {
  const epoch = parseMoneyEpoch(await redis.get(moneyKeys.epoch))?.epoch ?? 1
  const { sha } = moneyScripts(epoch).settle
  const ids = createIds(systemClock)
  for (let start = 0; start < count; start += BATCH) {
    const operations = Array.from({ length: Math.min(BATCH, count - start) }, (_, offset) => {
      const index = start + offset
      const [rid, account, charge] = [ids.requestId(), buyer(index * 7), 500 + (index % 900)]
      const event = eventText({ rid, account, sellerAccount: seller(index), charge })
      const subject = { rid, account, keyId: null, node: 'bench' }
      return { kind: 'capture', ...subject, usedMicro: microUsd(charge), event, capturedAt: null } as const
    })
    const { keys, args } = encodeSettle({ bucket: 'm00', epoch }, operations)
    await redis.evalsha(sha, keys.length, ...keys, ...args)
    const captured = operations.map(({ rid, account }): CapturedCall => [rid, account])
    const batch: UsageBatch = { v: 1, id: ids.make('btc'), node: 'bench', captured, events: [] }
    await queue.add('batch', batch, { removeOnComplete: true })
  }
}
