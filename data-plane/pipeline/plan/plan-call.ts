import type { Demand, MarketOffer, Offer, RawRequest, Target } from '#data-plane/call.ts'
import type { Payer } from '#data-plane/payment.ts'
import type { CallCaps, CallPlane, CallRouting } from '#data-plane/pipeline/call-plane.ts'
import { meetsFloor } from '#shared/discount.ts'
import { toAppError } from '#shared/errors.ts'
import { chargeShare, KEEP_ALL } from '#shared/money.ts'
import { checkCapability } from './check-capability.ts'
import { refusingRule } from './lent-rules.ts'
import type { SelectionPorts } from './offer-filters.ts'
import type { OwnOffers } from './own-providers.ts'
import { ownOffersOf } from './own-providers.ts'
import { conversationOf, preferWarm } from './prefer-warm.ts'
import type { CallQuote } from './quote-call.ts'
import { boundOf, quoteCall } from './quote-call.ts'
import { checkAllowed, resolveTarget, suitableDemand } from './resolve-target.ts'
import type { Choice } from './routing-choice.ts'
import { readChoice } from './routing-choice.ts'
import type { RankedOffers } from './select-offers.ts'
import { offersOf, selectOffers } from './select-offers.ts'

/** The state that the planner reads. */
export type PlanPorts = Pick<CallPlane, 'market' | 'rates'> & {
  readonly routing: Pick<CallRouting, 'health' | 'refusals' | 'warm'>
  readonly caps: Pick<CallCaps, 'spent'>
}

/** The demand and its payer. A request without a credential has no payer's preferences. */
export type PayerDemand = { readonly raw: RawRequest; readonly demand: Demand; readonly payer: Payer | undefined }

/** The purchased target, the choice among its offers, and the payer's own providers that may serve it. */
export type Course = PayerDemand & { readonly target: Target; readonly choice: Choice; readonly own: OwnOffers }

/** The offers that may serve a call, in order, and the most that it may cost at them. */
export type Plan = {
  readonly ranked: RankedOffers<MarketOffer>
  readonly quote: CallQuote
  /** The name of the conversation, by which its next turn is found. */
  readonly conversation: string | undefined
}

/** Decides everything that precedes the choice of offers. Throws the refusal of the call. */
export function plotCourse(plane: PlanPorts, { raw, demand: askedDemand, payer }: PayerDemand): Course {
  const market = plane.market()
  const demand = suitableDemand(market, askedDemand)
  const target = resolveTarget(market, demand, raw.receivedAt)
  checkAllowed(market, target, payer)
  checkCapability(target, demand)
  const choice = readChoice(market, demand, payer, raw.requestId)
  const own = ownOffersOf(payer, target, choice, raw.pathFloorPercent)
  return { raw, demand, payer, target, choice, own }
}

/**
 * Plans a call, a long job or an explanation: the offers that may serve it, in order, and its quote over them. The call
 * may run for `totalMs` milliseconds. Throws the refusal of the filter that left no offer, and the errors of the quote.
 */
export function planCall(plane: PlanPorts, course: Course, totalMs: number): Plan {
  const { ranked, conversation } = rankOffersFor(plane, course)
  return { ranked, quote: quoteFor(course, ranked.candidates, totalMs), conversation }
}

/** Ranks the offers of a plan without regard to its quote. */
export function rankOffersFor(plane: PlanPorts, course: Course): Pick<Plan, 'ranked' | 'conversation'> {
  const { raw, demand, payer, target, choice } = course
  const ports = selectionPorts(plane, raw)
  const conversation = conversationOf(raw, demand, payer)
  const cheapest = select(plane, course, ports)
  return {
    ranked: preferWarm(plane.routing.warm, { ports, target, demand, choice, conversation }, cheapest),
    conversation,
  }
}

/** Selects the offers, and reports to lenders the demand that their own rules refused. */
function select(
  plane: PlanPorts,
  { target, demand, choice }: Course,
  ports: SelectionPorts,
): RankedOffers<MarketOffer> {
  try {
    const ranked = selectOffers(ports, target, choice)
    if (ranked.excluded.some(({ reason }) => reason === 'policy')) noteRefused(plane, { target, demand, choice }, ports)
    return ranked
  } catch (thrown) {
    if (toAppError(thrown).code === 'policy_refused') noteRefused(plane, { target, demand, choice }, ports)
    throw thrown
  }
}

function noteRefused(
  { routing }: PlanPorts,
  { target, demand, choice }: Pick<Course, 'target' | 'demand' | 'choice'>,
  ports: SelectionPorts,
): void {
  const { lentDemand, floorPercent } = choice
  if (lentDemand === undefined) return
  const refusedOffers = offersOf(ports.market, target).flatMap((offer) => {
    if (floorPercent !== undefined && !meetsFloor(offer.keptBps, floorPercent)) return []
    const rule = refusingRule(ports.rates, offer, lentDemand)
    return rule === undefined ? [] : [{ offer: offer.id, rule }]
  })
  routing.refusals.note(refusedOffers, chargeShare(boundOf(target, demand).bill, KEEP_ALL))
}

/** The most that a call may cost at these offers, some of which may be the payer's own. */
export function quoteFor({ raw, target, demand }: Course, offers: readonly Offer[], totalMs: number): CallQuote {
  return quoteCall({ rid: raw.requestId, target, demand, totalMs }, offers)
}

export function selectionPorts(plane: PlanPorts, { receivedAt }: RawRequest): SelectionPorts {
  const { routing, caps, rates } = plane
  return { market: plane.market(), health: routing.health, caps: caps.spent, rates, now: receivedAt }
}
