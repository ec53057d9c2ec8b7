import type { StoredOffer } from '#control-plane/db/offers.ts'
import { findOffer } from '#control-plane/db/offers.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'

/**
 * Finds an offer of the seller. Throws `not_found` for a malformed id, and for an offer that does not exist or belongs
 * to another seller.
 */
export async function requireOwnOffer(ctx: Pick<Ctx, 'db'>, seller: AccountId, id: string): Promise<StoredOffer> {
  const offer = isId('ofr', id) ? await findOffer(ctx.db, seller, id) : undefined
  if (offer === undefined) throw new AppError('not_found')
  return offer
}
