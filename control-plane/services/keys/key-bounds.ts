import type { BuyerActor } from '#control-plane/actor.ts'
import { keyOwnerOf } from '#control-plane/actor.ts'
import type { Trx } from '#control-plane/db/database.ts'
import { findKey } from '#control-plane/db/keys.ts'
import { AppError } from '#shared/errors.ts'
import { isBounded, termsOf } from './key-terms.ts'

/**
 * Lets only callers through that are not bounded themselves: a key with a cap or a list of models could otherwise lift
 * its own limits, or get hold of a key that has none. Throws `forbidden`.
 */
export async function requireUnbounded(trx: Trx, actor: BuyerActor): Promise<void> {
  if (actor.keyId === null) return
  const own = await findKey(trx, keyOwnerOf(actor), actor.keyId)
  if (own === undefined || !isBounded(termsOf(own))) return
  const message = 'A key with a cap or a list of models cannot change keys: use one without, or the wallet.'
  throw new AppError('forbidden', { message, detail: { key_id: actor.keyId } })
}
