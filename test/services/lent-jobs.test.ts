import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { invoke } from '#control-plane/operation/invoke.ts'
import { JOB_POLLS } from '#control-plane/services/booking/job-schedule.ts'
import { putResource } from '#control-plane/services/catalog/resources.ts'
import { cancelOwnJob } from '#control-plane/services/jobs/jobs.ts'
import { ledgerArchive, restoreJobs } from '#control-plane/services/jobs/restore-jobs.ts'
import { createLentOffer } from '#control-plane/services/lending/create-lent-offer.ts'
import { deleteLentOffer, purgeLentOffer } from '#control-plane/services/lending/lent-offers.ts'
import { createForwardedJobs } from '#data-plane/store/forwarded-jobs.ts'
import { HOUR } from '#shared/clock.ts'
import { jobBindingKey } from '#shared/contract/lent-offers.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { endText } from '#test/support/books/job-events.ts'
import { balanceOf } from '#test/support/books/ledger.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import type { Person, TestMarket } from '#test/support/doors/control-plane.ts'
import { operator, startMarket } from '#test/support/doors/control-plane.ts'
import { newProviderKey } from '#test/support/doors/offers.ts'
import { seedRecord } from '#test/support/facts/seed-resources.ts'
import type { JobDesk } from '#test/support/jobs/job-desk.ts'
import { openJobDesk } from '#test/support/jobs/job-desk.ts'
import type { RecordingProvider } from '#test/support/market/recording-provider.ts'
import { startRecordingProvider } from '#test/support/market/recording-provider.ts'
import { until } from '#test/support/run/until.ts'

let market: TestMarket
let jobs: JobDesk
let lender: Person
let run: RecordingProvider
let queue: RecordingProvider

beforeAll(async () => {
  market = await startMarket()
  jobs = await openJobDesk(market)
  lender = await market.person()
  run = await startRecordingProvider('127.0.0.84')
  queue = await startRecordingProvider('127.0.0.85')
  run.answers((_request, response) => response.writeHead(200).end('{"tier":"2"}'))
  const hosts = [
    { role: 'run', baseUrl: run.origin },
    { role: 'queue', baseUrl: queue.origin },
  ]
  await invoke(market.plane, operator, putResource, { record: { ...seedRecord('provider-h'), hosts }, source: 'test' })
})
afterAll(async () => {
  run.close()
  queue.close()
  await market.stop()
})

const QUOTE = 40_000
const START = 1_000_000

/** Lends a new key, and books the submit of two enlarged pictures on it. */
async function submitted(life: number = 24 * HOUR) {
  const key = newProviderKey()
  const terms = { resourceType: 'provider-h', apiKey: key, discountPercent: 40 }
  const lent = { ...terms, ackPersistsState: true, ackProviderTerms: true } as const
  const { id: offer } = await invoke(market.plane, lender.seller, createLentOffer, lent)
  const job = { ...(await jobs.job(QUOTE, START)), sellerAccount: lender.seller.account }
  const now = market.plane.clock.now()
  const sold = { kind: 'resource', id: 'provider-h', good: 'studio/upscale', route: 'queue' }
  const terms_ = { unitPrices: { images: '20000000000' }, bound: { images: 2 }, captures: { model: 'studio/upscale' } }
  await jobs.post(
    eventText(
      { ...job, charge: QUOTE, hold: QUOTE, startedAt: now },
      {
        kind: 'submit',
        wire: 'resource',
        endpoint: 'queue',
        model: 'resource/provider-h',
        sold,
        offer,
        job: { deadlineAt: now + life, providerJob: `run-${job.rid}`, ...terms_ },
        keptBps: 10_000,
        usage: {},
        sellerNetMicro: '0',
        feeMicro: '0',
      },
    ),
  )
  return { ...job, key, offer }
}
type Job = Awaited<ReturnType<typeof submitted>>

