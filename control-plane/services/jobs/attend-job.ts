import type { Job } from '#control-plane/db/jobs.ts'
import type { ForwardedSubmit, JobBook } from '#control-plane/ports/jobs/job-book.ts'
import type { JobAnswer } from '#control-plane/ports/provider/job-probe.ts'
import { DEADLINE_SOURCE } from '#control-plane/services/booking/book-job-event.ts'
import type { IngestCtx } from '#control-plane/services/booking/ingest.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { JOB_POLLS } from '#control-plane/services/booking/job-schedule.ts'
import type { JobEnd, JobRecordText, StoredJob } from '#shared/contract/job-record.ts'
import { jobEndId, readUsageEvent } from '#shared/contract/usage-event.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { endedAs, isOver } from '#shared/jobs.ts'
import type { JobEnding } from './end-job.ts'
import { endOfJob } from './end-job.ts'

export type AttendCtx = IngestCtx & { readonly jobBook: JobBook }

/** A way to poll a job. */
export type JobLine = {
  /** The record to store again when Redis has lost it; undefined when Redis has it, and when it cannot be rebuilt. */
  readonly record: JobRecordText | undefined
  /** True for a job whose payment failed. No caller sees it. */
  readonly isWithheld?: boolean
  /** Set for a forwarded job: its submit, in case Redis has lost it. */
  readonly forwarded?: ForwardedSubmit
  /** True when the provider can stop the job; absent where the job's record says so. */
  readonly canStop?: boolean
  ask(isCancel?: boolean): Promise<JobAnswer>
}

/** The state of a job after a turn. A job that is not over is polled again later. */
export type Attended = { readonly isOver: true } | { readonly isOver: false; readonly answer: JobAnswer | undefined }

const POLL_SOURCE = 'job-poll'

/**
 * Moves an open job on: books the end in its record, or polls its provider and, when the job is over, stores the end in
 * the record and books it. The first end in the record counts, whichever process wrote it, so the ledger books the end
 * that the buyer sees. At the deadline the job ends whatever its provider says. Rejects while Redis or the ledger is
 * away.
 */
export async function attendJob(
  ctx: AttendCtx,
  job: Job,
  storedJob: StoredJob | undefined,
  line: JobLine,
): Promise<Attended> {
  if (storedJob?.end !== undefined && (await bookEnd(ctx, job, storedJob.end))) return { isOver: true }
  const jobRecord =
    storedJob === undefined && line.record !== undefined ? await restore(ctx, job, line.record, line) : undefined
  if (jobRecord === 'too early') return { isOver: false, answer: undefined }
  const askedAt = ctx.clock.now()
  const answer = await line.ask()
  crashPoint('job_asked')
  const now = ctx.clock.now()
  const isStopped = storedJob?.isStopped === true || job.stoppedAt !== null
  const ending = endingIn(job, { answer, askedAt, isStopped })
  const jobEnd = ending === undefined ? undefined : endOfJob(job, ending, now)
  const end = jobRecord === undefined ? jobEnd : withEvent(jobEnd, jobRecord)
  if (end === undefined) return { isOver: false, answer }
  if (line.forwarded !== undefined) await ctx.jobBook.restoreForwarded(line.forwarded, now)
  // Without a record no buyer has seen another end.
  const hasRecord = storedJob !== undefined || line.record !== undefined || line.forwarded !== undefined
  const standing = hasRecord ? await ctx.jobBook.end(job.rid, end) : end
  crashPoint('job_end_written')
  if (await bookEnd(ctx, job, standing)) return { isOver: true }
  // The end in the record cannot be booked. At the deadline the end of this turn is booked, so the money of the buyer
  // waits no longer.
  if (isLate(job, now) && (await bookEnd(ctx, job, end))) return { isOver: true }
  return { isOver: false, answer }
}

/**
 * Stores the record of a job again. Returns the event of its end if a process had captured one before Redis lost it.
 * While the gate is closed, processes still report captures and the jobs that buyers hid.
 */
async function restore(
  { gate, jobBook, clock }: AttendCtx,
  { rid, account, stoppedAt, deletedAt }: Job,
  record: JobRecordText,
  { isWithheld = false }: JobLine,
): Promise<string | 'too early' | undefined> {
  if (!(await gate.isOpen())) return 'too early'
  const marks = { isStopped: stoppedAt !== null, isDeleted: deletedAt !== null }
  await jobBook.restore(record, { isWithheld, ...marks }, clock.now())
  const [end] = await gate.captured([[jobEndId(rid), account]])
  return end
}

/** An end with the event that was captured before. Undefined unless the provider reports the same end again. */
function withEvent(end: JobEnd | undefined, event: string): JobEnd | undefined {
  return end !== undefined && readUsageEvent(event)?.outcome === end.state ? { ...end, event } : undefined
}

type Report = { readonly answer: JobAnswer; readonly askedAt: number; readonly isStopped: boolean }

/** The end that a poll's result means; undefined while the job runs. A poll is the last one only after the deadline. */
function endingIn(job: Job, { answer, askedAt, isStopped }: Report): JobEnding | undefined {
  if (answer.kind === 'reported' && isOver(answer.job)) return endedAs(answer.job, isStopped)
  if (isLate(job, askedAt)) return 'overdue'
  if (answer.kind !== 'unknown' || job.unknownPolls + 1 < JOB_POLLS.lostAfter) return undefined
  return answer.isKeyless ? 'keyless' : 'forgotten'
}

function isLate({ deadlineAt }: Job, now: number): boolean {
  return deadlineAt.getTime() <= now
}

/** Books an end, which may be booked already. Returns false for an end that does not fit its job. */
async function bookEnd(ctx: AttendCtx, job: Job, { event, artifacts }: JobEnd): Promise<boolean> {
  const { rid } = job
  const source = isLate(job, ctx.clock.now()) ? DEADLINE_SOURCE : POLL_SOURCE
  const { posted, repeats } = await postBatch(ctx, { events: [event], source })
  if (posted + repeats === 0) return false
  crashPoint('job_end_booked')
  // A process that misses the news books the same text again, which changes nothing.
  const hasFiles = artifacts.some(({ access }) => access !== 'lasting')
  await ctx.jobBook
    .markBooked(rid, { hasFiles })
    .catch((error: unknown) => ctx.log.debug({ err: error, rid }, 'a job is not marked'))
  return true
}
