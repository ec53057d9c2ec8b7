import type { Access, ActorsByAccess } from '#control-plane/operation/operation.ts'
import { AppError } from '#shared/errors.ts'
import type { Actor, BuyerActor } from './actor.ts'
import { sideOf } from './actor.ts'

/**
 * The check of the caller for each access. A key of the wrong side gets a message that says so; a caller without a key
 * is asked for one.
 */
export const ADMIT: { readonly [A in Access]: (actor: Actor) => ActorsByAccess[A] } = {
  public: (actor) => actor,
  buyer: admitBuyer,
  'buyer-account': (actor) => requireUnbounded(admitBuyer(actor)),
  seller: (actor) => {
    if (actor.kind === 'session') return sideOf(actor, 'seller')
    return actor.kind === 'seller' ? actor : refuse(actor)
  },
  session: (actor) => (actor.kind === 'session' ? actor : refuse(actor)),
  org: (actor) => (actor.kind === 'org' || actor.kind === 'session' ? actor : refuse(actor)),
  operator: (actor) => {
    if (actor.kind === 'operator') return actor
    if (actor.kind === 'org') throw new AppError('forbidden')
    return refuse(actor)
  },
}

function admitBuyer(actor: Actor): BuyerActor {
  if (actor.kind === 'session') return sideOf(actor, 'buyer')
  return actor.kind === 'buyer' ? actor : refuse(actor)
}

/**
 * Refuses a key with a cap or a list of models. With account rights it could lift its own bounds, obtain a key without
 * bounds, silence the account's alerts, or change how other keys buy. Throws `forbidden`.
 */
export function requireUnbounded(actor: BuyerActor): BuyerActor {
  if (!actor.isBounded) return actor
  const message =
    'A key with a cap or a list of models cannot change the account. Use a key without limits, or sign in with the wallet.'
  throw new AppError('forbidden', { message, detail: { key_id: actor.keyId } })
}

function refuse(actor: Actor): never {
  throw new AppError(actor.kind === 'nobody' ? 'authentication_required' : 'wrong_key_type')
}
