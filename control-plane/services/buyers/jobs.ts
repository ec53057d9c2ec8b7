import { z } from 'zod'
import type { JobWithEnd } from '#control-plane/db/jobs.ts'
import { listJobs } from '#control-plane/db/jobs.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { PageSize } from '#control-plane/services/fields.ts'
import { PageToken, pagesById, signedPageSchema } from '#control-plane/services/page.ts'
import { MicroDigits, UnixMs } from '#control-plane/services/view-fields.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'

/** A long job of the caller. Instants are Unix milliseconds, amounts micro-USD as plain digits. */
export const BuyerJobSchema = z
  .object({
    /** The request id of its submit, which finds it in every look-up. */
    id: z.string(),
    model: z.string(),
    provider: z.string().nullable(),
    endpoint: z.string(),
    keyId: z.string().nullable(),
    /** `running` until its end is booked, then the kind of end. */
    state: z.enum(['running', 'succeeded', 'failed', 'cancelled']),
    submittedAt: UnixMs,
    /** The deadline. A job that its provider has not finished by then costs nothing. */
    deadlineAt: UnixMs,
    endedAt: UnixMs.nullable(),
    /** The amount set aside for it, and its cost in the end. */
    quoteMicro: MicroDigits,
    chargeMicro: MicroDigits.nullable(),
  })
  .meta({ id: 'Job' })
export type BuyerJob = z.infer<typeof BuyerJobSchema>
export const JobPageSchema = signedPageSchema(BuyerJobSchema)
export type JobPage = z.infer<typeof JobPageSchema>

/** Lists the caller's long jobs, newest first: all, or only running ones. A job appears once its submit is booked. */
export const listOwnJobs = defineOperation({
  name: 'job.list',
  access: 'buyer',
  input: z.strictObject({
    state: z.enum(['running', 'any']).default('any'),
    maxItems: PageSize,
    nextToken: PageToken.optional(),
  }),
  limit: 'read',
  idempotency: 'none',
  output: JobPageSchema,
  run: async (ctx, actor, { state, maxItems, nextToken }): Promise<JobPage> => {
    const pages = pagesById(ctx, { list: 'job.list', tenant: actor.account, filters: [state] })
    const choice = { isRunning: state === 'running', before: pages.idIn(nextToken), limit: maxItems + 1 }
    return pages.pageOf(await listJobs(ctx.db, actor.account, choice), maxItems, viewOfJob)
  },
})

function viewOfJob({ rid, keyId, quote, event, deadlineAt, endedAt, endEvent }: JobWithEnd): BuyerJob {
  const submit = readUsageEvent(event)
  const end = endedAt === null || endEvent === null ? undefined : readUsageEvent(endEvent)
  return {
    id: rid,
    model: submit?.model ?? '',
    provider: submit?.provider ?? null,
    endpoint: submit?.endpoint ?? '',
    keyId,
    state: endedAt === null ? 'running' : stateOf(end?.outcome),
    submittedAt: submit?.startedAt ?? 0,
    deadlineAt: deadlineAt.getTime(),
    endedAt: endedAt?.getTime() ?? null,
    quoteMicro: quote.toString(),
    chargeMicro: end?.chargeMicro.toString() ?? null,
  }
}

function stateOf(outcome: string | undefined): BuyerJob['state'] {
  return outcome === 'succeeded' || outcome === 'cancelled' ? outcome : 'failed'
}
