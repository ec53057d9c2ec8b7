import type { KeptJob } from '#control-plane/db/job-marks.ts'
import { listKeptUnannounced } from '#control-plane/db/job-marks.ts'
import type { JobAnswer } from '#control-plane/ports/provider/job-probe.ts'
import { nextPoll } from '#control-plane/services/booking/job-schedule.ts'
import { endAsBooked, endAsFound } from '#shared/contract/job-end.ts'
import type { JobEnd, StoredJob } from '#shared/contract/job-record.ts'
import type { JobLine } from './attend-job.ts'
import { linesOf } from './job-lines.ts'
import type { JobLineCtx } from './lent-job-lines.ts'

/** Most ends that one turn reads, and most that it polls. */
const MAX_ENDS = 200
const AT_ONCE = 32
/** After this many polls, some ten minutes, a job is shown by its bill alone, without files. */
const MAX_QUESTIONS = 10

/** A worker's polls about booked ends whose shown form Redis has lost. */
export type LostEnds = {
  /** Polls the ends that are due and stores the results in their records. Returns their number. */
  turn(): Promise<number>
}

/** A job whose end is lost, with its record and the event that was booked for it. */
type Lost = { readonly job: KeptJob; readonly record: StoredJob; readonly event: string }

/** Only the provider of such a job can list its files again. Its bill stays as booked. */
export function createLostEnds(ctx: JobLineCtx): LostEnds {
  const questionsOf = new Map<string, { readonly questions: number; readonly nextAt: number }>()

  async function find({ job: { rid }, event }: Lost, line: JobLine): Promise<boolean> {
    const questions = (questionsOf.get(rid)?.questions ?? 0) + 1
    const bare = endAsBooked(event)
    const answer = bare?.state === 'succeeded' ? await line.ask() : undefined
    const isKnown = answer === undefined || (answer.kind === 'unknown' && answer.isKeyless)
    const foundEnd = isKnown ? bare : endOf(event, answer)
    const end = foundEnd ?? (questions >= MAX_QUESTIONS ? bare : undefined)
    if (end === undefined) {
      const now = ctx.clock.now()
      questionsOf.set(rid, { questions, nextAt: nextPoll({ rid, polls: questions - 1, now, deadlineAt: now }) })
      return false
    }
    const { artifacts } = await ctx.jobBook.end(rid, end)
    await ctx.jobBook.markBooked(rid, { hasFiles: artifacts.some(({ access }) => access !== 'lasting') })
    return true
  }

  return {
    async turn() {
      const lostJobs = await listLost(ctx)
      // Ends that another worker found, and ends whose alerts were sent, are dropped.
      const rids = new Set(lostJobs.map(({ job }) => job.rid))
      for (const rid of questionsOf.keys()) if (!rids.has(rid)) questionsOf.delete(rid)
      const now = ctx.clock.now()
      const due = lostJobs.filter(({ job }) => (questionsOf.get(job.rid)?.nextAt ?? 0) <= now).slice(0, AT_ONCE)
      const jobs = due.map(({ job }) => job)
      const records = due.map(({ record }) => record)
      const lines = await linesOf(ctx, jobs, records)
      const foundEnds = await Promise.all(due.map((each, index) => (lines[index] ? find(each, lines[index]) : false)))
      return foundEnds.filter((isFound) => isFound).length
    },
  }
}

function endOf(event: string, answer: JobAnswer): JobEnd | undefined {
  return answer.kind === 'reported' ? endAsFound(event, answer.job) : undefined
}

async function listLost({ db, jobBook }: JobLineCtx): Promise<readonly Lost[]> {
  const jobs = await listKeptUnannounced(db, MAX_ENDS)
  const storedJobs = await jobBook.read(jobs.map(({ rid }) => rid))
  return jobs.flatMap((job, index) => {
    const record = storedJobs[index]
    const { end, lostEnd: event } = record ?? {}
    return record !== undefined && end === undefined && event !== undefined ? [{ job, record, event }] : []
  })
}
