import type { Offer } from '#control-plane/db/offers.ts'
import { findOffer } from '#control-plane/db/offers.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'

/** An offer of a seller. Throws `not_found` for one that is not there or somebody else's, and for what is no id. */
export async function requireOwnOffer(ctx: Pick<Ctx, 'db'>, seller: AccountId, id: string): Promise<Offer> {
  const offer = isId('ofr', id) ? await findOffer(ctx.db, seller, id) : undefined
  if (offer === undefined) throw new AppError('not_found')
  return offer
}
