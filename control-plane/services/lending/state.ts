import type { StoredLentOffer } from '#control-plane/db/lent-offers.ts'
import type { LentStatus } from '#control-plane/db/tables/resources.ts'
import type { ErrorCode } from '#shared/errors.ts'
import { AppError } from '#shared/errors.ts'

/**
 * The states of a lent key. `delisted` is final: its seller may list the key anew, and its sealed key stays for jobs
 * under way. In `purged` the key is destroyed as well. In `blocked` an operator has taken it off the market, and it
 * shows as paused.
 */
export const LENT_STATES = ['active', 'paused', 'blocked', 'delisted', 'purged'] as const
export type LentState = (typeof LENT_STATES)[number]

/** The events of a lent key. `block` and `restore` come from the operator, all others from its seller. */
export const LENT_EVENTS = ['activate', 'pause', 'edit', 'remove', 'purge', 'block', 'restore'] as const
export type LentEvent = (typeof LENT_EVENTS)[number]

type Step = { readonly to: LentState } | { readonly refusal: ErrorCode }

const to = (state: LentState): Step => ({ to: state })
const refuse = (refusal: ErrorCode): Step => ({ refusal })
const conflict = refuse('conflict')

/** Every state and every event. Entering `active` also requires that the key has no other active offer. */
const LENT_STEPS: { readonly [State in LentState]: { readonly [Event in LentEvent]: Step } } = {
  active: {
    activate: to('active'),
    pause: to('paused'),
    edit: to('active'),
    remove: to('delisted'),
    purge: to('purged'),
    block: to('blocked'),
    restore: conflict,
  },
  paused: {
    activate: to('active'),
    pause: to('paused'),
    edit: to('paused'),
    remove: to('delisted'),
    purge: to('purged'),
    block: to('blocked'),
    restore: conflict,
  },
  blocked: {
    activate: refuse('offer_delisted_by_operator'),
    pause: to('blocked'),
    edit: to('blocked'),
    remove: to('delisted'),
    purge: to('purged'),
    block: to('blocked'),
    restore: to('paused'),
  },
  delisted: {
    activate: conflict,
    pause: conflict,
    edit: conflict,
    remove: to('delisted'),
    purge: to('purged'),
    block: conflict,
    restore: conflict,
  },
  purged: {
    activate: conflict,
    pause: conflict,
    edit: conflict,
    remove: to('purged'),
    purge: to('purged'),
    block: conflict,
    restore: conflict,
  },
}

/** The stored status of each state. */
const STORED: { readonly [State in LentState]: LentStatus } = {
  active: 'active',
  paused: 'paused',
  blocked: 'paused',
  delisted: 'delisted',
  purged: 'delisted',
}

type Standing = Pick<StoredLentOffer, 'status' | 'delistedReason' | 'purgedAt'>

export function lentStateOf({ status, delistedReason, purgedAt }: Standing): LentState {
  if (purgedAt !== null) return 'purged'
  if (status === 'delisted') return 'delisted'
  return delistedReason === null ? status : 'blocked'
}

/** The state after an event. Throws the table's refusal, with the present status. */
export function nextLentState(offer: Standing, event: LentEvent): LentState {
  const step = LENT_STEPS[lentStateOf(offer)][event]
  if ('refusal' in step) throw new AppError(step.refusal, { detail: { status: offer.status } })
  return step.to
}

/** The record's changes for an event. `reason` belongs to a block, and stays with the record. */
export function changeByLentEvent(
  offer: Standing,
  event: LentEvent,
  reason: string | null = null,
): { readonly status: LentStatus; readonly delistedReason: string | null } {
  const state = nextLentState(offer, event)
  const isCleared = state === 'active' || state === 'paused'
  return { status: STORED[state], delistedReason: isCleared ? null : (reason ?? offer.delistedReason) }
}
