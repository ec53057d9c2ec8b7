import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findJob } from '#control-plane/db/jobs.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import type { PostedChange } from '#control-plane/ports/gate/gate.ts'
import type { JobAnswer, ProbedJob } from '#control-plane/ports/provider/job-probe.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { getRequest } from '#control-plane/services/usage/lookup.ts'
import { createJobs } from '#data-plane/store/jobs.ts'
import { capUseOf } from '#shared/contract/money-scripts/uses.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { jobEndId } from '#shared/contract/usage-event.ts'
import type { AccountId } from '#shared/ids.ts'
import { figures, ids } from '#test/support/books/gate.ts'
import { endText, submitText } from '#test/support/books/job-events.ts'
import { balanceOf } from '#test/support/books/ledger.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer } from '#test/support/doors/offers.ts'
import type { JobDesk } from '#test/support/jobs/job-desk.ts'
import { openJobDesk, SILENT, told, UNKNOWN } from '#test/support/jobs/job-desk.ts'
import { createRandomOrder } from '#test/support/run/random-order.ts'

let market: TestMarket
let seller: AccountId
let jobs: JobDesk

beforeAll(async () => {
  market = await startMarket()
  jobs = await openJobDesk(market)
  seller = jobs.seller
})
afterAll(() => market.stop())

const job = (quote: number, balance?: number) => jobs.job(quote, balance)
const post = (...events: string[]) => jobs.post(...events)
const escrowOf = (account: AccountId) => jobs.escrowOf(account)
const finish = (answer?: JobAnswer, asked?: ProbedJob[]) => jobs.turn(answer, { asked })
const breaches = () => jobs.breaches()

