import type { MarketOffer, RawRequest } from '#data-plane/call.ts'
import type { Payer } from '#data-plane/payment.ts'
import type { CallPlane } from '#data-plane/pipeline/call-plane.ts'
import type { ParsedCall } from '#data-plane/wires/wire.ts'
import { keptToPercent } from '#shared/discount.ts'
import type { AppError } from '#shared/errors.ts'
import { toAppError } from '#shared/errors.ts'
import { chargeShare } from '#shared/money.ts'
import type { SelectionPorts } from './offer-filters.ts'
import { ELIGIBLE, FILTERS, stageOf } from './offer-filters.ts'
import type { Course } from './plan-call.ts'
import { plotCourse, quoteFor, rankOffersFor, selectionPorts } from './plan-call.ts'
import { boundOf } from './quote-call.ts'
import type { Affinity } from './select-offers.ts'
import { offersOf } from './select-offers.ts'

/** Most offers that are listed on each side. All are counted. */
const MAX_LISTED = 200

/** An offer in an explanation. It shows no more than the public order book. */
type ShownOffer = {
  readonly offer: string
  readonly provider: string
  readonly trusted: boolean
  readonly discount_pct: number
}

/** The offers that would now serve a call, and the reasons, with the answer's names. Amounts are micro-USD. */
export type RouteExplanation = {
  readonly model: string
  readonly requested_model: string
  readonly endpoint: string
  /** The most that would be set aside. */
  readonly hold_micro: number | null
  /** The strictest of all floors that apply. */
  readonly min_discount_pct: number | null
  /** In the order of the attempts; `estimate_micro` is the most that the call can cost there. */
  readonly offers: readonly (ShownOffer & { readonly rank: number; readonly estimate_micro: number })[]
  readonly excluded: readonly (ShownOffer & { readonly reason: string })[]
  readonly excluded_total: number
  /** The offer that has the conversation cached, when that puts it first. */
  readonly affinity: { readonly offer: string; readonly saving_micro: number } | null
  /** The buyer's own providers that are tried before the offers and after them. */
  readonly own_providers: { readonly before: readonly string[]; readonly after: readonly string[] }
  /** The error with which the call would be refused. */
  readonly refusal: AppError | undefined
}

/**
 * Plans a call up to its hold. Nothing is held and no provider is called. Throws the refusals that precede the search
 * for offers.
 */
export function explainRoute(
  plane: CallPlane,
  payer: Payer,
  raw: RawRequest,
  parsed: Pick<ParsedCall, 'demand'>,
): RouteExplanation {
  const course = plotCourse(plane, { raw, demand: parsed.demand, payer })
  const { target, choice, own, demand } = course
  const { bill } = boundOf(target, demand)
  let refusal: AppError | undefined
  let candidates: readonly MarketOffer[] = []
  let affinity: Affinity | undefined
  let holdMicro: number | null = null
  try {
    // Two steps are needed, because an explanation shows the offers of a call even when no quote can be made.
    ;({ candidates, affinity } = rankOffersFor(plane, course).ranked)
    holdMicro = Number(quoteFor(course, candidates, plane.limits.totalMs).wantMicro)
  } catch (thrown) {
    refusal = toAppError(thrown)
  }
  const passedOver = excludedOf(selectionPorts(plane, raw), course, candidates)
  return {
    model: target.id,
    requested_model: target.requested,
    endpoint: target.endpoint,
    hold_micro: holdMicro,
    min_discount_pct: choice.floorPercent ?? null,
    offers: candidates.map((offer, at) => ({
      rank: at + 1,
      ...shownOffer(offer),
      estimate_micro: Number(chargeShare(bill, offer.keptBps)),
    })),
    excluded: passedOver.slice(0, MAX_LISTED),
    excluded_total: passedOver.length,
    affinity: affinity === undefined ? null : { offer: affinity.offer, saving_micro: Number(affinity.savingMicro) },
    // Own providers are named by their slugs.
    own_providers: { before: own.first.map(slugOf), after: own.last.map(slugOf) },
    refusal,
  }
}

function slugOf({ provider }: { readonly provider: string }): string {
  return provider
}

/** The reason of an offer that passed every filter but that failover does not reach. */
const RANKED_LOWER = 'rank'

function excludedOf(
  ports: SelectionPorts,
  { target, choice }: Course,
  candidates: readonly MarketOffer[],
): (ShownOffer & { reason: string })[] {
  const excluded: (ShownOffer & { reason: string })[] = []
  for (const offer of offersOf(ports.market, target)) {
    const stage = stageOf(ports, choice, offer)
    if (stage === ELIGIBLE && candidates.includes(offer)) continue
    excluded.push({ ...shownOffer(offer), reason: FILTERS[stage] ?? RANKED_LOWER })
  }
  return excluded
}

function shownOffer({ id, provider, isTrusted, keptBps }: MarketOffer): ShownOffer {
  return { offer: id, provider, trusted: isTrusted, discount_pct: keptToPercent(keptBps) }
}
