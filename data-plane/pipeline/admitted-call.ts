import type { Offer } from '#data-plane/call.ts'
import type { RankedOffers } from './plan/select-offers.ts'
import type { AdmittedCall, Admitting, ReadCall } from './stages.ts'

/**
 * Copies member by member: this object is made for every call, and a literal with spreads takes some twenty times
 * longer.
 */
export function admittedCall(read: ReadCall, admitting: Admitting): AdmittedCall {
  const { raw, reply, route, parsed, demand, standing } = read
  const { target, ranked, quote, conversation, payment, hold, feeBps, inquiry } = admitting
  return {
    raw,
    reply,
    route,
    parsed,
    demand,
    standing,
    target,
    ranked,
    quote,
    conversation,
    payment,
    hold,
    feeBps,
    inquiry,
  }
}

/** Makes the ranked list from offers of a single kind. */
export function onlyThese(candidates: readonly Offer[]): RankedOffers {
  return { candidates, excluded: [] }
}
