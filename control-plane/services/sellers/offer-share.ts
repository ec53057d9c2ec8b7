import { z } from 'zod'
import type { OfferShare } from '#control-plane/db/offer-share.ts'
import { sumOfferShare } from '#control-plane/db/offer-share.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { OfferIdInput } from '#control-plane/services/offers/input.ts'
import { requireOwnOffer } from '#control-plane/services/offers/own-offer.ts'
import { DAY } from '#shared/clock.ts'

/** Calls that are looked at, of all buyers and all models: a day of a busy market is read in part. */
const NEWEST_CALLS = 20_000

/** `since` in Unix milliseconds. */
export type OfferShareView = OfferShare & { readonly since: number }

/** How an offer of the caller fared against others in the last day: calls won, lost to whom ranked better, and why not. */
export const getOfferShare = defineOperation({
  name: 'offer.share',
  access: 'seller',
  input: z.strictObject(OfferIdInput.shape),
  limit: 'read',
  idempotency: 'none',
  run: async (ctx, actor, { id }): Promise<OfferShareView> => {
    const offer = await requireOwnOffer(ctx, actor.account, id)
    const since = ctx.clock.now() - DAY
    return { since, ...(await sumOfferShare(ctx.db, offer, { since, limit: NEWEST_CALLS })) }
  },
})
