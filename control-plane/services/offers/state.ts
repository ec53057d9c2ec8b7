import type { OfferChange } from '#control-plane/db/offers.ts'
import type { OfferStatus } from '#control-plane/db/tables/offers.ts'
import type { ErrorCode } from '#shared/errors.ts'
import { AppError } from '#shared/errors.ts'

/**
 * The states of an offer. In `delisted` and `removed` the operator has taken it off the market. A delisted offer shows
 * as paused; a removed one was also deleted by its seller.
 */
export const OFFER_STATES = ['active', 'paused', 'inactive', 'delisted', 'removed'] as const
export type OfferState = (typeof OFFER_STATES)[number]

/** The events of an offer. `delist` and `restore` come from the operator, all others from its seller. */
export const OFFER_EVENTS = [
  'activate',
  'pause',
  'remove',
  'cancel',
  'rotate',
  'reset',
  'edit',
  'delist',
  'restore',
] as const
export type OfferEvent = (typeof OFFER_EVENTS)[number]

type Step = { readonly to: OfferState } | { readonly refusal: ErrorCode }

const to = (state: OfferState): Step => ({ to: state })
const refuse = (refusal: ErrorCode): Step => ({ refusal })
const conflict = refuse('conflict')
const staysOff = refuse('offer_delisted_by_operator')

/**
 * Every state and every event. Entering `active`, and a new credential, also require that no other active offer has the
 * same credential, address and model. A database index over all sellers ensures that. `cancel` is the bulk cancel and
 * changes only active offers.
 */
const OFFER_STEPS: { readonly [State in OfferState]: { readonly [Event in OfferEvent]: Step } } = {
  active: {
    activate: to('active'),
    pause: to('paused'),
    remove: to('inactive'),
    cancel: to('inactive'),
    rotate: to('active'),
    reset: to('active'),
    edit: to('active'),
    delist: to('delisted'),
    restore: conflict,
  },
  paused: {
    activate: to('active'),
    pause: to('paused'),
    remove: to('inactive'),
    cancel: to('paused'),
    rotate: to('paused'),
    reset: to('paused'),
    edit: to('paused'),
    delist: to('delisted'),
    restore: conflict,
  },
  inactive: {
    activate: to('active'),
    pause: conflict,
    remove: to('inactive'),
    cancel: to('inactive'),
    rotate: conflict,
    reset: conflict,
    edit: to('inactive'),
    delist: to('removed'),
    restore: conflict,
  },
  delisted: {
    activate: staysOff,
    pause: to('delisted'),
    remove: to('removed'),
    cancel: to('delisted'),
    rotate: to('delisted'),
    reset: to('delisted'),
    edit: to('delisted'),
    delist: to('delisted'),
    restore: to('paused'),
  },
  removed: {
    activate: staysOff,
    pause: conflict,
    remove: to('removed'),
    cancel: to('removed'),
    rotate: conflict,
    reset: conflict,
    edit: to('removed'),
    delist: to('removed'),
    restore: to('inactive'),
  },
}

/** The stored status of each state. A delisted offer also has a reason, from the operator's event. */
const STORED: { readonly [State in OfferState]: OfferStatus } = {
  active: 'active',
  paused: 'paused',
  inactive: 'inactive',
  delisted: 'paused',
  removed: 'inactive',
}

type Standing = { readonly status: OfferStatus; readonly delistedReason: string | null }

export function stateOf({ status, delistedReason }: Standing): OfferState {
  if (delistedReason === null) return status
  return status === 'inactive' ? 'removed' : 'delisted'
}

/** Returns the state after an event. Throws the table's refusal, with the present status. */
export function nextState(offer: Standing, event: OfferEvent): OfferState {
  const step = OFFER_STEPS[stateOf(offer)][event]
  if ('refusal' in step) throw new AppError(step.refusal, { detail: { status: offer.status } })
  return step.to
}

/** Returns the record's changes for an event. `reason` belongs to a delisting. */
export function changeByEvent(offer: Standing, event: OfferEvent, reason: string | null = null): OfferChange {
  const state = nextState(offer, event)
  const isOff = state === 'delisted' || state === 'removed'
  return { status: STORED[state], delistedReason: isOff ? (reason ?? offer.delistedReason) : null }
}
