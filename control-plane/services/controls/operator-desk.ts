import { z } from 'zod'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Count, MicroDigits, UnixMs } from '#control-plane/services/view-fields.ts'
import { NodeReportSchema } from '#shared/contract/node-report.ts'
import { QUEUES } from '#shared/contract/redis-keys.ts'
import { AppError } from '#shared/errors.ts'
import { parseRequestId } from '#shared/ids.ts'
import { oneLine, wholeNumber } from '#shared/texts.ts'

const Reason = oneLine(500).trim().min(1)
const Limit = wholeNumber(1, 500).prefault(100)
const QueueName = z.enum(Object.values(QUEUES))

/** A hold for operators. The amount is micro-USD in plain digits. */
export const HoldViewSchema = z.object({
  rid: z.string(),
  account: z.string(),
  keyId: z.string().nullable(),
  node: z.string(),
  amountMicro: MicroDigits,
  openedAt: UnixMs,
  expiresAt: UnixMs,
  isOverdue: z.boolean(),
})
export type HoldView = z.infer<typeof HoldViewSchema>

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

/** Lists open holds by their deadline. */
export const listOpenHolds = defineOperation({
  name: 'hold.list',
  summary: 'List open holds by their deadline',
  access: 'operator',
  input: z.strictObject({ account: oneLine(100).startsWith('acc_').optional(), limit: Limit }),
  limit: 'read',
  idempotency: 'none',
  output: z.array(HoldViewSchema).readonly(),
  run: (ctx, _actor, input): Promise<readonly HoldView[]> => readOpenHolds(ctx, input),
})

type HoldChoice = { readonly account?: string | undefined; readonly limit: number }

/** Open holds by their deadline, of one account or of all. */
export async function readOpenHolds(
  ctx: Pick<Ctx, 'clock' | 'desk'>,
  { account, limit }: HoldChoice,
): Promise<readonly HoldView[]> {
  const now = ctx.clock.now()
  return (await ctx.desk.listHolds({ account, limit })).map(({ amountMicro, ...hold }) => ({
    ...hold,
    amountMicro: amountMicro.toString(),
    isOverdue: hold.expiresAt <= now,
  }))
}

/** The call whose hold was released. */
export const ReleasedHoldSchema = z.object({ rid: z.string() })

/**
 * Releases a hold before its deadline, for calls whose process is gone. If the call still succeeds, its charge is
 * booked late and the buyer pays it.
 */
export const releaseOpenHold = defineOperation({
  name: 'hold.release',
  summary: 'Release a hold before its deadline',
  about: 'For calls whose process is gone.',
  access: 'operator',
  input: z.strictObject({ rid: oneLine(64), reason: Reason }),
  limit: 'none',
  idempotency: 'none',
  output: ReleasedHoldSchema,
  run: async (ctx, _actor, { rid, reason }): Promise<{ readonly rid: string }> => {
    const missing = new AppError('not_found', { message: 'No open hold has this request id.' })
    if (parseRequestId(rid) === undefined || !(await ctx.desk.isHeld(rid))) throw missing
    await ctx.act({ subject: rid, before: { state: 'open' }, after: { state: 'released', reason } }, async () => {
      if (!(await ctx.desk.releaseHold(rid))) throw missing
    })
    return { rid }
  },
})

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
  summary: 'Put failed jobs back in their queue',
  access: 'operator',
  input: z.strictObject({ queue: QueueName, id: oneLine(200).optional(), limit: Limit }),
  limit: 'none',
  idempotency: 'none',
  output: z.object({
    retried: z.number(),
  }),
  run: async (ctx, _actor, { queue, id, limit }): Promise<{ readonly retried: number }> => {
    const missing = new AppError('not_found', { message: 'No such job has failed.' })
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

/** A data-plane process. `isAlive` is true when it signalled within the last seconds. */
export const NodeViewSchema = z.object({
  node: z.string(),
  /** The last signal; null for a process that signed off with nothing to settle. */
  lastSeenAt: UnixMs.nullable(),
  /** True when its membership is on record. Only a member admits paid calls. */
  isMember: z.boolean(),
  report: NodeReportSchema.nullable(),
  isAlive: z.boolean(),
})
export type NodeView = z.infer<typeof NodeViewSchema>

/** Silence after which a process counts as dead. A process looks at the gate every second. */
const SILENT_AFTER_MS = 10_000

/** Lists the data-plane processes that the gate knows. */
export const listNodes = defineOperation({
  name: 'node.list',
  summary: 'List the data-plane processes that the gate knows',
  access: 'operator',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: z.array(NodeViewSchema).readonly(),
  run: async (ctx): Promise<readonly NodeView[]> => {
    const now = ctx.clock.now()
    return (await ctx.desk.listNodes()).map((node) => ({
      ...node,
      isAlive: now - Math.max(node.lastSeenAt ?? 0, node.report?.reportedAt ?? 0) < SILENT_AFTER_MS,
    }))
  },
})
