import type { ProtocolNeed } from '#shared/protocols/index.ts'
import type { OfferIndex, RoutableOffer } from './offer-book.ts'
import { CAPPED, LACKS, TRUSTED } from './offer-book.ts'

/** Offers that failover may use. There are more than attempts, because an offer with a spent cap uses no attempt. */
export const MAX_CANDIDATES = 6

/** The verdict about a provider. From {@link ALLOWED} on, the verdict is the provider's rank in the buyer's order. */
const UNKNOWN = 0
const REFUSED = 1
const ALLOWED = 2

/** A call's requirements on its offers, the same for all of them. Providers are given by their ids. */
export type RoutingRequirements = {
  readonly only: ReadonlySet<string> | undefined
  readonly blocked: ReadonlySet<string> | undefined
  /** Providers whose host does not run the endpoint; undefined where every host does. */
  readonly unable: ReadonlySet<string> | undefined
  readonly order: ReadonlyMap<string, number> | undefined
  readonly allowsUntrusted: boolean
  readonly floorPercent: number | undefined
  /** The need that a provider's protocol must meet. */
  readonly need: ProtocolNeed
  /** True where measured speed takes precedence over price. The index is then the one by speed. */
  readonly isFastestFirst: boolean
  /** A number that selects the first of several equal offers, so that they share the load. */
  readonly spread: number
}

/**
 * The functions and limits of a walk, made once. They take the values of each call as `ports`, so that no closure is
 * made per call.
 */
export type Walk<Of extends RoutableOffer, Requirements, Ports> = {
  /** True when an offer that meets the requirements can be used now. Called only for offers that would be selected. */
  readonly isUsable: (ports: Ports, requirements: Requirements, offer: Of, isCapped: boolean) => boolean
  /** The largest number of skipped offers that the walk returns. */
  readonly maxExcluded: number
}

/** The best offers in order, and the offers that were skipped before them. */
export type Walked<Of extends RoutableOffer> = { readonly candidates: Of[]; readonly excluded: readonly Of[] }

/**
 * Filters and orders offers that are already in the order of price, or of speed where the buyer prefers it. It reads
 * columns of numbers, and ends when no later offer could precede those found. The data plane routes calls with it, and
 * the control plane estimates the results of another policy.
 */
export function walkOffers<Of extends RoutableOffer, Requirements extends RoutingRequirements, Ports>(
  index: OfferIndex<Of>,
  requirements: Requirements,
  walk: Walk<Of, Requirements, Ports>,
  ports: Ports,
): Walked<Of> {
  const best: BestOffers<Of> = { places: [], ranks: [], excluded: [] }
  search({ index, requirements, walk, ports }, best)
  const candidates: Of[] = []
  for (const place of best.places) {
    const offer = index.offers[place]
    if (offer !== undefined) candidates.push(offer)
  }
  return { candidates, excluded: best.excluded }
}

/** The best offers so far: indexes in the order of rank, then of price. */
type BestOffers<Of> = {
  readonly places: number[]
  readonly ranks: number[]
  readonly excluded: Of[]
}

type Search<Of extends RoutableOffer, Requirements extends RoutingRequirements, Ports> = {
  readonly index: OfferIndex<Of>
  readonly requirements: Requirements
  readonly walk: Walk<Of, Requirements, Ports>
  readonly ports: Ports
}

function search<Of extends RoutableOffer, Requirements extends RoutingRequirements, Ports>(
  { index, requirements, walk, ports }: Search<Of, Requirements, Ports>,
  best: BestOffers<Of>,
): void {
  const { isUsable, maxExcluded } = walk
  const { groups, keptBps, flags, providerOf, offers } = index
  const verdicts = new Uint16Array(index.providers.length)
  const mostKept = requirements.floorPercent === undefined ? 10_000 : 10_000 - requirements.floorPercent * 100
  const refusedFlags = LACKS[requirements.need]
  const neededFlags = requirements.allowsUntrusted ? 0 : TRUSTED
  for (let group = 0; group + 1 < groups.length; group++) {
    const start = groups[group] ?? 0
    const end = groups[group + 1] ?? 0
    // Later offers cost more, so all of them are below the floor, too.
    const isBelowFloor = (keptBps[start] ?? 0) > mostKept
    if (isBelowFloor && !requirements.isFastestFirst && best.excluded.length === maxExcluded) return
    const turn = end - start === 1 ? 0 : requirements.spread % (end - start)
    for (let step = start; step < end; step++) {
      const place = step + turn < end ? step + turn : step + turn - end + start
      const bits = flags[place] ?? 0
      const provider = providerOf[place] ?? 0
      const verdict = verdicts[provider] || judge(verdicts, requirements, index, provider)
      const isOut =
        isBelowFloor || verdict < ALLOWED || (bits & neededFlags) !== neededFlags || (bits & refusedFlags) !== 0
      if (!isOut) {
        const rank = verdict - ALLOWED
        const isFull = best.places.length === MAX_CANDIDATES
        if (isFull && rank >= (best.ranks[MAX_CANDIDATES - 1] ?? 0)) continue
        const offer = offers[place]
        if (offer !== undefined && isUsable(ports, requirements, offer, (bits & CAPPED) !== 0)) {
          insert(best, place, rank)
          if (best.places.length === MAX_CANDIDATES && best.ranks[MAX_CANDIDATES - 1] === 0) return
          continue
        }
      }
      const passedOffer = offers[place]
      if (passedOffer !== undefined && best.excluded.length < maxExcluded) best.excluded.push(passedOffer)
    }
  }
}

/** Looks up a provider in the buyer's sets, once a call. */
function judge(
  verdicts: Uint16Array,
  { only, blocked, unable, order }: RoutingRequirements,
  index: Pick<OfferIndex<RoutableOffer>, 'providers'>,
  provider: number,
): number {
  const id = index.providers[provider] ?? ''
  const isRefused = (only !== undefined && !only.has(id)) || blocked?.has(id) === true || unable?.has(id) === true
  const verdict = isRefused ? REFUSED : order === undefined ? ALLOWED : ALLOWED + (order.get(id) ?? order.size)
  verdicts[provider] = verdict
  return verdict === UNKNOWN ? REFUSED : verdict
}

/** Inserts an offer behind those of its rank. The last one is dropped when there are too many. */
function insert({ places, ranks }: Pick<BestOffers<unknown>, 'places' | 'ranks'>, place: number, rank: number): void {
  let at = places.length < MAX_CANDIDATES ? places.length : MAX_CANDIDATES - 1
  while (at > 0 && (ranks[at - 1] ?? 0) > rank) {
    places[at] = places[at - 1] ?? 0
    ranks[at] = ranks[at - 1] ?? 0
    at--
  }
  places[at] = place
  ranks[at] = rank
}
