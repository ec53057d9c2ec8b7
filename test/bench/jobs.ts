import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { sql } from 'kysely'
import { invoke } from '#control-plane/operation/invoke.ts'
import { putProvider } from '#control-plane/services/catalog/catalog.ts'
import { postBatch } from '#control-plane/services/money/ingest.ts'
import { JOB_POLLS } from '#control-plane/services/money/job-schedule.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import type { TestMarket } from '#test/support/control-plane.ts'
import { operator, startMarket } from '#test/support/control-plane.ts'
import { openJobDesk, told } from '#test/support/job-desk.ts'
import { submitText } from '#test/support/job-events.ts'
import { listOffer } from '#test/support/offers.ts'
import { processorSeconds } from './processor-time.ts'

const JOBS = 10_000
const WARM_UP_MS = 10_000
const MEASURED_MS = 60_000
/** So many questions before that every pause is the longest. */
const POLLS = 30
const BATCH = 1_000

type Figure = { readonly what: string; readonly figure: string; readonly beside: string }

/**
 * Measures one worker over ten thousand open jobs, each of which is asked about at the longest pause. The provider
 * answers at once. Its time, and that of Postgres and Redis, is not the worker's.
 */
export async function measureJobs(): Promise<Figure[]> {
  const market = await startMarket()
  const provider = await startRunningProvider()
  try {
    await invoke(market.plane, operator, putProvider, {
      ...{ id: 'busy', name: 'Busy', baseUrl: provider.url, isTrusted: true },
    })
    await fill(market, provider.url)
    const worker = spawn(process.execPath, ['--import', 'tsx', 'test/bench/job-poller.ts'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ...environmentOf(market) },
    })
    try {
      await once(worker.stdout, 'data')
      await pause(WARM_UP_MS)
      const before = { used: processorSeconds(worker.pid ?? 0), asked: provider.asked(), at: performance.now() }
      await pause(MEASURED_MS)
      const seconds = (performance.now() - before.at) / 1_000
      const used = processorSeconds(worker.pid ?? 0) - before.used
      const asked = provider.asked() - before.asked
      return [
        {
          what: `${JOBS} open jobs, one worker`,
          figure: `${((100 * used) / seconds).toFixed(1)} % of a core`,
          beside: `${(asked / seconds).toFixed(1)}/s, ${((1_000_000 * used) / asked).toFixed(0)} µs each, ${await late(market)}`,
        },
      ]
    } finally {
      worker.kill('SIGKILL')
    }
  } finally {
    await provider.close()
    await market.stop()
  }
}

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

/** Makes the jobs out of one that was booked and asked about once. They are due one after the other. */
async function fill(market: TestMarket, url: string): Promise<void> {
  const { db } = market.plane
  const desk = await openJobDesk(market)
  const offer = (await listOffer(market, (await market.person()).seller)).id
  await sql`update offer set base_url = ${url} where id = ${offer}`.execute(db)
  const wish = { ...(await desk.job(10_000)), offer, providerJob: 'p-1' }
  const text = submitText(wish, Date.now() + 24 * 3_600_000)
  await postBatch(market.plane, { events: [text], source: 'bench' })
  await sql`update job set poll_at = now() where rid = ${wish.rid}`.execute(db)
  await desk.turn(told('running'))
  const rids = Array.from({ length: JOBS }, (_, index) => `01${index.toString().padStart(24, '0')}`)
  await sql`insert into job (rid, account, seller_account, escrow_account, offer, key_id, provider_job, quote, paid, event,
      payload_hash, deadline_at, provider, polls, poll_at)
    select r.rid, account, seller_account, escrow_account, offer, key_id, provider_job, 0, 0, replace(event, ${wish.rid}, r.rid),
      payload_hash, deadline_at, 'busy', ${POLLS}, now() + r.number * ${JOB_POLLS.ceilingMs / JOBS} * interval '1 millisecond'
    from job, unnest(${rids}::text[]) with ordinality r (rid, number) where job.rid = ${wish.rid}`.execute(db)
  await sql`update job set ended_at = now() where rid = ${wish.rid}`.execute(db)
  await sql`analyze job`.execute(db)
  const kept = (await market.world.redis.hget(moneyKeys.job(wish.rid), 'job')) ?? ''
  for (let from = 0; from < JOBS; from += BATCH) {
    const pipeline = market.world.redis.pipeline()
    for (const rid of rids.slice(from, from + BATCH)) {
      pipeline.hset(moneyKeys.job(rid), 'job', kept.replaceAll(wish.rid, rid))
    }
    await pipeline.exec()
  }
}

/** How long the job has waited that is due and not asked about. */
async function late({ plane: { db } }: TestMarket): Promise<string> {
  const { rows } = await sql<{
    ms: number | null
  }>`select (extract(epoch from max(now() - poll_at)) * 1000)::float8 as ms
    from job where ended_at is null and asker is null and poll_at < now()`.execute(db)
  return `at most ${Math.round(rows[0]?.ms ?? 0)} ms late`
}

function environmentOf({ world }: TestMarket): Record<string, string> {
  const secret = 'for tests only, 32 characters long'
  return {
    NODE_ENV: 'test',
    PORT: '0',
    DATABASE_URL: world.databaseUrl,
    REDIS_URL: world.redisUrl,
    KEY_PEPPER: secret,
    FINGERPRINT_PEPPER: secret,
    SESSION_SECRET: secret,
    CREDENTIAL_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
    ALLOW_LOOPBACK_UPSTREAMS: '1',
    LOG_LEVEL: 'silent',
  }
}
