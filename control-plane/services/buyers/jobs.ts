import { z } from 'zod'
import type { JobWithEnd } from '#control-plane/db/jobs.ts'
import { listJobs } from '#control-plane/db/jobs.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { PageSize, UlidToken } from '#control-plane/services/fields.ts'
import type { Page } from '#control-plane/services/page.ts'
import { pageOf } from '#control-plane/services/page.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'

/** A long job of the caller. Instants are Unix milliseconds, amounts micro-USD as plain digits. */
export type JobView = {
  /** The request id of its submit, by which it is asked for and looked up. */
  readonly id: string
  readonly model: string
  readonly provider: string | null
  readonly endpoint: string
  readonly keyId: string | null
  /** `running` until its end is booked, then how it ended. */
  readonly state: 'running' | 'succeeded' | 'failed' | 'cancelled'
  readonly submittedAt: number
  /** When it has to be over: what its seller's provider has not finished then costs nothing. */
  readonly deadlineAt: number
  readonly endedAt: number | null
  /** What was set aside for it, and what it cost in the end. */
  readonly quoteMicro: string
  readonly chargeMicro: string | null
}
export type JobPage = Page<JobView>

/** The caller's long jobs, newest first: all of them, or those that run. One is listed once its submit is booked. */
export const listOwnJobs = defineOperation({
  name: 'job.list',
  access: 'buyer',
  input: z.strictObject({
    state: z.enum(['running', 'any']).default('any'),
    maxItems: PageSize,
    nextToken: UlidToken.optional(),
  }),
  limit: 'read',
  idempotency: 'none',
  run: async (ctx, actor, { state, maxItems, nextToken }): Promise<JobPage> => {
    const choice = { isRunning: state === 'running', before: nextToken, limit: maxItems + 1 }
    return pageOf(await listJobs(ctx.db, actor.account, choice), maxItems, viewOfJob)
  },
})

function viewOfJob({ rid, keyId, quote, event, deadlineAt, endedAt, endEvent }: JobWithEnd): JobView {
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

function stateOf(outcome: string | undefined): JobView['state'] {
  return outcome === 'succeeded' || outcome === 'cancelled' ? outcome : 'failed'
}
