import { z } from 'zod'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { AppError } from '#shared/errors.ts'
import type { HealthEntry } from './health-log.ts'
import { logHealth } from './health-log.ts'
import { OfferIdInput } from './input.ts'
import { requireOwnOffer } from './own-offer.ts'
import { nextState } from './state.ts'

export const ResetHealthSchema = z.object({
  healthy: z.literal(true),
  status: z.enum(['active', 'paused', 'inactive']),
})
export type ResetHealth = z.infer<typeof ResetHealthSchema>

/** Returns an offer to the rotation at once and clears its health record. Throws `not_found`, `conflict`. */
export const resetHealth = defineOperation({
  name: 'offer.reset-health',
  summary: 'Reset the health of an offer',
  about: 'The offer gets calls again at once, and its health record is empty.',
  example: {},
  access: 'seller',
  input: OfferIdInput,
  limit: 'write',
  idempotency: 'none',
  output: ResetHealthSchema,
  run: async (ctx, actor, { id }): Promise<ResetHealth> => {
    const offer = await requireOwnOffer(ctx, actor.account, id)
    nextState(offer, 'reset')
    const entry = { offer: offer.id, model: offer.model, action: 'reset', detail: 'reset by the seller' } as const
    await ctx.act({ subject: id, before: null, after: { healthy: true } }, () => resetLive(ctx, entry))
    await logHealth(ctx, [entry])
    return { healthy: true, status: offer.status }
  },
})

/** Clears an offer's health record in every data plane and writes to its log. Throws `service_unavailable`. */
export async function clearHealth(
  ctx: Pick<Ctx, 'db' | 'liveOffers' | 'clock' | 'ids' | 'log'>,
  entry: HealthEntry,
): Promise<void> {
  await resetLive(ctx, entry)
  await logHealth(ctx, [entry])
}

async function resetLive({ liveOffers }: Pick<Ctx, 'liveOffers'>, { offer }: HealthEntry): Promise<void> {
  try {
    await liveOffers.reset([offer])
  } catch (cause) {
    throw new AppError('service_unavailable', { cause, retryAfterSeconds: 1 })
  }
}
