import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { findJob } from '#control-plane/db/jobs.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import type { PostedChange } from '#control-plane/ports/gate/gate.ts'
import type { JobBook } from '#control-plane/ports/jobs/job-book.ts'
import type { AskedJob, JobAnswer } from '#control-plane/ports/provider/job-probe.ts'
import { getRequest } from '#control-plane/services/lookup.ts'
import { postBatch } from '#control-plane/services/money/ingest.ts'
import { drainAccountChanges } from '#control-plane/services/money/ledger.ts'
import { JOB_POLLS } from '#control-plane/services/money/job-schedule.ts'
import { bookParkedEnds, createJobPolls } from '#control-plane/services/money/poll-jobs.ts'
import { createJobs } from '#data-plane/store/jobs.ts'
import { capUseOf } from '#shared/contract/money-scripts/uses.ts'
import { jobEndId, readUsageEvent } from '#shared/contract/usage-event.ts'
import type { AccountId } from '#shared/ids.ts'
import { parseRequestId } from '#shared/ids.ts'
import type { ProviderJob } from '#shared/jobs.ts'
import type { TestMarket } from '#test/support/control-plane.ts'
import { startMarket } from '#test/support/control-plane.ts'
import { figures, ids } from '#test/support/gate.ts'
import { endText, submitText } from '#test/support/job-events.ts'
import { balanceOf, newAccount } from '#test/support/ledger.ts'
import { listOffer } from '#test/support/offers.ts'
import { createRandomOrder } from '#test/support/random-order.ts'
import { until } from '#test/support/until.ts'
import { eventText } from '#test/support/usage-events.ts'

const ProviderAnswer = z.object({ id: z.string() })
let market: TestMarket
let seller: AccountId

beforeAll(async () => {
  market = await startMarket()
  seller = await newAccount(market.plane.db, 'seller_available')
})
afterAll(() => market.stop())

async function job(quote: number, balance = 1_000_000) {
  const account = await newAccount(market.plane.db, 'buyer_credit', balance)
  await drainAccountChanges(market.plane)
  return { rid: ids.ulid(), account, sellerAccount: seller, quote }
}
const post = (...events: string[]) => postBatch(market.plane, { events, source: 'test' })
const escrowOf = (account: AccountId) => balanceOf(market.plane.db, `acc_escrow_${account.slice(4)}`)
const SILENT: JobAnswer = { kind: 'silent', status: null, retryAfterMs: undefined }
const told = (state: ProviderJob['state'], milliseconds = 6_000): JobAnswer => {
  const artifacts = [{ url: 'https://files.example/1.mp4', contentType: 'video/mp4' }]
  return { kind: 'told', job: { id: 'p-1', state, usage: { milliseconds, calls: 1 }, artifacts } }
}
/** One turn of a worker over the jobs that are due. Each provider gives the same answer, or is really asked. */
async function finish(answer?: JobAnswer, asked: AskedJob[] = [], jobBook: JobBook = market.plane.jobBook) {
  const askJob = async (job: AskedJob) => {
    asked.push(job)
    return answer ?? market.plane.askJob(job)
  }
  const polls = createJobPolls({ ...market.plane, askJob, jobBook }, market.plane.ids.ulid())
  await polls.turn()
  await polls.settle()
  return polls.ended() + (await bookParkedEnds(market.plane))
}
/** A job of four seconds at the sample provider after its first question. The next question is its last. */
async function submitToProvider(model: string, key: string): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const place = `${market.provider.url}/video/generations`
  const body = JSON.stringify({ model, prompt: 'a door', seconds: 4 })
  const { id } = ProviderAnswer.parse(await (await fetch(place, { method: 'POST', headers, body })).json())
  await (await fetch(`${place}/${id}`, { headers })).arrayBuffer()
  return id
}

async function breaches(): Promise<string[]> {
  const { findings } = await market.plane.checkMoney()
  return findings.filter(({ state }) => state === 'breach').map(({ id, detail }) => `${id} ${detail}`)
}

