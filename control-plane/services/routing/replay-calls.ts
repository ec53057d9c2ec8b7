import type { RoutedCall } from '#control-plane/db/routed-calls.ts'
import type { Endpoint } from '#shared/catalog/model.ts'
import { ENDPOINTS } from '#shared/catalog/model.ts'
import type { BookOffer } from '#shared/market-view.ts'
import type { MicroUsd } from '#shared/money.ts'
import { add, chargeShare, PICO_PER_MICRO, picoUsd, ZERO } from '#shared/money.ts'
import { needOfEndpoint } from '#shared/protocols/index.ts'
import type { OfferBook } from '#shared/routing/offer-book.ts'
import type { RoutingRequirements } from '#shared/routing/walk-offers.ts'
import { walkOffers } from '#shared/routing/walk-offers.ts'

/** The market as routing reads it: the books by model, and the endpoints that hosts do not serve. */
export type ReplayMarket = {
  readonly books: ReadonlyMap<string, OfferBook<BookOffer>>
  readonly unable: ReadonlyMap<Endpoint, ReadonlySet<string>>
  isHealthy(model: string, offer: BookOffer): boolean
}

/** The part of a walk's requirements that a policy decides. The needs of each call are added. */
export type PolicyRequirements = Omit<RoutingRequirements, 'unable' | 'need' | 'spread'>

/** The offer that a call would use, and its cost there. Undefined when no offer would serve it. */
export type ReplayedCall = { readonly offer: BookOffer; readonly costMicro: MicroUsd } | undefined

const NOBODY: readonly BookOffer[] = []

/**
 * Routes calls by a policy, in the given order, with the ranking of real calls. Daily caps begin full and shrink by
 * these calls alone. A ranking is reused until the cap of its first offer is used up, because nothing else changes
 * meanwhile.
 */
export function replayCalls(
  market: ReplayMarket,
  policy: PolicyRequirements,
  calls: readonly RoutedCall[],
): ReplayedCall[] {
  const rankings = new Map<string, readonly BookOffer[]>()
  const used = new Map<string, MicroUsd>()
  const isSpent = ({ id, capDailyMicro }: BookOffer) =>
    capDailyMicro !== null && (used.get(id) ?? ZERO) >= capDailyMicro
  return calls.map(({ model, endpoint, listMicro }, at) => {
    const key = `${endpoint} ${model}`
    let ranking = rankings.get(key)
    if (ranking === undefined || (ranking[0] !== undefined && isSpent(ranking[0]))) {
      ranking = rank(market, policy, { model, endpoint, isSpent })
      rankings.set(key, ranking)
    }
    const offer = shareEqually(policy, ranking, at, isSpent)
    if (offer === undefined) return undefined
    const costMicro = chargeShare(picoUsd(listMicro * PICO_PER_MICRO), offer.keptBps)
    used.set(offer.id, add(used.get(offer.id) ?? ZERO, costMicro))
    return { offer, costMicro }
  })
}

type Question = Pick<RoutedCall, 'model' | 'endpoint'> & { readonly isSpent: (offer: BookOffer) => boolean }

function rank(
  { books, unable, isHealthy }: ReplayMarket,
  policy: PolicyRequirements,
  { model, endpoint: name, isSpent }: Question,
): readonly BookOffer[] {
  const book = books.get(model)
  const endpoint = ENDPOINTS.find((one) => one === name)
  if (book === undefined || endpoint === undefined) return NOBODY
  const requirements = { ...policy, need: needOfEndpoint(endpoint), unable: unable.get(endpoint), spread: 0 }
  const walk = {
    isUsable: (_market: null, _requirements: RoutingRequirements, offer: BookOffer, isCapped: boolean) =>
      offer.without?.includes(endpoint) !== true && isHealthy(model, offer) && !(isCapped && isSpent(offer)),
    maxExcluded: 0,
  }
  return walkOffers(policy.isFastestFirst ? book.bySpeed() : book.byPrice(), requirements, walk, null).candidates
}

/** Offers of equal price and speed take turns. In real calls a number from the request id chooses the first of them. */
function shareEqually(
  { order }: PolicyRequirements,
  ranking: readonly BookOffer[],
  turn: number,
  isSpent: (offer: BookOffer) => boolean,
): BookOffer | undefined {
  const [first] = ranking
  if (first === undefined || order !== undefined) return first
  const { keptBps, ttftMs } = first
  const equal = ranking.filter((offer) => offer.keptBps === keptBps && offer.ttftMs === ttftMs && !isSpent(offer))
  return equal[turn % equal.length] ?? first
}
