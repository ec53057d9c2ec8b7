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
import type { ControlPlane } from '#control-plane/plane.ts'
import { createControlPlane } from '#control-plane/plane.ts'
import { createRedisJobBook } from '#control-plane/ports/jobs/redis-job-book.ts'
import { JOB_POLLS } from '#control-plane/services/booking/job-schedule.ts'
import { importCatalog, putProvider } from '#control-plane/services/catalog/catalog.ts'
import { ledgerArchive, restoreJobs } from '#control-plane/services/jobs/restore-jobs.ts'
import { sealShown } from '#control-plane/services/jobs/shown-job.ts'
import { createJobs } from '#data-plane/store/jobs.ts'
import { startPostgres } from '#dev/services/postgres.ts'
import { startRedis } from '#dev/services/redis.ts'
import { JOBS_RESTORED } from '#shared/contract/job-record.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { sealCredential } from '#shared/seal.ts'
import { Secret } from '#shared/secret.ts'
import { endText, submitText } from '#test/support/books/job-events.ts'
import { filmFacts, textModel } from '#test/support/facts/text-model.ts'
import { createTestDatabase } from '#test/support/run/database.ts'
import { memoryOf } from './memory.ts'
import { processorSeconds } from './processor-time.ts'

const JOBS = 10_000
const WARM_UP_MS = 10_000
const MEASURED_MS = 60_000
/** Number of polls after which every pause is the longest. */
const POLLS = 30
const BATCH = 1_000
const DAY_MS = 24 * 3_600_000
const BUYER = 'acc_buyer'
const ESCROW = 'acc_escrow_buyer'
const FEW = 'acc_few'
/** Jobs of a list, and number of lists. The median counts. */
const LISTED = 20
const LISTS = 100
/** Number of restores. The median counts. */
const RESTORES = 3
const SELLER = 'acc_seller'
const OFFER = `ofr_${'0'.repeat(26)}`
const SECRET = 'for the bench only, 32 characters'

type Figure = { readonly what: string; readonly figure: string; readonly beside: string }

/**
 * Measures one worker over ten thousand open jobs, each of which is polled at the longest pause. The provider answers
 * at once. Its time, and that of Postgres and Redis, is not counted as the worker's.
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
        await measureRestore(db, server.url, environment),
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

/** The newest open jobs of a buyer who has all of them, in each plane's list, beside a buyer who has one page. */
async function measureLists(db: Database, redisUrl: string): Promise<Figure> {
  const redis = new Redis(redisUrl)
  const store = createJobs({ redis, isSure: () => true })
  const input = { kind: 'video', after: undefined, limit: LISTED, isAscending: false }
  // Lists are refused while records may be missing.
  await redis.set(moneyKeys.jobsRestored, JOBS_RESTORED.all)
  const few = moneyKeys.jobsOf('video', FEW)
  await redis.zadd(few, ...ridsOf(LISTED).flatMap((rid) => [0, rid]))
  const choice = { state: 'running' as const, before: undefined, limit: LISTED }
  const [ofMany, ofFew, inLedger] = [
    await middleMs(() => store.list(BUYER, input)),
    await middleMs(() => store.list(FEW, input)),
    await middleMs(() => listJobs(db, BUYER, choice)),
  ]
  redis.disconnect()
  const beside = `${ofFew} for a buyer of ${LISTED}; the control plane ${inLedger}`
  return { what: `the newest ${LISTED} of a buyer's ${JOBS} open jobs`, figure: ofMany, beside }
}

/** Ten thousand ended jobs, written to an emptied Redis. The median of some rounds counts. */
async function measureRestore(
  db: Database,
  redisUrl: string,
  environment: Readonly<Record<string, string>>,
): Promise<Figure> {
  const plane = createControlPlane(readConfig({ ...environment }))
  const redis = new Redis(redisUrl)
  try {
    await insertEnded(db, plane)
    // No process has captures to bring, and no gate is rebuilt here.
    const ctx = { ...plane, gate: { ...plane.gate, isOpen: async () => true, unposted: async () => [] } }
    const rounds: { readonly ms: number; readonly usedMs: number }[] = []
    while (rounds.length < RESTORES) {
      await redis.flushall()
      const [from, before] = [performance.now(), process.cpuUsage()]
      let restored = 0
      while (restored < JOBS) restored += await restoreJobs(ctx, ledgerArchive(ctx))
      const { user, system } = process.cpuUsage(before)
      rounds.push({ ms: performance.now() - from, usedMs: (user + system) / 1_000 })
    }
    rounds.sort((left, right) => left.ms - right.ms)
    const { ms = 0, usedMs = 0 } = rounds[Math.floor(RESTORES / 2)] ?? {}
    const beside = `${(usedMs / 1_000).toFixed(1)} s of processor time`
    return { what: `${JOBS} ended jobs, written again`, figure: `${(ms / 1_000).toFixed(1)} s`, beside }
  } finally {
    redis.disconnect()
    await plane.close()
  }
}