describe('a long job', () => {
  it('moves its whole quote to escrow, and its end splits that to seller, fee and buyer', async () => {
    const wish = await job(10_000)
    const before = await balanceOf(market.plane.db, seller)
    expect(await post(submitText(wish))).toMatchObject({ posted: 1 })
    expect(await escrowOf(wish.account)).toBe(10_000)
    expect(await figures(market.plane.gate, wish.account)).toMatchObject({ p: 990_000, u: 0 })
    expect(await breaches()).toEqual([])
    const actor = { kind: 'buyer', keyId: 'key_t', user: 'usr_t', account: wish.account, wallet: '0x0' } as const
    const look = () => invoke(market.plane, actor, getRequest, { id: wish.rid })
    expect(await look()).toMatchObject({ settlement_status: 'accrued', buyer_cost_micro: 10_000, confirmed_at: null })

    expect(await post(endText(wish, 4_001))).toMatchObject({ posted: 1 })
    expect(await escrowOf(wish.account)).toBe(0)
    expect(await balanceOf(market.plane.db, seller)).toBe(before + 3_800)
    expect(await figures(market.plane.gate, wish.account)).toMatchObject({ p: 995_999, u: 0 })
    const { rows } = await sql<{ charge: bigint; hold: bigint }>`select charge, hold_amount as hold from settlement
      where rid = ${wish.rid}`.execute(market.plane.db)
    expect(rows).toEqual([{ charge: 4_001n, hold: 10_000n }])
    expect(await look()).toMatchObject({ settlement_status: 'accrued', buyer_cost_micro: 4_001 })
    expect(await breaches()).toEqual([])
  })

  it('that failed costs nothing, and one without a price has no entries', async () => {
    const wish = await job(10_000)
    await post(submitText(wish), endText(wish, 0, { outcome: 'failed' }))
    expect(await balanceOf(market.plane.db, wish.account)).toBe(1_000_000)
    const free = await job(0)
    expect(await post(submitText(free), endText(free, 0))).toMatchObject({ posted: 2 })
    expect(await breaches()).toEqual([])
  })

  it('is booked once whatever is delivered, how often and in what order [F40]', async () => {
    const before = await balanceOf(market.plane.db, seller)
    const wishes = await Promise.all(Array.from({ length: 12 }, () => job(9_000)))
    const order = createRandomOrder(7)
    await Promise.all(
      wishes.map(async (wish) => {
        const events = [submitText(wish), endText(wish, 5_000)]
        for (const event of order([...events, ...events, ...events])) await post(event)
      }),
    )
    await finish()
    for (const { account } of wishes) {
      expect(await balanceOf(market.plane.db, account)).toBe(995_000)
      expect(await escrowOf(account)).toBe(0)
    }
    expect(await balanceOf(market.plane.db, seller)).toBe(before + 12 * 4_750)
    expect(await breaches()).toEqual([])
  })

  it('parks an end that comes before its submit', async () => {
    const wish = await job(10_000)
    expect(await post(endText(wish, 2_000))).toMatchObject({ posted: 1, poisoned: 0 })
    expect(await balanceOf(market.plane.db, wish.account)).toBe(1_000_000)
    await post(submitText(wish))
    expect(await balanceOf(market.plane.db, wish.account)).toBe(998_000)
    expect(await findJob(market.plane.db, wish.account, wish.rid)).toMatchObject({ endedAt: expect.any(Date) })
  })

  it('whose two halves are booked at the same moment comes to its end by the sweeper at the latest', async () => {
    const wishes = await Promise.all(Array.from({ length: 20 }, () => job(1_000)))
    await Promise.all(wishes.flatMap((wish) => [post(submitText(wish)), post(endText(wish, 400))]))
    await finish()
    for (const { account } of wishes) expect(await balanceOf(market.plane.db, account)).toBe(999_600)
    expect(await breaches()).toEqual([])
  })

  it('keeps the first of two ends, and refuses an end that is not its own', async () => {
    const wish = await job(10_000)
    await post(submitText(wish), endText(wish, 3_000))
    expect(await post(endText(wish, 4_000))).toMatchObject({ conflicts: 1 })
    expect(await post(submitText({ ...wish, quote: 11_000 }))).toMatchObject({ conflicts: 1 })
    const other = await job(10_000)
    await post(submitText(other))
    expect(await post(endText({ ...other, quote: 20_000 }, 15_000))).toMatchObject({ poisoned: 1 })
    expect(await escrowOf(other.account)).toBe(10_000)
    expect(await post(endText(other, 10_000))).toMatchObject({ posted: 1 })
    expect(await breaches()).toEqual([])
  })

  it('that the balance did not cover pays the shortfall back before the buyer', async () => {
    const wish = await job(10_000, 7_000)
    await post(submitText(wish))
    expect(await balanceOf(market.plane.db, wish.account)).toBe(0)
    expect(await balanceOf(market.plane.db, 'acc_platform_shortfall')).toBe(-3_000)
    await post(endText(wish, 4_000))
    expect(await balanceOf(market.plane.db, 'acc_platform_shortfall')).toBe(0)
    expect(await balanceOf(market.plane.db, wish.account)).toBe(3_000)
    expect(await breaches()).toEqual([])
  })

  it('past its deadline is asked about once and ends by what its provider says', async () => {
    const offer = (await listOffer(market, (await market.person()).seller)).id
    for (const [answer, charge] of [
      [told('succeeded'), 6_000],
      // It reports more than was quoted.
      [told('succeeded', 60_000), 10_000],
      [told('failed'), 0],
      [told('cancelled'), 0],
      [told('running'), 0],
      [SILENT, 0],
      [{ ...SILENT, retryAfterMs: 3_600_000 }, 0],
      [{ kind: 'unknown' } as const, 0],
    ] as const) {
      const providerJob = `vid-${market.plane.ids.ulid()}`
      const wish = { ...(await job(10_000)), offer, providerJob }
      await post(submitText(wish, Date.now() - 1))
      const asked: AskedJob[] = []
      expect(await finish(answer, asked)).toBe(1)
      expect(await finish(answer, asked)).toBe(0)
      expect(asked).toMatchObject([{ kind: 'video', providerJob, place: { apiFormat: 'openai' } }])
      expect(await balanceOf(market.plane.db, wish.account)).toBe(1_000_000 - charge)
      expect(await post(endText(wish, 1_000))).toMatchObject({ conflicts: 1 })
    }
    expect(await breaches()).toEqual([])
  })

  it('past its deadline is asked about once by several workers at the same moment', async () => {
    const offer = (await listOffer(market, (await market.person()).seller)).id
    const wishes = await Promise.all(Array.from({ length: 6 }, () => job(10_000)))
    const names = wishes.map((_, index) => `vid-claimed-${index}`)
    const text = (wish: (typeof wishes)[number], index: number) =>
      submitText({ ...wish, offer, providerJob: `vid-claimed-${index}` }, Date.now() - 1)
    await post(...wishes.map(text))
    const asked: AskedJob[] = []
    await Promise.all(Array.from({ length: 4 }, () => finish(told('succeeded'), asked)))
    // A worker that found another one at it took none.
    await finish(told('succeeded'), asked)
    expect(new Set(asked.map(({ providerJob }) => providerJob))).toEqual(new Set(names))
    expect(asked).toHaveLength(names.length)
    for (const { account } of wishes) expect(await balanceOf(market.plane.db, account)).toBe(994_000)
  })

  it('past its deadline is asked about at its own provider, with the key of its offer', async () => {
    const [one, two] = ['sk-good-job-one-abcdefgh', 'sk-good-job-two-abcdefgh']
    const { seller: person } = await market.person()
    const offer = (await listOffer(market, person, { apiKey: one })).id
    const done = { ...(await job(10_000)), offer, providerJob: await submitToProvider('sandbox/job', two) }
    const failed = { ...(await job(10_000)), offer, providerJob: await submitToProvider('sandbox/job-failing', two) }
    const running = { ...(await job(10_000)), offer, providerJob: await submitToProvider('sandbox/job-endless', two) }
    const strange = { ...(await job(10_000)), offer, providerJob: 'vid_of-nobody' }
    const homeless = await job(10_000)
    const all = [done, failed, running, strange, homeless]
    await post(...all.map((wish) => submitText(wish, Date.now() - 1)))
    market.provider.requests.reset()
    expect(await finish()).toBe(all.length)
    const questions = market.provider.requests.list()
    expect(questions.length).toBe(4)
    expect(new Set(questions.map(({ method, path }) => `${method} ${path}`))).toEqual(
      new Set([done, failed, running, strange].map(({ providerJob }) => `GET /v1/video/generations/${providerJob}`)),
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

  it('with a parked end that does not fit ends at its deadline all the same', async () => {
    const wish = await job(10_000)
    await post(endText({ ...wish, quote: 20_000 }, 15_000))
    await post(submitText(wish, Date.now() - 1))
    expect(await finish(told('succeeded'))).toBe(1)
    expect(await balanceOf(market.plane.db, wish.account)).toBe(1_000_000)
    expect(await breaches()).toEqual([])
  })

  it('counts in the cap of its offer by its quote alone', () => {
    const wish = { rid: ids.ulid(), account: 'acc_1', sellerAccount: 'acc_2', quote: 10_000, offer: 'ofr_1' }
    expect(capUseOf(submitText(wish))).toMatchObject({ offer: 'ofr_1', chargeMicro: 10_000n })
    expect(capUseOf(endText(wish, 6_000, { offer: 'ofr_1' }))).toBeUndefined()
  })
})

describe('a job that nobody asks about', () => {
  let offer: string
  beforeAll(async () => {
    offer = (await listOffer(market, (await market.person()).seller)).id
  })
  const store = () => createJobs(market.world.redis)
  const wishOf = async (quote = 10_000) => ({ ...(await job(quote)), offer, providerJob: `vid-${ids.ulid()}` })
  const scheduleOf = async (rid: string) => {
    const { rows } = await sql<{ at: Date; polls: number; asker: string | null; unknown: number }>`select poll_at as at,
      polls, asker, unknown_polls as unknown from job where rid = ${rid}`.execute(market.plane.db)
    const [row] = rows
    if (row === undefined) throw new Error('no such job')
    return { ...row, inMs: row.at.getTime() - market.plane.clock.now() }
  }
  /** Moves the clock to the instant at which a job is asked about next. */
  const wait = async (rid: string) => market.advance(Math.max(0, (await scheduleOf(rid)).inMs) + 1)
  const ridOf = ({ rid }: { rid: string }) => {
    const id = parseRequestId(rid)
    if (id === undefined) throw new Error('no request id')
    return id
  }
  const DAY = 24 * 3_600_000
  const submit = async (wish: Awaited<ReturnType<typeof wishOf>>, lifeMs = DAY) => {
    const text = submitText({ ...wish, startedAt: market.plane.clock.now() }, market.plane.clock.now() + lifeMs)
    await post(text)
    return wish
  }
  const endIn = async (rid: string) => {
    const { rows } = await sql<{ event: string }>`select event from job_end where rid = ${rid}`.execute(market.plane.db)
    return rows[0]?.event
  }

  it('is asked about by workers, with longer and longer pauses, until its provider is done', async () => {
    const wish = await submit(await wishOf())
    const asked: AskedJob[] = []
    expect(await finish(told('succeeded'), asked)).toBe(0)
    expect(asked).toEqual([])
    const pauses: number[] = []
    for (let question = 0; question < 14; question++) {
      pauses.push((await scheduleOf(wish.rid)).inMs)
      await wait(wish.rid)
      expect(await finish(told('running'), asked)).toBe(0)
      expect(asked).toHaveLength(question + 1)
    }
    expect(pauses[0]).toBeLessThan(6_001)
    expect(pauses.every((pause, index) => pause < 360_001 && pause > (pauses[index - 1] ?? 0) * 0.6)).toBe(true)
    expect(pauses.at(-1)).toBeGreaterThan(239_000)
    await wait(wish.rid)
    expect(await finish(told('succeeded', 4_000), asked)).toBe(1)
    expect(await balanceOf(market.plane.db, wish.account)).toBe(996_000)
    expect(await breaches()).toEqual([])
  })

  it('ends in Redis as in the ledger, so its buyer is shown what was booked', async () => {
    const wish = await submit(await wishOf())
    await wait(wish.rid)
    expect(await finish(told('succeeded', 4_000))).toBe(1)
    const kept = await store().find(ridOf(wish))
    expect(kept).toMatchObject({ isBooked: true, end: { state: 'succeeded', error: null } })
    expect(kept?.end?.artifacts).toEqual([{ url: 'https://files.example/1.mp4', contentType: 'video/mp4' }])
    expect(kept?.end?.event).toBe(await endIn(wish.rid))
    expect(kept?.job).toMatchObject({ rid: wish.rid, providerJob: wish.providerJob, quoteMicro: 10_000n })
  })

  it('ends as its record says, when a buyer heard of the end and its process died before the booking', async () => {
    const wish = await submit(await wishOf())
    await wait(wish.rid)
    await finish(told('running'))
    const event = endText(wish, 3_000)
    await store().end(ridOf(wish), { event, state: 'succeeded', artifacts: [], error: null })
    await wait(wish.rid)
    const asked: AskedJob[] = []
    // Its provider has changed the price since.
    expect(await finish(told('succeeded', 9_000), asked)).toBe(1)
    expect(asked).toEqual([])
    expect(await endIn(wish.rid)).toBe(event)
    expect(await balanceOf(market.plane.db, wish.account)).toBe(997_000)
    expect(await store().find(ridOf(wish))).toMatchObject({ isBooked: true })
  })

  it('ends once when a buyer and two workers hear of it at the same moment', async () => {
    const wishes = await Promise.all(Array.from({ length: 8 }, async () => submit(await wishOf())))
    for (const wish of wishes) await wait(wish.rid)
    await finish(told('running'))
    for (const wish of wishes) await wait(wish.rid)
    await Promise.all([
      ...wishes.map(async (wish) => {
        const own = { event: endText(wish, 2_000), state: 'succeeded', artifacts: [], error: null } as const
        const { event } = await store().end(ridOf(wish), own)
        await post(event)
      }),
      finish(told('succeeded', 4_000)),
      finish(told('failed')),
    ])
    await finish(told('failed'))
    for (const wish of wishes) {
      const event = (await store().find(ridOf(wish)))?.end?.event
      expect(event).toBe(await endIn(wish.rid))
      const { chargeMicro } = readUsageEvent(event ?? '') ?? {}
      expect(await balanceOf(market.plane.db, wish.account)).toBe(1_000_000 - Number(chargeMicro))
    }
    expect(await breaches()).toEqual([])
  })

  it('waits while Redis is away, even at its deadline, and then ends once', async () => {
    const wish = await submit(await wishOf(), 60_000)
    const away: JobBook = { ...market.plane.jobBook, read: () => Promise.reject(new Error('away')) }
    const deaf: JobBook = { ...market.plane.jobBook, end: () => Promise.reject(new Error('away')) }
    const asked: AskedJob[] = []
    for (const book of [away, deaf]) {
      market.advance(600_000)
      expect(await finish(told('succeeded'), asked, book)).toBe(0)
    }
    expect(asked).toHaveLength(1)
    expect(await escrowOf(wish.account)).toBe(10_000)
    await wait(wish.rid)
    expect(await finish(told('succeeded'), asked)).toBe(1)
    expect(await balanceOf(market.plane.db, wish.account)).toBe(994_000)
  })

  it('waits as long as its provider asks for, with the others of its offer, but not beyond its deadline', async () => {
    const [limited, other, due] = [await wishOf(), await wishOf(), await wishOf()]
    for (const wish of [limited, other]) await submit(wish)
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
    market.advance(15_000)
    // Only the job past its deadline is asked about.
    expect(await turn()).toEqual([due.providerJob])
    expect(await balanceOf(market.plane.db, due.account)).toBe(1_000_000)
    for (const { rid } of [limited, other]) await wait(rid)
    expect(await finish(told('failed'))).toBe(2)
  })

  it('that its provider does not know any more ends without a charge, but not after a few such answers', async () => {
    const wish = await submit(await wishOf())
    const ask = async (answer: JobAnswer) => {
      await wait(wish.rid)
      return finish(answer)
    }
    for (let time = 0; time < 5; time++) expect(await ask({ kind: 'unknown' })).toBe(0)
    expect(await ask(told('running'))).toBe(0)
    for (let time = 0; time < 5; time++) expect(await ask({ kind: 'unknown' })).toBe(0)
    expect((await scheduleOf(wish.rid)).unknown).toBe(5)
    expect(await ask({ kind: 'unknown' })).toBe(1)
    expect(await balanceOf(market.plane.db, wish.account)).toBe(1_000_000)
    expect((await store().find(ridOf(wish)))?.end).toMatchObject({ state: 'failed', error: expect.stringContaining('know') })
  })

  it('is one worker’s at a time, another’s after its death, and one of so many at a provider', async () => {
    const wishes = await Promise.all(Array.from({ length: 40 }, async () => submit(await wishOf(100))))
    for (const { rid } of wishes) await wait(rid)
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
    await until('the questions are out', 5_000, () => asked.length >= JOB_POLLS.perProvider)
    expect(asked).toHaveLength(JOB_POLLS.perProvider)
    expect(new Set(asked).size).toBe(JOB_POLLS.perProvider)
    // They die. After the lease their jobs are another's.
    market.advance(JOB_POLLS.leaseMs + 1)
    expect(await finish(told('succeeded', 40))).toBe(JOB_POLLS.perProvider)
    expect(await finish(told('succeeded', 40))).toBe(8)
    // What the dead say after all changes nothing.
    for (const answer of waiting) answer()
    await Promise.all(workers.map((worker) => worker.settle()))
    for (const { account } of wishes) expect(await balanceOf(market.plane.db, account)).toBe(999_960)
    expect(await breaches()).toEqual([])
  })
})

describe('what the gate is told', () => {
  /** Posts events and answers what the gate was told of them. */
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

  it('is the time of booking for a call that was booked, and none for an event that contradicts it', async () => {
    const { rid, account, sellerAccount } = await job(10_000)
    const [first, other] = [700, 900].map((charge) => eventText({ rid, account, sellerAccount, charge }))
    expect(await told(first ?? '')).toMatchObject([{ rid, postedAt: expect.any(Number) }])
    const [contradicted] = await told(other ?? '')
    expect([contradicted?.rid, contradicted?.postedAt]).toEqual([rid, undefined])
  })

  it('includes the end of a job that waits for its submit', async () => {
    const wish = await job(10_000)
    expect(await told(endText(wish, 6_000))).toMatchObject([{ rid: jobEndId(wish.rid), account: wish.account }])
    expect(await told(submitText(wish))).toMatchObject([{ rid: wish.rid }])
  })
})

describe('the end of a job in the store', () => {
  it('is the first that came, whoever asks', async () => {
    const jobs = createJobs(market.world.redis)
    const rid = ids.requestId()
    const end = (state: 'succeeded' | 'failed') => ({ event: state, state, artifacts: [], error: null })
    expect(await jobs.end(rid, end('succeeded'))).toEqual(end('succeeded'))
    expect(await jobs.end(rid, end('failed'))).toEqual(end('succeeded'))
  })
})
