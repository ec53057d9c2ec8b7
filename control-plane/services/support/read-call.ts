import { z } from 'zod'
import type { SupportCall } from '#control-plane/db/support.ts'
import { findSupportCall } from '#control-plane/db/support.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Count, MicroDigits, UnixMs } from '#control-plane/services/view-fields.ts'
import { AppError } from '#shared/errors.ts'
import { parseAnswerId } from '#shared/ids.ts'
import { oneLine } from '#shared/texts.ts'

/** A booked call with both sides of its money, in micro-USD as plain digits. */
export const SupportCallSchema = z
  .object({
    rid: z.string(),
    account: z.string(),
    keyId: z.string().nullable(),
    sellerAccount: z.string().nullable(),
    offer: z.string().nullable(),
    provider: z.string().nullable(),
    model: z.string(),
    endpoint: z.string(),
    rail: z.string(),
    node: z.string(),
    outcome: z.string(),
    errorCode: z.string().nullable(),
    heldMicro: MicroDigits,
    chargeMicro: MicroDigits,
    sellerNetMicro: MicroDigits,
    feeMicro: MicroDigits,
    feeBps: Count,
    listCostMicro: MicroDigits,
    ttftMs: z.number().nullable(),
    durationMs: z.number(),
    attempts: z.array(z.object({ provider: z.string(), status: z.number().nullable(), ms: z.number() })).readonly(),
    startedAt: UnixMs,
    isRefunded: z.boolean().describe('True once its charge was refunded.'),
  })
  .meta({ id: 'SupportCall', description: 'A call of any account, with the shares of its seller and the market.' })
export type SupportCallView = z.infer<typeof SupportCallSchema>

/** Reads a booked call of any account by its request id. Throws `not_found`. */
export const readSupportCall = defineOperation({
  name: 'support.request',
  summary: 'Get a call of any account',
  about: 'The call’s cost, the shares of the seller and the market, and each attempt.',
  access: 'operator',
  input: z.strictObject({ id: oneLine(64) }),
  limit: 'read',
  idempotency: 'none',
  output: SupportCallSchema,
  run: async (ctx, _actor, { id }): Promise<SupportCallView> => {
    const rid = parseAnswerId(id)
    const call = rid === undefined ? undefined : await findSupportCall(ctx.db, rid)
    if (call === undefined) throw new AppError('not_found', { message: 'No booked call has this id.' })
    return viewOfCall(call)
  },
})

export function viewOfCall({
  held,
  charge,
  sellerNet,
  fee,
  listCost,
  attempts,
  startedAt,
  ...call
}: SupportCall): SupportCallView {
  return {
    ...call,
    heldMicro: held.toString(),
    chargeMicro: charge.toString(),
    sellerNetMicro: sellerNet.toString(),
    feeMicro: fee.toString(),
    listCostMicro: listCost.toString(),
    attempts: attempts.map(({ provider, status, ms }) => ({ provider, status, ms })),
    startedAt: startedAt.getTime(),
  }
}
