import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { invoke } from '#control-plane/operation/invoke.ts'
import type { JobBook } from '#control-plane/ports/jobs/job-book.ts'
import type { JobAnswer, ProbedJob } from '#control-plane/ports/provider/job-probe.ts'
import { JOB_POLLS, nextPoll } from '#control-plane/services/booking/job-schedule.ts'
import { cancelOwnJob } from '#control-plane/services/jobs/jobs.ts'
import { createJobPolls } from '#control-plane/services/jobs/poll-jobs.ts'
import { tellEndedJobs } from '#control-plane/services/webhooks/job-alerts.ts'
import { attemptDelivery } from '#control-plane/services/webhooks/webhook-deliveries.ts'
import { createJobs } from '#data-plane/store/jobs.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'
import type { CrashPoint } from '#shared/crash-point.ts'
import type { AccountId } from '#shared/ids.ts'
import { ids } from '#test/support/books/gate.ts'
import { endText, submitText } from '#test/support/books/job-events.ts'
import { balanceOf } from '#test/support/books/ledger.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'
import { listOffer } from '#test/support/doors/offers.ts'
import type { JobDesk } from '#test/support/jobs/job-desk.ts'
import { openJobDesk, SILENT, told, UNKNOWN } from '#test/support/jobs/job-desk.ts'
import { programArguments } from '#test/support/run/programs.ts'
import { BUSY_MS, until } from '#test/support/run/until.ts'

let market: TestMarket
let jobs: JobDesk
let offer: string

beforeAll(async () => {
  market = await startMarket()
  jobs = await openJobDesk(market)
  offer = (await listOffer(market, (await market.person()).seller)).id
})
afterAll(() => market.stop())

const store = () => createJobs({ redis: market.world.redis, isSure: () => true })
const newJobOf = async (quote = 10_000) => ({ ...(await jobs.job(quote)), offer, providerJob: `vid-${ids.ulid()}` })
const scheduleOf = async (rid: string) => {
  const { rows } = await sql<{ at: Date; polls: number; asker: string | null; unknown: number }>`select poll_at as at,
    polls, asker, unknown_polls as unknown from job where rid = ${rid}`.execute(market.plane.db)
  const [row] = rows
  if (row === undefined) throw new Error('no such job')
  return { ...row, inMs: row.at.getTime() - market.plane.clock.now() }
}
/** Moves the clock to the instant of the job's next poll. */
const wait = async (rid: string) => market.advance(Math.max(0, (await scheduleOf(rid)).inMs) + 1)
const DAY = 24 * 3_600_000
const submit = async (newJob: Awaited<ReturnType<typeof newJobOf>>, lifeMs = DAY) => {
  const text = submitText({ ...newJob, startedAt: market.plane.clock.now() }, market.plane.clock.now() + lifeMs)
  await jobs.post(text)
  return newJob
}
const endIn = async (rid: string) => {
  const { rows } = await sql<{ event: string }>`select event from job_end where rid = ${rid}`.execute(market.plane.db)
  return rows[0]?.event
}

/** Runs a worker process that polls due jobs until it dies at a place. Returns the signal that ended it. */
async function dieAt(point: CrashPoint): Promise<unknown> {
  const { databaseUrl, redisUrl, keyPepper, fingerprintPepper, sessionSecret } = market.plane.config
  const environment = {
    NODE_ENV: 'test',
    PORT: '0',
    LOG_LEVEL: 'silent',
    ALLOW_LOOPBACK_UPSTREAMS: '1',
    CRASH_AT: `${point}#1`,
    DATABASE_URL: databaseUrl.reveal(),
    REDIS_URL: redisUrl.reveal(),
    KEY_PEPPER: keyPepper.reveal(),
    FINGERPRINT_PEPPER: fingerprintPepper.reveal(),
    SESSION_SECRET: sessionSecret.reveal(),
    CREDENTIAL_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  }
  const args = await programArguments('test/bench/job-poller.ts')
  const worker = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'], env: environment })
  const [, signal] = await once(worker, 'exit', { signal: AbortSignal.timeout(BUSY_MS) })
  return signal
}

