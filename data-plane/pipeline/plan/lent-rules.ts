import type { LentDemand, LentTerms, MarketOffer } from '#data-plane/call.ts'
import type { RateLimits } from '#data-plane/store/rate-limits.ts'
import type { LentRule } from '#shared/contract/lent-offers.ts'
import { matchPath } from '#shared/rules/path-pattern.ts'

/** The name under which the calls of a lent key are counted. */
export function rateScopeOf({ id }: Pick<MarketOffer, 'id'>): string {
  return `lent:${id}`
}

/** True when the account claims every trait that the call requires. */
export function hasTraits({ traits }: LentTerms, lentDemand: LentDemand): boolean {
  return lentDemand.traits.every((name) => traits.has(name))
}

/**
 * The first of the lender's rules that refuses a call; undefined when none does. The share of a buyer is checked later.
 */
export function refusingRule(
  rates: Pick<RateLimits, 'look'>,
  offer: Pick<MarketOffer, 'id' | 'lent'>,
  { good, method, path }: LentDemand,
): LentRule | undefined {
  if (offer.lent === undefined) return undefined
  const { goods, methods, paths, ratePerMinute } = offer.lent
  if (good !== null && goods?.has(good) === false) return 'models'
  if (methods?.has(method) === false) return 'methods'
  if (paths !== null && !paths.some((pattern) => matchPath(pattern, path) !== undefined)) return 'paths'
  if (ratePerMinute !== null && rates.look(rateScopeOf(offer), ratePerMinute).remaining === 0) return 'rate'
  return undefined
}
