import type { MarketOffer, Offer, Target } from '#data-plane/call.ts'
import type { Market } from '#data-plane/store/market.ts'
import { MAX_EXPLAINED_OFFERS } from '#shared/contract/usage-event.ts'
import type { OfferId } from '#shared/ids.ts'
import type { MicroUsd } from '#shared/money.ts'
import type { OfferBook } from '#shared/routing/offer-book.ts'
import { createOfferBook } from '#shared/routing/offer-book.ts'
import type { Walk } from '#shared/routing/walk-offers.ts'
import { MAX_CANDIDATES, walkOffers } from '#shared/routing/walk-offers.ts'
import { isKeptFrom } from './costly-members.ts'
import { hasTraits, refusingRule } from './lent-rules.ts'
import type { SelectionPorts } from './offer-filters.ts'
import { FILTERS, isWithout, stageOf } from './offer-filters.ts'
import { refuseSelection } from './refuse-selection.ts'
import type { Choice } from './routing-choice.ts'

/** The offers that a call may use, in order and never empty, and the reasons of the skipped offers before them. */
export type RankedOffers<Of extends Offer = Offer> = {
  readonly candidates: readonly Of[]
  readonly excluded: readonly { readonly offer: string; readonly reason: string }[]
  /** Set when a conversation stays with the offer whose cache has it. */
  readonly affinity?: Affinity
}

/** The warm offer, and its expected saving against the cheapest offer. */
export type Affinity = { readonly offer: OfferId; readonly savingMicro: MicroUsd }

/** Most skipped offers that are remembered. */
const MAX_EXCLUDED = MAX_EXPLAINED_OFFERS - MAX_CANDIDATES
const NO_OFFERS = createOfferBook<MarketOffer>([])

/**
 * Filters and orders a target's offers. They are already in the order of price, or of speed if requested. The walk
 * reads columns of numbers. It checks health and cap only for offers that would be taken, and ends when no later offer
 * could come before those found. Throws the refusal of the filter that left none.
 */
export function selectOffers(ports: SelectionPorts, target: Target, choice: Choice): RankedOffers<MarketOffer> {
  const book = bookOf(ports.market, target)
  const index = choice.isFastestFirst ? book.bySpeed() : book.byPrice()
  const { offers } = index
  if (choice.unknown !== undefined) throw refuseSelection(ports, choice, { target, offers })
  const { candidates, excluded } = walkOffers(index, choice, WALK, ports)
  if (candidates.length === 0) throw refuseSelection(ports, choice, { target, offers })
  if (choice.isFirstOnly) candidates.length = 1
  const reasons: { offer: string; reason: string }[] = []
  for (const offer of excluded) {
    reasons.push({ offer: offer.id, reason: FILTERS[stageOf(ports, choice, offer)] ?? '' })
  }
  return { candidates, excluded: reasons }
}

/** All offers of a target, best price first. */
export function offersOf(market: Market, target: Target): readonly MarketOffer[] {
  return bookOf(market, target).ranked
}

function bookOf(market: Market, target: Target): OfferBook<MarketOffer> {
  if (target.kind !== 'model') return market.lentBooks.get(target.listing) ?? NO_OFFERS
  const isServable = target.model.endpoints.includes(target.endpoint)
  return isServable ? (market.offers.get(target.listing) ?? NO_OFFERS) : NO_OFFERS
}

function isUsable(ports: SelectionPorts, choice: Choice, offer: MarketOffer, isCapped: boolean): boolean {
  const { lentDemand, costly } = choice
  const { health, caps, rates, now } = ports
  if (isWithout(offer, choice) || costly?.some((member) => isKeptFrom(offer, member))) return false
  if (lentDemand !== undefined && offer.lent !== undefined) {
    if (!hasTraits(offer.lent, lentDemand) || refusingRule(rates, offer, lentDemand) !== undefined) return false
  }
  if (isCapped && caps.isSpent(offer.id, now)) return false
  return health.isAllWell() || health.blockedUntil(offer, now) === 0
}

const WALK: Walk<MarketOffer, Choice, SelectionPorts> = { isUsable, maxExcluded: MAX_EXCLUDED }
