import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { sql } from 'kysely'
import { readConfig } from '#control-plane/config.ts'
import { openAccount } from '#control-plane/db/accounts.ts'
import type { Database } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import { listJobs } from '#control-plane/db/jobs.ts'
import { machineOperator } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { createControlPlane } from '#control-plane/plane.ts'
import { createRedisJobBook } from '#control-plane/ports/jobs/redis-job-book.ts'
import { putProvider } from '#control-plane/services/catalog/catalog.ts'
import { JOB_POLLS } from '#control-plane/services/money/job-schedule.ts'
import { createJobs } from '#data-plane/store/jobs.ts'
import { startPostgres } from '#dev/services/postgres.ts'
import { startRedis } from '#dev/services/redis.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { sealCredential } from '#shared/seal.ts'
import { Secret } from '#shared/secret.ts'
import { createTestDatabase } from '#test/support/database.ts'
import { submitText } from '#test/support/job-events.ts'
import { memoryOf } from './memory.ts'
import { processorSeconds } from './processor-time.ts'

const JOBS = 10_000
const WARM_UP_MS = 10_000
const MEASURED_MS = 60_000
/** So many questions before that every pause is the longest. */
const POLLS = 30
const BATCH = 1_000
const DAY_MS = 24 * 3_600_000
const BUYER = 'acc_buyer'
const ESCROW = 'acc_escrow_buyer'
const FEW = 'acc_few'
/** Jobs of a list, and lists of which the middle one counts. */
const LISTED = 20
const LISTS = 100
const SECRET = 'for the bench only, 32 characters'

type Figure = { readonly what: string; readonly figure: string; readonly beside: string }

/**
 * Measures one worker over ten thousand open jobs, each of which is asked about at the longest pause. The provider
 * answers at once. Its time, and that of Postgres and Redis, is not the worker's.
 */
export async function measureJobs(): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'market-jobs-'))
  const [postgres, server, provider] = await Promise.all([
    startPostgres({ dataDir: join(folder, 'postgres') }),
    startRedis({ dataDir: join(folder, 'redis') }),
    startRunningProvider(),
  ])
  const { db, url, drop } = await createTestDatabase(postgres.url)
  const environment = environmentOf(url, server.url)
  try {
    await fill({ db, redisUrl: server.url, environment, provider: provider.url })
    const worker = spawn(process.execPath, ['--import', 'tsx', 'test/bench/job-poller.ts'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ...environment },
    })
    try {
      await once(worker.stdout, 'data')
      const empty = memoryOf(worker.pid ?? 0).resident
      await pause(WARM_UP_MS)
      const before = { used: processorSeconds(worker.pid ?? 0), asked: provider.asked(), at: performance.now() }
      await pause(MEASURED_MS)
      const seconds = (performance.now() - before.at) / 1_000
      const used = processorSeconds(worker.pid ?? 0) - before.used
      const asked = provider.asked() - before.asked
      const each = `${(asked / seconds).toFixed(1)}/s, ${((1_000_000 * used) / asked).toFixed(0)} µs each`
      const share = `${((100 * used) / seconds).toFixed(1)} % of a core`
      return [
        { what: `${JOBS} open jobs, one worker`, figure: share, beside: `${each}, ${await late(db)}` },
        memoryRow(worker.pid ?? 0, empty),
        await measureLists(db, server.url),
      ]
    } finally {
      worker.kill('SIGKILL')
    }
  } finally {
    await drop()
    await Promise.all([provider.close(), postgres.stop(), server.stop()])
    rmSync(folder, { recursive: true, force: true })
  }
}

function memoryRow(pid: number, empty: number): Figure {
  const { resident, peak } = memoryOf(pid)
  const megabytes = (bytes: number) => `${(bytes / 1_048_576).toFixed(0)} MB`
  const beside = `peak ${megabytes(peak)}, ${megabytes(empty)} before its first turn`
  return { what: `memory of that worker, with ${JOBS} open jobs`, figure: megabytes(resident), beside }
}

/** The newest open jobs of a buyer who has all of them, as each plane lists them, beside a buyer who has one page. */
async function measureLists(db: Database, redisUrl: string): Promise<Figure> {
  const redis = new Redis(redisUrl)
  const store = createJobs(redis)
  const wish = { kind: 'video', after: undefined, limit: LISTED, isAscending: false }
  const few = moneyKeys.jobsOf('video', FEW)
  await redis.zadd(few, ...ridsOf(LISTED).flatMap((rid) => [0, rid]))
  const choice = { isRunning: true, before: undefined, limit: LISTED }
  const [ofMany, ofFew, inLedger] = [
    await middleMs(() => store.list(BUYER, wish)),
    await middleMs(() => store.list(FEW, wish)),
    await middleMs(() => listJobs(db, BUYER, choice)),
  ]
  redis.disconnect()
  const beside = `${ofFew} for a buyer of ${LISTED}; the control plane ${inLedger}`
  return { what: `the newest ${LISTED} of a buyer's ${JOBS} open jobs`, figure: ofMany, beside }
}

