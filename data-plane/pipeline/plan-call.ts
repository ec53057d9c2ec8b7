import type { Demand, MarketOffer, Offer, RawRequest, Target } from '#data-plane/call.ts'
import type { Payer } from '#data-plane/payment.ts'
import type { CallPlane } from './call-plane.ts'
import { checkCapability } from './check-capability.ts'
import type { SelectionPorts } from './offer-filters.ts'
import type { OwnOffers } from './own-providers.ts'
import { ownOffersOf } from './own-providers.ts'
import { conversationOf, preferWarm } from './prefer-warm.ts'
import type { CallQuote } from './quote-call.ts'
import { quoteCall } from './quote-call.ts'
import { checkAllowed, resolveTarget } from './resolve-target.ts'
import type { Choice } from './routing-choice.ts'
import { readChoice } from './routing-choice.ts'
import type { RankedOffers } from './select-offers.ts'
import { selectOffers } from './select-offers.ts'

/** What planning looks at. */
export type PlanPorts = Pick<CallPlane, 'market' | 'health' | 'spentCaps' | 'warm'>

/** What is asked for, and by whom; somebody without a credential wishes nothing of every call. */
export type Asked = { readonly raw: RawRequest; readonly demand: Demand; readonly payer: Payer | undefined }

/** What is to be bought, by which wishes, and the payer's own providers that may serve it. */
export type Course = Asked & { readonly target: Target; readonly choice: Choice; readonly own: OwnOffers }

/** The offers that may serve a call, in order, and the most that it may cost at them. */
export type Plan = {
  readonly ranked: RankedOffers<MarketOffer>
  readonly quote: CallQuote
  /** What the next turn of the same conversation will be known by. */
  readonly conversation: string | undefined
}

/** Everything that is decided before any offer is looked at. Throws what the call is refused with. */
export function plotCourse(plane: PlanPorts, { raw, demand, payer }: Asked): Course {
  const market = plane.market()
  const target = resolveTarget(market, demand)
  checkAllowed(market, target, payer)
  checkCapability(target, demand)
  const choice = readChoice(market, demand, payer, raw.requestId)
  const own = ownOffersOf(payer, target, choice, raw.pathFloorPercent)
  return { raw, demand, payer, target, choice, own }
}

/**
 * The plan of a call, of a long job and of an explanation: which offers may serve it, in order, and its quote over them.
 * `totalMs` is how long it may run. Throws the refusal of the filter that left no offer, and what quoting throws.
 */
export function planCall(plane: PlanPorts, course: Course, totalMs: number): Plan {
  const { ranked, conversation } = rankOffersFor(plane, course)
  return { ranked, quote: quoteFor(course, ranked.candidates, totalMs), conversation }
}

/** The offers of a plan, before anything is known of its price. */
export function rankOffersFor(plane: PlanPorts, course: Course): Pick<Plan, 'ranked' | 'conversation'> {
  const { raw, demand, payer, target, choice } = course
  const ports = selectionPorts(plane, raw)
  const conversation = conversationOf(raw, demand, payer)
  const cheapest = selectOffers(ports, target, choice)
  return { ranked: preferWarm(plane.warm, { ports, target, demand, choice, conversation }, cheapest), conversation }
}

/** The most that a call may cost at these offers, which may be the payer's own. */
export function quoteFor({ raw, target, demand }: Course, offers: readonly Offer[], totalMs: number): CallQuote {
  return quoteCall({ rid: raw.requestId, target, demand, totalMs }, offers)
}

export function selectionPorts(plane: PlanPorts, { receivedAt }: RawRequest): SelectionPorts {
  return { market: plane.market(), health: plane.health, caps: plane.spentCaps, now: receivedAt }
}