const at = ({ rid }: Job) => `/studio/upscale/requests/run-${rid}`
/** Answers polls of jobs by the end of their path. */
function answer(says: Readonly<Record<'/status' | '' | '/cancel', readonly [status: number, body: unknown]>>) {
  queue.answers((request, response) => {
    const end = /\/(status|cancel)$/.exec(request.url ?? '')?.[0] ?? ''
    const [status, body] = says[end === '/status' || end === '/cancel' ? end : '']
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
}
const DONE = [200, { status: 'COMPLETED' }] as const
const RUNNING = [202, { status: 'IN_PROGRESS' }] as const
const NONE = [404, {}] as const
const pictures = (count: number) => [200, { images: Array.from({ length: count }, () => ({ url: 'x' })) }] as const

/** Lets a worker poll the job when it is due. Returns the buyer's view. */
async function poll({ rid, account }: Job): Promise<number> {
  const { rows } = await sql<{ at: Date }>`select poll_at as at from job where rid = ${rid}`.execute(market.plane.db)
  market.advance(Math.max(0, (rows[0]?.at.getTime() ?? 0) - market.plane.clock.now()) + 1)
  await jobs.turn()
  return balanceOf(market.plane.db, account)
}
const kept = (job: Job) => market.world.redis.hgetall(moneyKeys.job(job.rid))

describe('a forwarded job without polls of its buyer', () => {
  beforeEach(async () => {
    await sql`update job set ended_at = now() where ended_at is null`.execute(market.plane.db)
  })

  it('is polled with the key that started it, and costs the usage in its result', async () => {
    const job = await submitted()
    answer({ '/status': RUNNING, '': NONE, '/cancel': NONE })
    expect(await poll(job)).toBe(START - QUOTE)
    expect(queue.heard.map(({ method, url }) => `${method} ${url}`)).toEqual([`GET ${at(job)}/status`])
    expect(queue.heard[0]?.rawHeaders).toContain(`Key ${job.key}`)
    answer({ '/status': DONE, '': pictures(1), '/cancel': NONE })
    const seller = await balanceOf(market.plane.db, lender.seller.account)
    expect(await poll(job)).toBe(START - QUOTE / 2)
    expect(queue.heard.map(({ url }) => url)).toEqual([`${at(job)}/status`, at(job)])
    expect(await balanceOf(market.plane.db, lender.seller.account)).toBe(seller + 19_000)
    // The buyer gets the same answer later, and Redis removes the job in time.
    expect(JSON.parse((await kept(job))['end'] ?? '{}')).toMatchObject({ state: 'succeeded' })
    expect(await market.world.redis.pttl(moneyKeys.job(job.rid))).toBeGreaterThan(0)
    expect(await poll(job)).toBe(START - QUOTE / 2)
    expect(await jobs.breaches()).toEqual([])
  })

  it.each([
    ['reports more than the quote', pictures(9), QUOTE],
    ['is empty', [200, undefined], QUOTE],
    ['is longer than the limit', [200, { images: ['x'.repeat(300_000)] }], QUOTE],
    ['is refused permanently', [422, { detail: 'no picture' }], 0],
  ] as const)('costs at most its quote when its result %s', async (_name, result, cost) => {
    const job = await submitted()
    answer({ '/status': DONE, '': result, '/cancel': NONE })
    expect(await poll(job)).toBe(START - cost)
    expect((await kept(job))['booked']).toBe('1')
  })

  it.each([
    ['fails', [200, { status: 'FAILED' }], NONE],
    ['is done while its result is missing', DONE, [202, {}]],
    ['is done while its result cannot be fetched', DONE, [503, {}]],
    ['cannot be polled', [500, {}], NONE],
    ['has an unknown state', [200, {}], NONE],
  ] as const)('costs nothing when it %s until its deadline', async (_name, status, result) => {
    const job = await submitted(HOUR)
    answer({ '/status': status, '': result, '/cancel': NONE })
    const first = await poll(job)
    expect(first).toBe(_name === 'fails' ? START : START - QUOTE)
    market.advance(HOUR)
    expect(await poll(job)).toBe(START)
    expect(await jobs.breaches()).toEqual([])
  })

  it('ends as its buyer saw, when the process that showed the end died before the booking', async () => {
    const job = await submitted()
    const event = endText({ ...job, quote: QUOTE }, 30_000)
    const end = { event, state: 'succeeded', artifacts: [], error: null, endedAt: 1 }
    await market.world.redis.hset(moneyKeys.job(job.rid), 'submit', 'as written', 'end', JSON.stringify(end))
    answer({ '/status': DONE, '': pictures(1), '/cancel': NONE })
    expect(await poll(job)).toBe(START - 30_000)
  })

  it('is polled with a key that was delisted, and comes back soon when the key was destroyed', async () => {
    const [delisted, purged] = [await submitted(), await submitted()]
    await invoke(market.plane, lender.seller, deleteLentOffer, { id: delisted.offer })
    await invoke(market.plane, lender.seller, purgeLentOffer, { id: purged.offer })
    answer({ '/status': DONE, '': pictures(2), '/cancel': NONE })
    expect(await poll(delisted)).toBe(START - QUOTE)
    for (let question = 1; question < JOB_POLLS.lostAfter; question++) await poll(purged)
    expect(await poll(purged)).toBe(START)
    expect(queue.heard.some(({ url }) => url.includes(purged.rid))).toBe(false)
  })

  it('is stopped by its buyer with the call from its record', async () => {
    const job = await submitted()
    const buyer = { ...(await market.person()).buyer, account: job.account }
    answer({ '/status': RUNNING, '': NONE, '/cancel': [202, {}] })
    expect(await invoke(market.plane, buyer, cancelOwnJob, { id: job.rid })).toMatchObject({ state: 'running' })
    expect(queue.heard.map(({ method, url }) => `${method} ${url}`)).toEqual([
      `PUT ${at(job)}/cancel`,
      `GET ${at(job)}/status`,
    ])
    answer({ '/status': DONE, '': [422, {}], '/cancel': NONE })
    expect(await poll(job)).toBe(START)
  })
})

describe('a record', () => {
  it('sells no job that cannot be polled', async () => {
    const { routes, ...record } = seedRecord('provider-h')
    const put = (changed: typeof routes) =>
      invoke(market.plane, operator, putResource, { record: { ...record, routes: changed }, source: 'test' })
    const without = routes.filter(({ kind }) => kind !== 'status')
    await expect(put(without)).rejects.toMatchObject({ code: 'invalid_request' })
    const wordless = routes.map(({ state, ...route }) => route)
    await expect(put(wordless)).rejects.toMatchObject({ code: 'invalid_request' })
    const astray = routes.map((route) =>
      route.kind === 'status' ? { ...route, path: '/{owner}/{name}/requests/{job}/status' } : route,
    )
    await expect(put(astray)).rejects.toMatchObject({ code: 'invalid_request' })
  })
})

it('is bound to its buyer again after Redis was emptied, and is never reported as unknown before that', async () => {
  const job = await submitted()
  const { redis } = market.world
  const cache = redis.duplicate({ db: 1 })
  const store = createForwardedJobs({ cache, money: redis })
  const find = () => store.find('provider-h', `run-${job.rid}`)
  await redis.flushall()
  await until('the gate is open', 20_000, () => market.plane.gate.isOpen())
  await expect(find()).rejects.toMatchObject({ code: 'service_unavailable', retryAfterSeconds: 2 })
  await restoreJobs(market.plane, ledgerArchive(market.plane))
  const binding = { rid: job.rid, buyer: job.account, offer: job.offer, good: 'studio/upscale' }
  expect(await find()).toMatchObject({ binding, end: undefined, isBooked: false })
  expect(await store.find('provider-h', 'run-of-nobody')).toBeUndefined()
  // The job is in no cache, which may be emptied alone. A binding from before is.
  await cache.flushdb()
  expect(await find()).toMatchObject({ binding })
  const before = jobBindingKey('provider-h', `run-${job.rid}`)
  await cache.set(before, (await redis.getdel(before)) ?? '')
  expect(await find()).toMatchObject({ binding })
  cache.disconnect()
})