async function middleMs(read: () => Promise<readonly unknown[]>): Promise<string> {
  const times: number[] = []
  for (let round = 0; round < LISTS; round++) {
    const from = performance.now()
    const { length } = await read()
    times.push(performance.now() - from)
    if (length !== LISTED) throw new Error(`${length} jobs in a list of ${LISTED}`)
  }
  return `${(times.sort((left, right) => left - right)[LISTS / 2] ?? 0).toFixed(1)} ms`
}

const ridsOf = (count: number) => Array.from({ length: count }, (_, index) => `01${index.toString().padStart(24, '0')}`)

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** A provider whose jobs all run. */
async function startRunningProvider() {
  let asked = 0
  const server = createServer((_request, response) => {
    asked += 1
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ id: 'p-1', status: 'running' }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    asked: () => asked,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

type Place = {
  readonly db: Database
  readonly redisUrl: string
  readonly environment: Readonly<Record<string, string>>
  readonly provider: string
}

/** Makes the jobs, at a provider of their buyer's own. They are due one after the other. */
async function fill({ db, redisUrl, environment, provider: baseUrl }: Place): Promise<void> {
  const config = readConfig({ ...environment })
  const plane = createControlPlane(config)
  const operator = machineOperator('bench')
  await invoke(plane, operator, putProvider, { id: 'busy', name: 'Busy', baseUrl, isTrusted: true })
  await plane.close()
  await transact(db, async (trx) => {
    await openAccount(trx, { id: BUYER, kind: 'buyer_credit', owner: 'usr_buyer' })
    await openAccount(trx, { id: ESCROW, kind: 'job_escrow', owner: 'usr_buyer' })
  })
  const rids = ridsOf(JOBS)
  const deadlineAt = Date.now() + DAY_MS
  const events = rids.map((rid) => submitText({ rid, account: BUYER, sellerAccount: BUYER, quote: 0 }, deadlineAt))
  await sql`insert into job (rid, account, escrow_account, provider_job, quote, paid, event, payload_hash, deadline_at,
      provider, polls, poll_at)
    select rid, ${BUYER}, ${ESCROW}, 'p-1', 0, 0, event, repeat('0', 64), ${new Date(deadlineAt)}, 'busy', ${POLLS},
      now() + number * ${JOB_POLLS.ceilingMs / JOBS}::float8 * interval '1 millisecond'
    from unnest(${rids}::text[], ${events}::text[]) with ordinality job (rid, event, number)`.execute(db)
  await sql`analyze job`.execute(db)
  const binding = { id: 'crd_bench', tenant: BUYER, host: new URL(baseUrl).host, purpose: 'own-provider' } as const
  const credential = sealCredential(config.keyRing, binding, new Secret('sk-bench'))
  const redis = new Redis(redisUrl)
  const book = createRedisJobBook(redis)
  const record = {
    v: 1,
    apiFormat: 'openai',
    ...{ account: BUYER, keyId: null, wire: 'video', endpoint: 'video', model: 'film', requestedModel: 'film' },
    ...{ offer: null, sellerAccount: null, provider: 'busy', baseUrl, credential },
    ...{ providerJob: 'p-1', priceVersion: 'v1', unitPrices: {}, keptBps: 10_000, feeBps: 0, quoteMicro: '0' },
    ...{ bound: {}, attempts: [], createdAt: Date.now(), deadlineAt },
  } as const
  for (let from = 0; from < JOBS; from += BATCH) {
    await Promise.all(
      rids
        .slice(from, from + BATCH)
        .map((rid) => book.restore({ ...record, rid, attempts: [] }, { isWithheld: false }, Date.now())),
    )
  }
  redis.disconnect()
}

/** How long the job has waited that is due and not asked about. */
async function late(db: Database): Promise<string> {
  const { rows } = await sql<{
    ms: number | null
  }>`select (extract(epoch from max(now() - poll_at)) * 1000)::float8 as ms
    from job where ended_at is null and asker is null and poll_at < now()`.execute(db)
  return `at most ${Math.round(rows[0]?.ms ?? 0)} ms late`
}

function environmentOf(databaseUrl: string, redisUrl: string): Record<string, string> {
  return {
    NODE_ENV: 'test',
    PORT: '0',
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    KEY_PEPPER: SECRET,
    FINGERPRINT_PEPPER: SECRET,
    SESSION_SECRET: SECRET,
    CREDENTIAL_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
    ALLOW_LOOPBACK_UPSTREAMS: '1',
    LOG_LEVEL: 'silent',
  }
}
