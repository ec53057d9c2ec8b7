import { z } from 'zod'
import { sumOfferShare } from '#control-plane/db/offer-share.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { OfferIdInput } from '#control-plane/services/offers/input.ts'
import { requireOwnOffer } from '#control-plane/services/offers/own-offer.ts'
import { Count, UnixMs } from '#control-plane/services/view-fields.ts'
import { DAY } from '#shared/clock.ts'

/** Calls that are looked at, of all buyers and all models: a day of a busy market is read in part. */
const NEWEST_CALLS = 20_000

/** `since` in Unix milliseconds. */
export const OfferShareViewSchema = z.object({
  /** Calls that it served. */
  won: z.number(),
  /** Calls that asked it in vain, and then another. */
  failedOver: z.number(),
  /** Calls in which it could have served, and another stood in front. */
  outranked: z.number(),
  /** Calls that could not use it, by the reason that routing wrote down. */
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

/** How an offer of the caller fared against others in the last day: calls won, lost to whom ranked better, and why not. */
export const getOfferShare = defineOperation({
  name: 'offer.share',
  access: 'seller',
  input: z.strictObject(OfferIdInput.shape),
  limit: 'read',
  idempotency: 'none',
  output: OfferShareViewSchema,
  run: async (ctx, actor, { id }): Promise<OfferShareView> => {
    const offer = await requireOwnOffer(ctx, actor.account, id)
    const since = ctx.clock.now() - DAY
    return { since, ...(await sumOfferShare(ctx.db, offer, { since, limit: NEWEST_CALLS })) }
  },
})
