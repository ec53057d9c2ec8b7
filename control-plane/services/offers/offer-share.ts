import { z } from 'zod'
import { NEWEST_CALLS } from '#control-plane/db/newest-calls.ts'
import { sumOfferShare } from '#control-plane/db/offer-share.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Count, UnixMs } from '#control-plane/services/view-fields.ts'
import { DAY, periodStart } from '#shared/clock.ts'
import { OfferIdInput } from './input.ts'
import { requireOwnOffer } from './own-offer.ts'

/** `since` in Unix milliseconds. */
export const OfferShareViewSchema = z.object({
  /** Calls that the offer served. */
  won: z.number(),
  /** Calls that tried the offer, failed, and went on to another offer. */
  failedOver: z.number(),
  /** Calls that could have used the offer and were served by a better offer. */
  outranked: z.number(),
  /** Calls that could not use the offer, by routing's reason. */
  excluded: z
    .array(
      z.object({
        reason: z.string(),
        calls: Count,
      }),
    )
    .readonly(),
  since: UnixMs,
})
export type OfferShareView = z.infer<typeof OfferShareViewSchema>

/**
 * Returns how the caller's offer did against others in the last day: calls won, calls lost to better offers, and the
 * reasons.
 */
export const getOfferShare = defineOperation({
  name: 'offer.share',
  summary: 'Compare an offer with others in the last day',
  about: 'From the newest 20,000 calls of the market that considered the offer.',
  access: 'seller',
  input: z.strictObject(OfferIdInput.shape),
  limit: 'read',
  idempotency: 'none',
  output: OfferShareViewSchema,
  run: async (ctx, actor, { id }): Promise<OfferShareView> => {
    const offer = await requireOwnOffer(ctx, actor.account, id)
    const since = periodStart(ctx.clock.now(), DAY)
    return { since, ...(await sumOfferShare(ctx.db, offer, { since, limit: NEWEST_CALLS })) }
  },
})