describe('a long job', () => {
  it('moves its whole quote to escrow, and its end splits the quote between seller, fee and buyer', async () => {
    const newJob = await job(10_000)
    const before = await balanceOf(market.plane.db, seller)
    expect(await post(submitText(newJob))).toMatchObject({ posted: 1 })
    expect(await escrowOf(newJob.account)).toBe(10_000)
    expect(await figures(market.plane.gate, newJob.account)).toMatchObject({ p: 990_000, u: 0 })
    expect(await breaches()).toEqual([])
    const actor = { kind: 'buyer', keyId: 'key_t', user: 'usr_t', account: newJob.account, wallet: '0x0' } as const
    const look = () => invoke(market.plane, actor, getRequest, { id: newJob.rid })
    expect(await look()).toMatchObject({ settlement_status: 'accrued', buyer_cost_micro: 10_000, confirmed_at: null })

    expect(await post(endText(newJob, 4_001))).toMatchObject({ posted: 1 })
    expect(await escrowOf(newJob.account)).toBe(0)
    expect(await balanceOf(market.plane.db, seller)).toBe(before + 3_800)
    expect(await figures(market.plane.gate, newJob.account)).toMatchObject({ p: 995_999, u: 0 })
    const { rows } = await sql<{ charge: bigint; hold: bigint }>`select charge, hold_amount as hold from settlement
      where rid = ${newJob.rid}`.execute(market.plane.db)
    expect(rows).toEqual([{ charge: 4_001n, hold: 10_000n }])
    expect(await look()).toMatchObject({ settlement_status: 'accrued', buyer_cost_micro: 4_001 })
    expect(await breaches()).toEqual([])
  })

  it('that failed costs nothing, and one without a price has no entries', async () => {
    const newJob = await job(10_000)
    await post(submitText(newJob), endText(newJob, 0, { outcome: 'failed' }))
    expect(await balanceOf(market.plane.db, newJob.account)).toBe(1_000_000)
    const free = await job(0)
    expect(await post(submitText(free), endText(free, 0))).toMatchObject({ posted: 2 })
    expect(await breaches()).toEqual([])
  })

  it('is booked once for any number and order of deliveries [F40]', async () => {
    const before = await balanceOf(market.plane.db, seller)
    const newJobs = await Promise.all(Array.from({ length: 12 }, () => job(9_000)))
    const order = createRandomOrder(7)
    await Promise.all(
      newJobs.map(async (newJob) => {
        const events = [submitText(newJob), endText(newJob, 5_000)]
        for (const event of order([...events, ...events, ...events])) await post(event)
      }),
    )
    await finish()
    for (const { account } of newJobs) {
      expect(await balanceOf(market.plane.db, account)).toBe(995_000)
      expect(await escrowOf(account)).toBe(0)
    }
    expect(await balanceOf(market.plane.db, seller)).toBe(before + 12 * 4_750)
    expect(await breaches()).toEqual([])
  })

  it('parks an end that arrives before its submit', async () => {
    const newJob = await job(10_000)
    expect(await post(endText(newJob, 2_000))).toMatchObject({ posted: 1, poisoned: 0 })
    expect(await balanceOf(market.plane.db, newJob.account)).toBe(1_000_000)
    await post(submitText(newJob))
    expect(await balanceOf(market.plane.db, newJob.account)).toBe(998_000)
    expect(await findJob(market.plane.db, newJob.account, newJob.rid)).toMatchObject({ endedAt: expect.any(Date) })
  })

  it('whose two halves are booked at the same moment ends by the sweeper at the latest', async () => {
    const newJobs = await Promise.all(Array.from({ length: 20 }, () => job(1_000)))
    await Promise.all(newJobs.flatMap((newJob) => [post(submitText(newJob)), post(endText(newJob, 400))]))
    await finish()
    for (const { account } of newJobs) expect(await balanceOf(market.plane.db, account)).toBe(999_600)
    expect(await breaches()).toEqual([])
  })

  it('keeps the first of two ends, and refuses the end of another job', async () => {
    const newJob = await job(10_000)
    await post(submitText(newJob), endText(newJob, 3_000))
    expect(await post(endText(newJob, 4_000))).toMatchObject({ conflicts: 1 })
    expect(await post(submitText({ ...newJob, quote: 11_000 }))).toMatchObject({ conflicts: 1 })
    const other = await job(10_000)
    await post(submitText(other))
    expect(await post(endText({ ...other, quote: 20_000 }, 15_000))).toMatchObject({ poisoned: 1 })
    expect(await escrowOf(other.account)).toBe(10_000)
    expect(await post(endText(other, 10_000))).toMatchObject({ posted: 1 })
    expect(await breaches()).toEqual([])
  })

  it('beyond the balance repays the shortfall before the buyer', async () => {
    const newJob = await job(10_000, 7_000)
    await post(submitText(newJob))
    expect(await balanceOf(market.plane.db, newJob.account)).toBe(0)
    expect(await balanceOf(market.plane.db, 'acc_platform_shortfall')).toBe(-3_000)
    await post(endText(newJob, 4_000))
    expect(await balanceOf(market.plane.db, 'acc_platform_shortfall')).toBe(0)
    expect(await balanceOf(market.plane.db, newJob.account)).toBe(3_000)
    expect(await breaches()).toEqual([])
  })

  it('past its deadline is polled once and ends as its provider reports', async () => {
    const offer = (await listOffer(market, (await market.person()).seller)).id
    for (const [answer, charge] of [
      [told('succeeded'), 6_000],
      // The provider reports more than was quoted.
      [told('succeeded', 60_000), 10_000],
      [told('failed'), 0],
      [told('cancelled'), 0],
      [told('running'), 0],
      [SILENT, 0],
      [{ kind: 'silent', status: 429, retryAfterMs: 3_600_000 }, 0],
      [UNKNOWN, 0],
    ] satisfies readonly (readonly [JobAnswer, number])[]) {
      const providerJob = `vid-${market.plane.ids.ulid()}`
      const newJob = { ...(await job(10_000)), offer, providerJob }
      await post(submitText(newJob, Date.now() - 1))
      const asked: ProbedJob[] = []
      expect(await finish(answer, asked)).toBe(1)
      expect(await finish(answer, asked)).toBe(0)
      expect(asked).toMatchObject([{ kind: 'video', providerJob, place: { apiFormat: 'openai' } }])
      expect(await balanceOf(market.plane.db, newJob.account)).toBe(1_000_000 - charge)
      expect(await post(endText(newJob, 1_000))).toMatchObject({ conflicts: 1 })
    }
    expect(await breaches()).toEqual([])
  })

  it('past its deadline is polled once by several workers at the same moment', async () => {
    const offer = (await listOffer(market, (await market.person()).seller)).id
    const newJobs = await Promise.all(Array.from({ length: 6 }, () => job(10_000)))
    const names = newJobs.map((_, index) => `vid-claimed-${index}`)
    const text = (newJob: (typeof newJobs)[number], index: number) =>
      submitText({ ...newJob, offer, providerJob: `vid-claimed-${index}` }, Date.now() - 1)
    await post(...newJobs.map(text))
    const asked: ProbedJob[] = []
    await Promise.all(Array.from({ length: 4 }, () => finish(told('succeeded'), asked)))
    // A worker that finds another one at the job takes none.
    await finish(told('succeeded'), asked)
    expect(new Set(asked.map(({ providerJob }) => providerJob))).toEqual(new Set(names))
    expect(asked).toHaveLength(names.length)
    for (const { account } of newJobs) expect(await balanceOf(market.plane.db, account)).toBe(994_000)
  })

  it('past its deadline is polled at its own provider, with the key of its offer', async () => {
    const [one, two] = ['sk-good-job-one-abcdefgh', 'sk-good-job-two-abcdefgh']
    const { seller: person } = await market.person()
    const offer = (await listOffer(market, person, { apiKey: one })).id
    const done = { ...(await job(10_000)), offer, providerJob: await jobs.atProvider('sandbox/job', two) }
    const failed = { ...(await job(10_000)), offer, providerJob: await jobs.atProvider('sandbox/job-failing', two) }
    const running = { ...(await job(10_000)), offer, providerJob: await jobs.atProvider('sandbox/job-endless', two) }
    const strange = { ...(await job(10_000)), offer, providerJob: 'vid_of-nobody' }
    const homeless = await job(10_000)
    const all = [done, failed, running, strange, homeless]
    await post(...all.map((newJob) => submitText(newJob, Date.now() - 1)))
    market.provider.requests.reset()
    expect(await finish()).toBe(all.length)
    const questions = market.provider.requests.list()
    expect(questions.length).toBe(4)
    expect(new Set(questions.map(({ method, path }) => `${method} ${path}`))).toEqual(
      new Set([done, failed, running, strange].map(({ providerJob }) => `GET /v1/videos/${providerJob}`)),
    )
    expect(new Set(questions.map(({ headers }) => headers.authorization))).toEqual(new Set([`Bearer ${one}`]))
    // Three of the four seconds, at a micro-USD a millisecond.
    expect(await balanceOf(market.plane.db, done.account)).toBe(1_000_000 - 3_000)
    for (const { account } of all.slice(1)) expect(await balanceOf(market.plane.db, account)).toBe(1_000_000)
    for (const { account } of all) expect(await escrowOf(account)).toBe(0)
    const { rows } = await sql<{ code: string | null }>`select error_code as code from settlement
      where rid = any(${all.map(({ rid }) => rid)}::text[]) order by array_position(${all.map(({ rid }) => rid)}::text[], rid)`.execute(
      market.plane.db,
    )
    expect(rows.map(({ code }) => code)).toEqual([
      null,
      'upstream_error',
      'upstream_timeout',
      'upstream_timeout',
      'upstream_timeout',
    ])
    expect(await breaches()).toEqual([])
  })

  it('with a parked end that contradicts it ends at its deadline nevertheless', async () => {
    const newJob = await job(10_000)
    await post(endText({ ...newJob, quote: 20_000 }, 15_000))
    await post(submitText(newJob, Date.now() - 1))
    expect(await finish(told('succeeded'))).toBe(1)
    expect(await balanceOf(market.plane.db, newJob.account)).toBe(1_000_000)
    expect(await breaches()).toEqual([])
  })

  it('counts in the cap of its offer at its quote alone', () => {
    const newJob = { rid: ids.ulid(), account: 'acc_1', sellerAccount: 'acc_2', quote: 10_000, offer: 'ofr_1' }
    expect(capUseOf(submitText(newJob))).toMatchObject({ offer: 'ofr_1', chargeMicro: 10_000n })
    expect(capUseOf(endText(newJob, 6_000, { offer: 'ofr_1' }))).toBeUndefined()
  })
})