async function insertEnded(db: Database, plane: ControlPlane): Promise<void> {
  const rids = ridsOf(JOBS).map((rid) => `02${rid.slice(2)}`)
  const deadlineAt = Date.now() + DAY_MS
  const job = { account: BUYER, sellerAccount: SELLER, quote: 0, offer: OFFER }
  const events = rids.map((rid) => submitText({ ...job, rid, startedAt: Date.now() }, deadlineAt))
  const ends = rids.map((rid) => endText({ ...job, rid }, 0))
  const artifacts = [{ url: 'https://files.example/a.mp4', contentType: 'video/mp4', access: 'brief' as const }]
  const end = { event: '', state: 'succeeded' as const, artifacts, error: null, endedAt: Date.now() }
  const kept = { end, job: { asked: { seconds: 4, size: '1280x720' }, adaptedParams: [] } }
  const shown = rids.map((rid) => sealShown(plane, { rid, account: BUYER }, kept))
  const { keyRing } = plane.settings
  const binding = { id: 'crd_ended', tenant: SELLER, host: 'busy.example', purpose: 'offer' } as const
  const sealed = JSON.stringify(sealCredential(keyRing, binding, new Secret('sk-bench')))
  const operator = machineOperator('bench')
  await invoke(plane, operator, importCatalog, { source: 'bench', models: [textModel('film', filmFacts('0.1'))] })
  await transact(db, async (trx) => {
    await openAccount(trx, { id: SELLER, kind: 'seller_available', owner: 'usr_seller' })
    await sql`insert into credential (id, tenant, host, purpose, base_url, fingerprint, sealed, created_at)
      values ('crd_ended', ${SELLER}, 'busy.example', 'offer', 'https://busy.example/v1', repeat('0', 64),
        ${sealed}::jsonb, now())`.execute(trx)
    await sql`insert into offer (id, seller_account, model, provider, credential_id, fingerprint, base_url, api_format,
        provider_model, pricing_mode, kept_bps, status, created_at, updated_at)
      values (${OFFER}, ${SELLER}, 'film', 'busy', 'crd_ended', repeat('0', 64), 'https://busy.example/v1', 'openai',
        'film', 'discount', 5000, 'active', now(), now())`.execute(trx)
    await sql`insert into job (rid, account, seller_account, escrow_account, offer, provider_job, quote, paid, event,
        payload_hash, deadline_at, provider, ended_at, told_at, shown)
      select rid, ${BUYER}, ${SELLER}, ${ESCROW}, ${OFFER}, 'p-1', 0, 0, event, repeat('0', 64),
        ${new Date(deadlineAt)}, 'busy', now(), now(), shown
      from unnest(${rids}::text[], ${events}::text[], ${shown}::text[]) job (rid, event, shown)`.execute(trx)
    await sql`insert into job_end (rid, event, payload_hash, source, booked_at)
      select rid, event, repeat('0', 64), 'bench', now()
      from unnest(${rids}::text[], ${ends}::text[]) job (rid, event)`.execute(trx)
  })
  await sql`analyze job`.execute(db)
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
  if (address === null || typeof address === 'string') throw new Error('there is no port')
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

/** Creates the jobs, at a provider of their buyer's own. They are due one after the other. */
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
    account: BUYER,
    keyId: null,
    wire: 'video',
    endpoint: 'video',
    model: 'film',
    requestedModel: 'film',
    offer: null,
    sellerAccount: null,
    provider: 'busy',
    baseUrl,
    credential,
    providerJob: 'p-1',
    priceVersion: 'v1',
    unitPrices: {},
    keptBps: 10_000,
    feeBps: 0,
    quoteMicro: '0',
    bound: {},
    attempts: [],
    createdAt: Date.now(),
    deadlineAt,
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

/** The longest wait of a due job for its poll. */
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
