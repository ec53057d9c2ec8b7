import { z } from 'zod'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Count, UnixMs } from '#control-plane/services/view-fields.ts'
import { QUEUES } from '#shared/contract/redis-keys.ts'
import { AppError } from '#shared/errors.ts'
import { oneLine, wholeNumber } from '#shared/texts.ts'

const Limit = wholeNumber(1, 500).prefault(100)
const QueueName = z.enum(Object.values(QUEUES))

/** Numbers of jobs of a queue by state. */
export const QueueViewSchema = z.object({
  queue: z.string(),
  waiting: z.number(),
  active: z.number(),
  delayed: z.number(),
  failed: z.number(),
})
export type QueueView = z.infer<typeof QueueViewSchema>

/** A job that failed for good, without its data. */
export const FailedJobViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  reason: z.string(),
  attempts: Count,
  addedAt: UnixMs,
  failedAt: UnixMs.nullable(),
})
export type FailedJobView = z.infer<typeof FailedJobViewSchema>

/** Lists the queues with their numbers of jobs by state. */
export const listQueues = defineOperation({
  name: 'queue.list',
  summary: 'List the queues with their numbers of jobs',
  access: 'operator',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: z.array(QueueViewSchema).readonly(),
  run: async (ctx): Promise<readonly QueueView[]> => ctx.desk.countJobs(),
})

/** Lists jobs that failed for good, newest first, without their data. */
export const listFailedJobs = defineOperation({
  name: 'queue.failed',
  summary: 'List jobs of a queue that failed for good, newest first',
  access: 'operator',
  input: z.strictObject({ queue: QueueName, limit: Limit }),
  limit: 'read',
  idempotency: 'none',
  output: z.array(FailedJobViewSchema).readonly(),
  run: async (ctx, _actor, { queue, limit }): Promise<readonly FailedJobView[]> => ctx.desk.listFailed(queue, limit),
})

/** Puts failed jobs back in their queue: one by id, or the newest. A job may run again without harm. */
export const retryFailedJobs = defineOperation({
  name: 'queue.retry',
  summary: 'Retry the failed jobs of a queue',
  access: 'operator',
  input: z.strictObject({ queue: QueueName, id: oneLine(200).optional(), limit: Limit }),
  limit: 'none',
  idempotency: 'none',
  output: z.object({
    retried: z.number(),
  }),
  run: async (ctx, _actor, { queue, id, limit }): Promise<{ readonly retried: number }> => {
    const missing = new AppError('not_found', { message: 'No failed job has this id.' })
    if (id !== undefined && !(await ctx.desk.hasFailed(queue, id))) throw missing
    const after = id === undefined ? { asked: limit } : { asked: 1, id }
    const retried = await ctx.act({ subject: `queue ${queue}`, before: null, after }, async () => {
      const count = await ctx.desk.retryJobs(queue, id === undefined ? { limit } : { id })
      if (id !== undefined && count === 0) throw missing
      return count
    })
    return { retried }
  },
})