describe('a worker that is killed', () => {
  it.each(['job_asked', 'job_end_written', 'job_end_booked'] as const)(
    'at %s leaves a job to another worker, and the job ends once, as its record says',
    async (point) => {
      const newJob = { ...(await jobs.job(10_000)), offer, providerJob: await jobs.atProvider('sandbox/job') }
      await submit(newJob)
      await sql`update job set poll_at = now() where rid = ${newJob.rid}`.execute(market.plane.db)
      market.provider.requests.reset()
      expect(await dieAt(point)).toBe('SIGKILL')
      market.advance(JOB_POLLS.leaseMs + 1)
      expect(await jobs.turn()).toBe(point === 'job_end_booked' ? 0 : 1)
      const kept = await store().find(newJob.rid)
      expect(kept).toMatchObject({ isBooked: point !== 'job_end_booked', end: { state: 'succeeded' } })
      expect(kept?.end?.event).toBe(await endIn(newJob.rid))
      // Three of its four seconds, at a micro-USD a millisecond.
      expect(await balanceOf(market.plane.db, newJob.account)).toBe(997_000)
      // The provider ran nothing again, and only the unstored answer was requested twice.
      const methods = market.provider.requests.list().map(({ method }) => method)
      expect(methods).toEqual(point === 'job_asked' ? ['GET', 'GET'] : ['GET'])
      expect(await jobs.breaches()).toEqual([])
    },
  )
})

