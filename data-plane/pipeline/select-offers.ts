import type { MarketOffer, Offer, Target } from '#data-plane/call.ts'
import type { Market } from '#data-plane/store/market.ts'
import type { OfferBook, OfferIndex } from '#data-plane/store/offer-book.ts'
import { CAPPED, createOfferBook, LACKS, TRUSTED } from '#data-plane/store/offer-book.ts'
import { MAX_EXPLAINED_OFFERS } from '#shared/contract/usage-event.ts'
import type { OfferId } from '#shared/ids.ts'
import type { MicroUsd } from '#shared/money.ts'
import { hasTraits, refusingRule } from './lent-rules.ts'
import type { SelectionPorts } from './offer-filters.ts'
import { FILTERS, stageOf } from './offer-filters.ts'
import { refuseSelection } from './refuse-selection.ts'
import type { Choice } from './routing-choice.ts'

/**
 * Offers that failover may use. They are more than the attempts, because an offer with a spent cap costs no attempt.
 */
export const MAX_CANDIDATES = 6

/** The offers that a call may use, in order and never empty, and the reasons of those passed over before them. */
export type RankedOffers<Of extends Offer = Offer> = {
  readonly candidates: readonly Of[]
  readonly excluded: readonly { readonly offer: string; readonly reason: string }[]
  /** Set when a conversation stays with the offer that has it in its cache. */
  readonly affinity?: Affinity
}

/** The warm offer, and the expected saving of staying there against the cheapest offer. */
export type Affinity = { readonly offer: OfferId; readonly savingMicro: MicroUsd }

/** At most so many offers that were passed over are remembered. */
const MAX_EXCLUDED = MAX_EXPLAINED_OFFERS - MAX_CANDIDATES
const NO_OFFERS = createOfferBook([])
/** The verdict about a provider. From {@link WANTED} on it is the rank in the buyer's order. */
const UNKNOWN = 0
const REFUSED = 1
const WANTED = 2

/**
 * Filters and orders a target's offers. They are already in the order of price, or of speed when that is asked for. The
 * walk reads columns of numbers. It asks about health and cap only for offers that would be taken, and ends when no
 * later offer could come before those found. Throws the refusal of the filter that left none.
 */
export function selectOffers(ports: SelectionPorts, target: Target, choice: Choice): RankedOffers<MarketOffer> {
  const book = bookOf(ports.market, target)
  const index = choice.isFastestFirst ? book.bySpeed() : book.byPrice()
  const { offers } = index
  if (choice.unknown !== undefined) throw refuseSelection(ports, choice, { target, offers })
  const found: Found = { places: [], ranks: [], excluded: [] }
  walk(ports, choice, index, found)
  if (found.places.length === 0) throw refuseSelection(ports, choice, { target, offers })
  if (choice.isFirstOnly) found.places.length = 1
  const candidates: MarketOffer[] = []
  for (const place of found.places) {
    const offer = offers[place]
    if (offer !== undefined) candidates.push(offer)
  }
  return { candidates, excluded: found.excluded }
}

/** All offers of a target, best price first. */
export function offersOf(market: Market, target: Target): readonly MarketOffer[] {
  return bookOf(market, target).ranked
}

function bookOf(market: Market, target: Target): OfferBook {
  if (target.kind !== 'model') return market.lentBooks.get(target.listing) ?? NO_OFFERS
  const isServable = target.model.endpoints.includes(target.endpoint)
  return isServable ? (market.offers.get(target.listing) ?? NO_OFFERS) : NO_OFFERS
}

/** The best offers so far: places in the index by rank, then by price. */
type Found = {
  readonly places: number[]
  readonly ranks: number[]
  readonly excluded: { offer: string; reason: string }[]
}

function walk(ports: SelectionPorts, choice: Choice, index: OfferIndex, found: Found): void {
  const { groups, kept, flags, providerOf, offers } = index
  const verdicts = new Uint16Array(index.providers.length)
  const mostKept = choice.floorPercent === undefined ? 10_000 : 10_000 - choice.floorPercent * 100
  const refusedFlags = LACKS[choice.need]
  const neededFlags = choice.allowsUntrusted ? 0 : TRUSTED
  for (let group = 0; group + 1 < groups.length; group++) {
    const start = groups[group] ?? 0
    const end = groups[group + 1] ?? 0
    // Later offers cost more, so they are all below the floor too.
    const isBelowFloor = (kept[start] ?? 0) > mostKept
    if (isBelowFloor && !choice.isFastestFirst && found.excluded.length === MAX_EXCLUDED) return
    const turn = end - start === 1 ? 0 : choice.spread % (end - start)
    for (let step = start; step < end; step++) {
      const place = step + turn < end ? step + turn : step + turn - end + start
      const bits = flags[place] ?? 0
      const provider = providerOf[place] ?? 0
      const verdict = verdicts[provider] || judge(verdicts, choice, index, provider)
      const isOut =
        isBelowFloor || verdict < WANTED || (bits & neededFlags) !== neededFlags || (bits & refusedFlags) !== 0
      if (!isOut) {
        const rank = verdict - WANTED
        const isFull = found.places.length === MAX_CANDIDATES
        if (isFull && rank >= (found.ranks[MAX_CANDIDATES - 1] ?? 0)) continue
        if (isUsable(ports, choice, offers[place], bits)) {
          insert(found, place, rank)
          if (found.places.length === MAX_CANDIDATES && found.ranks[MAX_CANDIDATES - 1] === 0) return
          continue
        }
      }
      if (found.excluded.length < MAX_EXCLUDED) exclude(ports, choice, offers[place], found)
    }
  }
}

/** Looks a provider up in the buyer's sets, once a call. */
function judge(
  verdicts: Uint16Array,
  { only, blocked, unable, order }: Choice,
  index: OfferIndex,
  provider: number,
): number {
  const id = index.providers[provider] ?? ''
  const isRefused = (only !== undefined && !only.has(id)) || blocked?.has(id) === true || unable?.has(id) === true
  const verdict = isRefused ? REFUSED : order === undefined ? WANTED : WANTED + (order.get(id) ?? order.size)
  verdicts[provider] = verdict
  return verdict === UNKNOWN ? REFUSED : verdict
}

function isUsable(ports: SelectionPorts, { wish }: Choice, offer: MarketOffer | undefined, bits: number): boolean {
  if (offer === undefined) return false
  const { health, caps, rates, now } = ports
  if (wish !== undefined && offer.lent !== undefined) {
    if (!hasTraits(offer.lent, wish) || refusingRule(rates, offer, wish) !== undefined) return false
  }
  if ((bits & CAPPED) !== 0 && caps.isSpent(offer.id, now)) return false
  return health.isAllWell() || health.blockedUntil(offer, now) === 0
}

/** Inserts an offer behind those of its rank. The last one is dropped when there are too many. */
function insert({ places, ranks }: Found, place: number, rank: number): void {
  let at = places.length < MAX_CANDIDATES ? places.length : MAX_CANDIDATES - 1
  while (at > 0 && (ranks[at - 1] ?? 0) > rank) {
    places[at] = places[at - 1] ?? 0
    ranks[at] = ranks[at - 1] ?? 0
    at--
  }
  places[at] = place
  ranks[at] = rank
}

function exclude(ports: SelectionPorts, choice: Choice, offer: MarketOffer | undefined, { excluded }: Found): void {
  if (offer === undefined) return
  excluded.push({ offer: offer.id, reason: FILTERS[stageOf(ports, choice, offer)] ?? '' })
}
