import { z } from 'zod'
import { hastenPoll } from '#control-plane/db/job-polls.ts'
import type { Job } from '#control-plane/db/jobs.ts'
import { findJob, findJobWithEnd, listJobs } from '#control-plane/db/jobs.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { PageSize } from '#control-plane/services/input-fields.ts'
import { PageToken, pagesById, signedPageSchema } from '#control-plane/services/page.ts'
import { SECOND } from '#shared/clock.ts'
import type { JobRecordText } from '#shared/contract/job-record.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { parseRequestId } from '#shared/ids.ts'
import { jobCodecOf } from '#shared/protocols/index.ts'
import { isJobKind } from '#shared/protocols/job-codec.ts'
import { oneLine } from '#shared/texts.ts'
import { attendJob } from './attend-job.ts'
import { linesOf } from './job-lines.ts'
import type { BuyerJob } from './job-view.ts'
import { BuyerJobSchema, viewOfJob } from './job-view.ts'
import type { JobLineCtx } from './lent-job-lines.ts'

export const JobPageSchema = signedPageSchema(BuyerJobSchema)
export type JobPage = z.infer<typeof JobPageSchema>

/** Lists the caller's long jobs, newest first: all, or those in one state. A job appears once its submit is booked. */
export const listOwnJobs = defineOperation({
  name: 'job.list',
  summary: 'List long jobs',
  about: 'Jobs of the account, such as videos and music, with their states.',
  example: { state: 'running', maxItems: 10 },
  access: 'buyer',
  input: z.strictObject({
    state: z.enum(['any', 'running', 'succeeded', 'failed', 'cancelled']).default('any'),
    maxItems: PageSize,
    nextToken: PageToken.optional(),
  }),
  limit: 'read',
  idempotency: 'none',
  output: JobPageSchema,
  run: async (ctx, actor, { state, maxItems, nextToken }): Promise<JobPage> => {
    const pages = pagesById(ctx, { list: 'job.list', tenant: actor.account, filters: [state] })
    const choice = { state, before: pages.idIn(nextToken), limit: maxItems + 1 }
    return pages.pageOf(await listJobs(ctx.db, actor.account, choice), maxItems, viewOfJob)
  },
})

/** Most jobs that a watcher sees. */
export const MAX_WATCHED_JOBS = 20

/** The newest jobs of an account. */
export async function readNewestJobs({ db }: Pick<Ctx, 'db'>, account: AccountId): Promise<BuyerJob[]> {
  const choice = { state: 'any' as const, before: undefined, limit: MAX_WATCHED_JOBS }
  return (await listJobs(db, account, choice)).map(viewOfJob)
}

/** The pause before the next poll after a provider accepted a cancellation. */
const LOOK_AGAIN_MS = 2 * SECOND
/** Seconds after which the gate may be open again during a rebuild. */
const GATE_SECONDS = 1

/**
 * Asks the provider of the caller's job to cancel it, and returns the new state of the job. A job that had already
 * finished stays finished, and is charged. Throws `not_found`, `service_unavailable`, `conflict` for a protocol that
 * cannot cancel, and `upstream_error` for a provider that did not answer. In the last two cases the job continues.
 */
export const cancelOwnJob = defineOperation({
  name: 'job.cancel',
  summary: 'Cancel a long job',
  about:
    'Asks the provider to cancel the job, and answers the state of the job. A finished job stays finished and is charged. Use the id of the job or of its submit.',
  example: {},
  access: 'buyer',
  input: z.strictObject({ id: oneLine(100) }),
  limit: 'write',
  idempotency: 'none',
  output: BuyerJobSchema,
  run: async (ctx, actor, { id }): Promise<BuyerJob> => {
    // A job's own id contains the id of its submit.
    const rid = parseRequestId(id.replace(/^job_/, ''))
    const job = rid && (await findJob(ctx.db, actor.account, rid))
    if (job === undefined) throw new AppError('not_found')
    if (job.endedAt === null) {
      await ctx.act({ subject: job.rid, before: { state: 'running' }, after: { cancelled: true } }, () =>
        cancel(ctx, job),
      )
    }
    const now = await findJobWithEnd(ctx.db, actor.account, job.rid)
    if (now === undefined) throw new AppError('not_found')
    return viewOfJob(now)
  },
})

function hasWordForStopping({ apiFormat, wire }: Pick<JobRecordText, 'apiFormat' | 'wire'>): boolean {
  if (apiFormat === null) return false
  return !isJobKind(wire) || jobCodecOf({ apiFormat }, wire).cancel !== undefined
}

async function cancel(ctx: JobLineCtx, job: Job): Promise<void> {
  const [storedJob] = await ctx.jobBook.read([job.rid])
  const [line] = await linesOf(ctx, [job], [storedJob])
  if (line === undefined) throw new AppError('internal_error', { cause: new Error('a job without a line') })
  // A job line has a record only when Redis has lost it.
  const record = storedJob?.job ?? line.record
  const canStop = line.canStop ?? (record === undefined || hasWordForStopping(record))
  // A job that cannot be stopped ends as its provider reports. The buyer's request is also kept for a record that Redis
  // has lost, until the record exists again.
  const isStopped = canStop && record !== undefined
  if (isStopped) await ctx.jobBook.markStopped(job.rid)
  const stopped = storedJob && { ...storedJob, isStopped: storedJob.isStopped || isStopped }
  const stoppedJob = isStopped ? { ...job, stoppedAt: new Date(ctx.clock.now()) } : job
  const attended = await attendJob(ctx, stoppedJob, stopped, { ...line, ask: () => line.ask(canStop) })
  if (attended.isOver) return
  if (attended.answer === undefined) throw new AppError('service_unavailable', { retryAfterSeconds: GATE_SECONDS })
  if (!canStop) {
    throw new AppError('conflict', { message: 'The provider cannot stop this job. Wait until it ends.' })
  }
  if (attended.answer?.kind !== 'reported') {
    throw new AppError('upstream_error', { message: 'The provider of the job did not answer. The job goes on.' })
  }
  await hastenPoll(ctx.db, job.rid, ctx.clock.now() + LOOK_AGAIN_MS)
}