describe('a job whose buyer polls it', () => {
  it('is skipped by workers for a pause after each poll, but not at its deadline', async () => {
    const { now } = market.plane.clock
    const { id: offer } = await listOffer(market, (await market.person()).seller)
    const newJob = { ...(await job(10_000)), offer, providerJob: `vid-${ids.ulid()}`, startedAt: now() }
    await post(submitText(newJob, now() + 60_000))
    const pause = async () => {
      const text = sql<{ at: Date }>`select poll_at as at from job where rid = ${newJob.rid}`
      return ((await text.execute(market.plane.db)).rows[0]?.at.getTime() ?? 0) - now()
    }
    /** The polls of workers so far, after a turn at the instant of the next poll. */
    const turn = async (askedMsAgo?: number) => {
      market.advance(Math.max(0, await pause()) + 1)
      const key = moneyKeys.job(newJob.rid)
      if (askedMsAgo !== undefined) await market.world.redis.hset(key, 'asked', now() - askedMsAgo)
      await finish(told('running'), questions)
      return questions.filter(({ providerJob }) => providerJob === newJob.providerJob).length
    }
    const questions: ProbedJob[] = []
    // Redis has its record again after the first poll.
    expect(await turn()).toBe(1)
    for (const ago of [1_000, 1_000, 1_000]) {
      expect(await turn(ago)).toBe(1)
      expect(await pause()).toBeGreaterThan(3_000)
    }
    expect(await turn()).toBe(2)
    market.advance(60_000)
    expect(await turn(0)).toBe(3)
  })
})

