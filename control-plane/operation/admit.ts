import type { Access, ActorsByAccess } from '#control-plane/operation/operation.ts'
import { AppError } from '#shared/errors.ts'
import type { Actor, BuyerActor } from './actor.ts'
import { sideOf } from './actor.ts'

/** How each access checks the caller; a key of the wrong side is told so, and nobody is asked for a key. */
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
 * Refuses a key that is to spend within bounds: it could lift them, get hold of a key that has none, silence the alerts of
 * the account or change how its other keys buy. Throws `forbidden`.
 */
export function requireUnbounded(actor: BuyerActor): BuyerActor {
  if (!actor.isBounded) return actor
  const message = 'A key with a cap or a list of models changes nothing of the account: use one without, or the wallet.'
  throw new AppError('forbidden', { message, detail: { key_id: actor.keyId } })
}

function refuse(actor: Actor): never {
  throw new AppError(actor.kind === 'nobody' ? 'authentication_required' : 'wrong_key_type')
}
