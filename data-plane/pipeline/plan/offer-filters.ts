import type { MarketOffer } from '#data-plane/call.ts'
import type { HealthStore } from '#data-plane/store/health.ts'
import type { Market } from '#data-plane/store/market.ts'
import type { RateLimits } from '#data-plane/store/rate-limits.ts'
import type { SpentCaps } from '#data-plane/store/spent-caps.ts'
import { meetsFloor } from '#shared/discount.ts'
import { canServe } from '#shared/protocols/index.ts'
import { isKeptFrom } from './costly-members.ts'
import { hasTraits, refusingRule } from './lent-rules.ts'
import type { Choice } from './routing-choice.ts'

/** The filters in their order. The first one that refuses an offer is its reason. */
export const FILTERS = [
  'capability',
  'endpoint',
  'members',
  'provider',
  'blocked',
  'trusted',
  'discount',
  'trait',
  'policy',
  'cap',
  'health',
] as const

/** The index after the last filter, for an offer that passed them all. */
export const ELIGIBLE = FILTERS.length

/** The state that the selection reads besides the call itself. */
export type SelectionPorts = {
  readonly market: Market
  readonly health: Pick<HealthStore, 'blockedUntil' | 'isAllWell'>
  readonly caps: SpentCaps
  readonly rates: Pick<RateLimits, 'look'>
  readonly now: number
}

/** The index of the first filter that refuses an offer, or {@link ELIGIBLE}. */
export function stageOf({ health, caps, rates, now }: SelectionPorts, choice: Choice, offer: MarketOffer): number {
  if (!canServe(offer, choice.need)) return 0
  if (choice.unable?.has(offer.provider) || isWithout(offer, choice)) return 1
  if (choice.costly?.some((member) => isKeptFrom(offer, member))) return 2
  const isDown = !health.isAllWell() && health.blockedUntil(offer, now) > 0
  // A named provider must have an active healthy offer. A provider that is down does not count as found.
  if (choice.only !== undefined && (isDown || !choice.only.has(offer.provider))) return 3
  if (choice.blocked?.has(offer.provider)) return 4
  if (!offer.isTrusted && !choice.allowsUntrusted) return 5
  // An offer below the floor is out, whatever its lender allows.
  if (choice.floorPercent !== undefined && !meetsFloor(offer.keptBps, choice.floorPercent)) return 6
  if (choice.lentDemand !== undefined && offer.lent !== undefined) {
    if (!hasTraits(offer.lent, choice.lentDemand)) return 7
    if (refusingRule(rates, offer, choice.lentDemand) !== undefined) return 8
  }
  if (offer.capDailyMicro !== null && caps.isSpent(offer.id, now)) return 9
  return isDown ? 10 : ELIGIBLE
}

/** True for an offer that is not sold on the endpoint of a call. */
export function isWithout({ without }: Pick<MarketOffer, 'without'>, { endpoint }: Pick<Choice, 'endpoint'>): boolean {
  return without !== undefined && endpoint !== undefined && without.includes(endpoint)
}