describe('the acks to the gate', () => {
  /** Posts events and returns the acks to the gate. */
  async function told(...events: string[]): Promise<PostedChange[]> {
    const heard: PostedChange[] = []
    const { gate } = market.plane
    const ack: typeof gate.ack = (changes) => {
      heard.push(...changes)
      return gate.ack(changes)
    }
    await postBatch({ ...market.plane, gate: { ...gate, ack } }, { events, source: 'test' })
    return heard
  }

  it('have the time of booking for a booked call, and no ack for an event that contradicts it', async () => {
    const { rid, account, sellerAccount } = await job(10_000)
    const [first, other] = [700, 900].map((charge) => eventText({ rid, account, sellerAccount, charge }))
    expect(await told(first ?? '')).toMatchObject([{ rid, postedAt: expect.any(Number) }])
    const [contradicted] = await told(other ?? '')
    expect([contradicted?.rid, contradicted?.postedAt]).toEqual([rid, undefined])
  })

  it('include the end of a job that waits for its submit', async () => {
    const newJob = await job(10_000)
    expect(await told(endText(newJob, 6_000))).toMatchObject([{ rid: jobEndId(newJob.rid), account: newJob.account }])
    expect(await told(submitText(newJob))).toMatchObject([{ rid: newJob.rid }])
  })
})

describe('the end of a job in the store', () => {
  it('is the first end, for any reader', async () => {
    const store = createJobs({ redis: market.world.redis, isSure: () => true })
    const rid = ids.requestId()
    const end = (state: 'succeeded' | 'failed') => ({ event: state, state, artifacts: [], error: null, endedAt: 1 })
    expect(await store.end(rid, end('succeeded'))).toEqual(end('succeeded'))
    expect(await store.end(rid, end('failed'))).toEqual(end('succeeded'))
  })
})