describe('a job without a poll of its buyer', () => {
  it('is polled by workers, with growing pauses, until its provider has finished', async () => {
    const newJob = await submit(await newJobOf())
    const asked: ProbedJob[] = []
    expect(await jobs.turn(told('succeeded'), { asked })).toBe(0)
    expect(asked).toEqual([])
    const pauses: number[] = []
    for (let question = 0; question < 14; question++) {
      pauses.push((await scheduleOf(newJob.rid)).inMs)
      await wait(newJob.rid)
      expect(await jobs.turn(told('running'), { asked })).toBe(0)
      expect(asked).toHaveLength(question + 1)
    }
    expect(pauses[0]).toBeLessThan(6_001)
    expect(pauses.every((pause, index) => pause < 360_001 && pause > (pauses[index - 1] ?? 0) * 0.6)).toBe(true)
    expect(pauses.at(-1)).toBeGreaterThan(239_000)
    await wait(newJob.rid)
    expect(await jobs.turn(told('succeeded', 4_000), { asked })).toBe(1)
    expect(await balanceOf(market.plane.db, newJob.account)).toBe(996_000)
    expect(await jobs.breaches()).toEqual([])
  })

  it('has the same end in Redis and in the ledger, so its buyer sees the booked end', async () => {
    const newJob = await submit(await newJobOf())
    await wait(newJob.rid)
    expect(await jobs.turn(told('succeeded', 4_000))).toBe(1)
    const kept = await store().find(newJob.rid)
    expect(kept).toMatchObject({ isBooked: true, end: { state: 'succeeded', error: null } })
    expect(kept?.end?.artifacts).toEqual([
      { url: 'https://files.example/1.mp4', contentType: 'video/mp4', access: 'lasting' },
    ])
    expect(kept?.end?.event).toBe(await endIn(newJob.rid))
    expect(kept?.job).toMatchObject({ rid: newJob.rid, providerJob: newJob.providerJob, quoteMicro: 10_000n })
  })

  it("ends as its record says, when the process of the buyer's poll died before the booking", async () => {
    const newJob = await submit(await newJobOf())
    await wait(newJob.rid)
    await jobs.turn(told('running'))
    const event = endText(newJob, 3_000)
    await store().end(newJob.rid, { event, state: 'succeeded', artifacts: [], error: null, endedAt: 1 })
    await wait(newJob.rid)
    const asked: ProbedJob[] = []
    // The provider has changed the price since the submit.
    expect(await jobs.turn(told('succeeded', 9_000), { asked })).toBe(1)
    expect(asked).toEqual([])
    expect(await endIn(newJob.rid)).toBe(event)
    expect(await balanceOf(market.plane.db, newJob.account)).toBe(997_000)
    expect(await store().find(newJob.rid)).toMatchObject({ isBooked: true })
  })

  it('ends once when a buyer and two workers see the end at the same moment', async () => {
    const newJobs = []
    for (let count = 0; count < 8; count++) newJobs.push(await submit(await newJobOf()))
    for (const newJob of newJobs) await wait(newJob.rid)
    await jobs.turn(told('running'))
    for (const newJob of newJobs) await wait(newJob.rid)
    await Promise.all([
      ...newJobs.map(async (newJob) => {
        const own = {
          event: endText(newJob, 2_000),
          state: 'succeeded' as const,
          artifacts: [],
          error: null,
          endedAt: 1,
        }
        const { event } = await store().end(newJob.rid, own)
        await jobs.post(event)
      }),
      jobs.turn(told('succeeded', 4_000)),
      jobs.turn(told('failed')),
    ])
    await jobs.turn(told('failed'))
    for (const newJob of newJobs) {
      const event = (await store().find(newJob.rid))?.end?.event
      expect(event).toBe(await endIn(newJob.rid))
      const { chargeMicro } = readUsageEvent(event ?? '') ?? {}
      expect(await balanceOf(market.plane.db, newJob.account)).toBe(1_000_000 - Number(chargeMicro))
    }
    expect(await jobs.breaches()).toEqual([])
  })

  it('is polled at its deadline, whatever pause its provider asks for', () => {
    const facts = { rid: ids.ulid(), polls: 9, now: 0, deadlineAt: 60_000 }
    expect([nextPoll(facts), nextPoll({ ...facts, retryAfterMs: 3_600_000 })]).toEqual([60_000, 60_000])
  })

  it('waits while Redis is away, also past its deadline, and then ends once', async () => {
    const newJob = await submit(await newJobOf(), 60_000)
    const away: JobBook = { ...market.plane.jobBook, read: () => Promise.reject(new Error('away')) }
    const deaf: JobBook = { ...market.plane.jobBook, end: () => Promise.reject(new Error('away')) }
    const asked: ProbedJob[] = []
    for (const book of [away, deaf]) {
      market.advance(600_000)
      expect(await jobs.turn(told('succeeded'), { asked, jobBook: book })).toBe(0)
    }
    expect(asked).toHaveLength(1)
    expect(await jobs.escrowOf(newJob.account)).toBe(10_000)
    await wait(newJob.rid)
    expect(await jobs.turn(told('succeeded'), { asked })).toBe(1)
    expect(await balanceOf(market.plane.db, newJob.account)).toBe(994_000)
  })

  it('waits as long as its provider asks for, with the other jobs of its offer, but not past its deadline', async () => {
    const [limited, other, due] = [await newJobOf(), await newJobOf(), await newJobOf()]
    for (const newJob of [limited, other]) await submit(newJob)
    await submit(due, 20_000)
    await wait(limited.rid)
    const worker = createJobPolls(
      {
        ...market.plane,
        askJob: async ({ providerJob }) => {
          asked.push(providerJob)
          return { kind: 'silent', status: 429, retryAfterMs: 1_200_000 }
        },
      },
      'limited',
    )
    const asked: string[] = []
    const turn = async () => {
      await worker.turn()
      await worker.settle()
      return asked.splice(0)
    }
    expect(await turn()).toContain(limited.providerJob)
    expect((await scheduleOf(limited.rid)).inMs).toBeGreaterThan(1_199_000)
    market.advance(20_001)
    // Only the job past its deadline is polled.
    expect(await turn()).toEqual([due.providerJob])
    expect(await balanceOf(market.plane.db, due.account)).toBe(1_000_000)
    for (const { rid } of [limited, other]) await wait(rid)
    expect(await jobs.turn(told('failed'))).toBe(2)
  })

  it('that its provider has forgotten ends without a charge, but only after several such answers', async () => {
    const newJob = await submit(await newJobOf())
    const ask = async (answer: JobAnswer) => {
      await wait(newJob.rid)
      return jobs.turn(answer)
    }
    for (let time = 0; time < 5; time++) expect(await ask(UNKNOWN)).toBe(0)
    expect(await ask(told('running'))).toBe(0)
    for (let time = 0; time < 5; time++) expect(await ask(UNKNOWN)).toBe(0)
    expect((await scheduleOf(newJob.rid)).unknown).toBe(5)
    expect(await ask(UNKNOWN)).toBe(1)
    expect(await balanceOf(market.plane.db, newJob.account)).toBe(1_000_000)
    expect((await store().find(newJob.rid))?.end).toMatchObject({
      state: 'failed',
      error: expect.stringContaining('know'),
    })
  })

  it('belongs to one worker at a time, to another after a death, and counts in a limit of jobs a provider', async () => {
    const first = await newJobOf(100)
    const newJobs = Array.from({ length: 40 }, () => ({
      ...first,
      rid: ids.requestId(),
      providerJob: `vid-${ids.ulid()}`,
    }))
    for (const newJob of newJobs) await submit(newJob)
    for (const { rid } of newJobs) await wait(rid)
    const waiting: (() => void)[] = []
    const asked: string[] = []
    const stuck = (name: string) =>
      createJobPolls(
        {
          ...market.plane,
          askJob: ({ providerJob }) => {
            asked.push(providerJob)
            return new Promise((resolve) => waiting.push(() => resolve(told('running'))))
          },
        },
        name,
      )
    const workers = ['one', 'two', 'three'].map(stuck)
    for (let round = 0; round < 2; round++) for (const worker of workers) await worker.turn()
    await until('the polls are out', 5_000, () => asked.length >= JOB_POLLS.perProvider)
    expect(asked).toHaveLength(JOB_POLLS.perProvider)
    expect(new Set(asked).size).toBe(JOB_POLLS.perProvider)
    // The workers die. Other workers get the jobs after the lease.
    market.advance(JOB_POLLS.leaseMs + 1)
    expect(await jobs.turn(told('succeeded', 40))).toBe(JOB_POLLS.perProvider)
    expect(await jobs.turn(told('succeeded', 40))).toBe(8)
    // Answers to the dead workers change nothing.
    for (const answer of waiting) answer()
    await Promise.all(workers.map((worker) => worker.settle()))
    expect(await balanceOf(market.plane.db, first.account)).toBe(1_000_000 - 40 * 40)
    expect(await jobs.breaches()).toEqual([])
  })

  describe('and is cancelled by its buyer', () => {
    const cancel = (newJob: { readonly rid: string; readonly account: AccountId }, answer: JobAnswer) => {
      const askJob = async (job: ProbedJob) => {
        expect(job.isCancel).toBe(true)
        return answer
      }
      const actor = { kind: 'buyer', keyId: 'key_t', user: 'usr_t', account: newJob.account, wallet: '0x0' } as const
      return invoke({ ...market.plane, askJob }, actor, cancelOwnJob, { id: `job_${newJob.rid}` })
    }

    const speak = (apiFormat: string) =>
      sql`update offer set api_format = ${apiFormat} where id = ${offer}`.execute(market.plane.db)
    beforeAll(() => speak('falqueue'))
    afterAll(() => speak('openai'))

    it('continues where the provider has no way to stop it, and its buyer sees that', async () => {
      await speak('openai')
      const newJob = await submit(await newJobOf())
      const askJob = async (job: ProbedJob) => {
        expect(job.isCancel).toBe(false)
        return told('running')
      }
      const actor = { kind: 'buyer', keyId: 'key_t', user: 'usr_t', account: newJob.account, wallet: '0x0' } as const
      const asked = invoke({ ...market.plane, askJob }, actor, cancelOwnJob, { id: `job_${newJob.rid}` })
      await expect(asked).rejects.toMatchObject({ code: 'conflict' })
      await speak('falqueue')
      await wait(newJob.rid)
      expect(await jobs.turn(told('failed'))).toBe(1)
      expect((await store().find(newJob.rid))?.end).toMatchObject({ state: 'failed' })
    })

    it('ends as its provider reports: cancelled for nothing, or finished and charged', async () => {
      const [stopped, finished] = [await submit(await newJobOf()), await submit(await newJobOf())]
      expect(await cancel(stopped, told('cancelled'))).toMatchObject({ state: 'cancelled', chargeMicro: '0' })
      expect(await cancel(finished, told('succeeded', 4_000))).toMatchObject({
        state: 'succeeded',
        chargeMicro: '4000',
      })
      // Both have ended, so neither is polled again.
      expect(await cancel(finished, told('cancelled'))).toMatchObject({ state: 'succeeded', chargeMicro: '4000' })
      expect((await store().find(finished.rid))?.end).toMatchObject({ state: 'succeeded' })
      expect(await balanceOf(market.plane.db, stopped.account)).toBe(1_000_000)
      expect(await balanceOf(market.plane.db, finished.account)).toBe(996_000)
    })

    it('continues while its provider has not stopped it, or does not answer', async () => {
      const newJob = await submit(await newJobOf())
      expect(await cancel(newJob, told('running'))).toMatchObject({ state: 'running', chargeMicro: null })
      expect((await scheduleOf(newJob.rid)).inMs).toBeLessThan(2_001)
      for (const answer of [SILENT, UNKNOWN]) {
        await expect(cancel(newJob, answer)).rejects.toMatchObject({ code: 'upstream_error' })
      }
      await expect(cancel({ ...newJob, account: 'acc_another' }, SILENT)).rejects.toMatchObject({ code: 'not_found' })
      await wait(newJob.rid)
      expect(await jobs.turn(told('cancelled'))).toBe(1)
    })
  })
})

