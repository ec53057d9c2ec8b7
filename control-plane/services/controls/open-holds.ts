import { z } from 'zod'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { MicroDigits, UnixMs } from '#control-plane/services/view-fields.ts'
import { AppError } from '#shared/errors.ts'
import { parseRequestId } from '#shared/ids.ts'
import { oneLine, wholeNumber } from '#shared/texts.ts'

const Reason = oneLine(500).trim().min(1)
const Limit = wholeNumber(1, 500).prefault(100)

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
  about: 'Use this only for a call whose process is gone.',
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
