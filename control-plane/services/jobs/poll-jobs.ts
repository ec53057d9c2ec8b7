import { transact } from '#control-plane/db/database.ts'
import type { NextPoll } from '#control-plane/db/job-polls.ts'
import { lockTaking, takeDueJobs, updatePolls } from '#control-plane/db/job-polls.ts'
import type { Job } from '#control-plane/db/jobs.ts'
import { listParkedEnds } from '#control-plane/db/jobs.ts'
import { hasDueJobs } from '#control-plane/db/open-work.ts'
import { moneyTransaction } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import type { JobAnswer } from '#control-plane/ports/provider/job-probe.ts'
import { bookParked } from '#control-plane/services/booking/book-job-event.ts'
import { JOB_POLLS, nextPoll } from '#control-plane/services/booking/job-schedule.ts'
import { confirmBuyers } from '#control-plane/services/ledger/ledger.ts'
import type { StoredJob } from '#shared/contract/job-record.ts'
import type { Attended } from './attend-job.ts'
import { attendJob } from './attend-job.ts'
import { linesOf } from './job-lines.ts'
import type { JobLineCtx } from './lent-job-lines.ts'

const MAX_ENDS = 100
/** Most offers whose providers are paused. */
const MAX_RESTING = 1_000

/** A worker's polls of open jobs. */
export type JobPolls = {
  /** Takes the jobs that are due and starts to poll them, without waiting for the results. Returns their number. */
  turn(): Promise<number>
  /** Waits for the polls under way and stores their results. */
  settle(): Promise<void>
  /** The number of jobs that ended since the last call. */
  ended(): number
}

/**
 * Polls providers until their jobs end, each job on its own schedule. Many workers may do so: a job has one worker at a
 * time, and is free again when the lease of a dead worker ends.
 */
export function createJobPolls(ctx: JobLineCtx, asker: string): JobPolls {
  const underWay = new Set<Promise<void>>()
  /** The instants until which the providers of offers are paused. */
  const resting = new Map<string, number>()
  let next: NextPoll[] = []
  let ends = 0

  async function store(): Promise<void> {
    const some = next
    next = []
    await updatePolls(ctx.db, asker, some)
  }

  async function take(limit: number): Promise<Job[]> {
    const now = ctx.clock.now()
    if (!(await hasDueJobs(ctx.db, now))) return []
    for (const [offer, until] of resting) if (until <= now) resting.delete(offer)
    const { leaseMs, perProvider } = JOB_POLLS
    const choice = { asker, now, leaseMs, limit, perProvider, resting: [...resting.keys()] }
    return transact(ctx.db, async (trx) => ((await lockTaking(trx)) ? takeDueJobs(trx, choice) : []))
  }

  function goesOn(job: Job, answer: JobAnswer | undefined): void {
    const now = ctx.clock.now()
    const retryAfterMs = answer?.kind === 'silent' ? answer.retryAfterMs : undefined
    const { rid, polls, offer } = job
    const unknownPolls =
      answer?.kind === 'unknown' ? job.unknownPolls + 1 : answer?.kind === 'reported' ? 0 : job.unknownPolls
    const at = nextPoll({ rid, polls, now, deadlineAt: job.deadlineAt.getTime(), retryAfterMs })
    next.push({ rid, at, unknownPolls, wasAsked: true })
    if (retryAfterMs === undefined || offer === null || resting.size >= MAX_RESTING) return
    // All jobs of an offer share its key. The other jobs wait no longer than their usual pause.
    resting.set(offer, now + Math.min(retryAfterMs, JOB_POLLS.ceilingMs))
  }

  function begin(job: Job, attend: () => Promise<Attended>): void {
    const work = attend()
      .then((done) => {
        if (done.isOver) ends += 1
        else goesOn(job, done.answer)
      })
      .catch((error: unknown) => {
        ctx.log.warn({ err: error, rid: job.rid }, 'the status of a job will be requested again')
        goesOn(job, undefined)
      })
      .finally(() => underWay.delete(work))
    underWay.add(work)
  }

  return {
    async turn() {
      await store()
      const jobs = await take(JOB_POLLS.inFlight - underWay.size)
      if (jobs.length === 0) return 0
      const prepared = await prepare(ctx, jobs).catch((error: unknown) => {
        ctx.log.warn({ err: error, jobs: jobs.length }, 'the status of jobs cannot be read now')
        for (const job of jobs) goesOn(job, undefined)
        return []
      })
      for (const { job, kept, line } of prepared) {
        const later = afterBuyer(job, kept, ctx.clock.now())
        if (later === undefined) begin(job, () => attendJob(ctx, job, kept, line))
        else next.push({ rid: job.rid, at: later, unknownPolls: 0, wasAsked: false })
      }
      return jobs.length
    },
    async settle() {
      await Promise.all(underWay)
      await store()
    },
    ended() {
      const count = ends
      ends = 0
      return count
    },
  }
}

/**
 * The next poll of a job whose buyer asked within this pause, so that its provider has answered already. Undefined for
 * a job to poll now.
 */
function afterBuyer(
  { rid, polls, deadlineAt }: Job,
  storedJob: StoredJob | undefined,
  now: number,
): number | undefined {
  const { askedAt } = storedJob ?? {}
  if (askedAt === undefined || storedJob?.end !== undefined || deadlineAt.getTime() <= now) return undefined
  // The pause before this poll counts only the earlier polls.
  const before = { rid, polls: Math.max(0, polls - 1), now: Math.min(askedAt, now), deadlineAt: deadlineAt.getTime() }
  const at = nextPoll(before)
  return at > now ? at : undefined
}

/** Reads the data to poll several jobs, for all of them together. Rejects while Redis is away. */
async function prepare(ctx: JobLineCtx, jobs: readonly Job[]) {
  const storedJobs: readonly (StoredJob | undefined)[] = await ctx.jobBook.read(jobs.map(({ rid }) => rid))
  const lines = await linesOf(ctx, jobs, storedJobs)
  return jobs.flatMap((job, index) => {
    const line = lines[index]
    return line === undefined ? [] : [{ job, kept: storedJobs[index], line }]
  })
}

/**
 * Books ends that arrived at the same moment as their submit, when neither transaction saw the other. Returns their
 * number.
 */
export async function bookParkedEnds(ctx: Pick<JobLineCtx, 'db' | 'ledger' | 'gate' | 'log'>): Promise<number> {
  let booked = 0
  for (const end of await listParkedEnds(ctx.db, MAX_ENDS)) {
    const balances = await transact(ctx.db, (trx) => bookParked(moneyTransaction(trx), end))
    if (balances.length === 0) {
      ctx.log.error({ rid: end.rid }, 'an end does not fit its job and waits for a person')
      continue
    }
    booked += 1
    await confirmBuyers(ctx, balances).catch((error: unknown) =>
      ctx.log.warn({ err: error, rid: end.rid }, 'the gate gets the balance of the buyer of a job later'),
    )
  }
  return booked
}