describe('the end of a job', () => {
  it('is sent once to the webhooks that listen, with its cost and the number of its files, and without their URLs', async () => {
    const { buyer, buyerKey } = await market.person()
    const hook = { url: `${market.provider.url}/hook`, events: ['job.succeeded', 'job.cancelled'] }
    expect((await market.rest('POST', '/v1/buyer/webhooks', { key: buyerKey, body: hook })).status).toBe(201)
    const sent: { readonly headers: Readonly<Record<string, string>>; readonly body: string }[] = []
    const plane: typeof market.plane = {
      ...market.plane,
      sendWebhook: async (message) => {
        sent.push(message)
        return { kind: 'answered', status: 204 }
      },
    }
    const tellAll = async () => {
      for (const id of await tellEndedJobs(plane)) await attemptDelivery(plane, id, { isLast: true })
      return sent.splice(0)
    }
    await tellAll()
    const end = async (state: 'succeeded' | 'failed') => {
      const newJob = { rid: ids.requestId(), account: buyer.account, sellerAccount: jobs.seller, quote: 0, offer }
      await jobs.post(submitText(newJob, market.plane.clock.now() - 1))
      expect(await jobs.turn(told(state, 0))).toBe(1)
      return { rid: newJob.rid, messages: await tellAll() }
    }
    const { rid, messages } = await end('succeeded')
    expect(messages).toHaveLength(1)
    expect(messages[0]?.headers).toMatchObject({
      'x-mkt-event': 'job.succeeded',
      'x-mkt-signature': expect.stringMatching(/^t=\d+,v1=[0-9a-f]{64}$/),
    })
    expect(JSON.parse(messages[0]?.body ?? '')).toMatchObject({
      type: 'job.succeeded',
      data: {
        job_id: `job_${rid}`,
        request_id: rid,
        kind: 'video',
        state: 'succeeded',
        quote_usdc: '0',
        charge_usdc: '0',
        artifacts: 1,
      },
    })
    expect(messages[0]?.body).not.toContain('files.example')
    const list = await market.rest('GET', '/v1/buyer/jobs', { key: buyerKey })
    expect(list.body).toMatchObject({ items: [{ id: rid, state: 'succeeded', artifacts: 1 }] })
    // An end is sent once, and only to webhooks that listen for it.
    expect([await tellAll(), (await end('failed')).messages]).toEqual([[], []])
  })
})
