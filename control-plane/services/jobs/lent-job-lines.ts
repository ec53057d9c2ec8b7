import type { Job } from '#control-plane/db/jobs.ts'
import { listLentPlaces } from '#control-plane/db/lent-offers.ts'
import { findResource } from '#control-plane/db/resources.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { JobAnswer, JobProbe } from '#control-plane/ports/provider/job-probe.ts'
import { KEYLESS, SILENT } from '#control-plane/ports/provider/job-probe.ts'
import { readRecord } from '#control-plane/services/catalog/resources.ts'
import { SealedCredentialSchema } from '#shared/contract/sealed-credential.ts'
import type { UsageEvent } from '#shared/contract/usage-event.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'
import type { CompiledResource } from '#shared/resources/compile-resource.ts'
import { compileResource } from '#shared/resources/compile-resource.ts'
import { openCredential } from '#shared/seal.ts'
import type { LentJob } from './ask-lent-job.ts'
import { askLentJob, canStop } from './ask-lent-job.ts'
import type { AttendCtx, JobLine } from './attend-job.ts'

export type JobLineCtx = AttendCtx & Pick<Ctx, 'db' | 'settings' | 'log' | 'askLent'> & { readonly askJob: JobProbe }

export type LentSubmit = UsageEvent & { readonly sold: NonNullable<UsageEvent['sold']> }

/** The submit of a job on a lent key. Undefined for any other submit. */
export function lentSubmit(event: string): LentSubmit | undefined {
  const submit = readUsageEvent(event)
  return submit?.sold === undefined ? undefined : { ...submit, sold: submit.sold }
}

/**
 * The ways to poll forwarded jobs, by job id: with the lent key that started the job, by the rules of the present
 * record. A job whose record is gone is not polled until its deadline, and a job whose key was destroyed is lost.
 */
export async function lentLinesOf(ctx: JobLineCtx, jobs: readonly Job[]): Promise<ReadonlyMap<string, JobLine>> {
  const lent = jobs.flatMap((job) => {
    const submit = lentSubmit(job.event)
    return submit === undefined ? [] : [{ job, submit, resource: submit.sold.id }]
  })
  if (lent.length === 0) return new Map()
  const places = await listLentPlaces(
    ctx.db,
    lent.flatMap(({ job }) => job.offer ?? []),
  )
  const sealed = new Map(places.map((place) => [place.offer as string, place.sealed]))
  const records = await recordsOf(ctx, new Set(lent.map(({ resource }) => resource)))
  return new Map(
    lent.map(({ job, submit, resource }) => {
      const key = sealed.get(job.offer ?? '')
      const askedLentJob = lentJob(ctx, { job, submit, record: records.get(resource), sealed: key })
      return [job.rid, lineOf(ctx, { job, submit, sealed: key, asked: askedLentJob })]
    }),
  )
}

async function recordsOf({ db }: JobLineCtx, ids: ReadonlySet<string>): Promise<ReadonlyMap<string, CompiledResource>> {
  const records = new Map<string, CompiledResource>()
  for (const id of ids) {
    const resource = await findResource(db, id)
    if (resource !== undefined) records.set(id, compileResource(readRecord(resource), resource.version))
  }
  return records
}

type Parts = {
  readonly job: Job
  readonly submit: UsageEvent
  readonly record: CompiledResource | undefined
  readonly sealed: unknown
}

function lentJob(ctx: JobLineCtx, { job, submit, record, sealed }: Parts): LentJob | undefined {
  if (record === undefined || sealed === undefined) return undefined
  try {
    const apiKey = openCredential(ctx.settings.keyRing, SealedCredentialSchema.parse(sealed))
    return { providerJob: job.providerJob, submit, record, apiKey }
  } catch (error) {
    ctx.log.warn({ err: error, rid: job.rid }, 'the key of a forwarded job cannot be opened')
    return undefined
  }
}

type LineParts = Pick<Parts, 'job' | 'submit' | 'sealed'> & { readonly asked: LentJob | undefined }

function lineOf(ctx: JobLineCtx, { job, submit, asked, sealed }: LineParts): JobLine {
  const { rid, event, deadlineAt } = job
  // Without its key the job cannot be polled again, so its buyer need not wait for the deadline.
  const jobAnswer: JobAnswer = sealed === undefined ? KEYLESS : SILENT
  return {
    record: undefined,
    forwarded: { rid, submit: event, deadlineAt: submit.job?.deadlineAt ?? deadlineAt.getTime() },
    canStop: asked !== undefined && canStop(asked),
    ask: async (isCancel = false) => (asked === undefined ? jobAnswer : askLentJob(ctx, asked, isCancel)),
  }
}
