import type { LentOffer } from '#shared/contract/lent-offers.ts'
import { LENT_RULES } from '#shared/contract/lent-offers.ts'
import { meetsFloor } from '#shared/discount.ts'
import { refusedByScope } from './lent-scope.ts'

/** The market of lent keys as both planes show it, so that their answers agree. */

/** The most traits that a call may require. */
export const MAX_REQUIRED_TRAITS = 16

/** The call that a buyer plans. An absent part is not checked. */
export type RequestedCall = {
  readonly good?: string | undefined
  readonly method?: string | undefined
  readonly path?: string | undefined
  readonly traits: readonly string[]
  readonly floorPercent?: number | undefined
}

/** Reasons why an offer cannot serve a call, in the order in which they are checked. */
export const WHY_NOT = ['discount', 'traits', ...LENT_RULES, 'cap', 'health'] as const
export type WhyNot = (typeof WHY_NOT)[number]

type LentTerms = Pick<LentOffer, 'traits' | 'keptBps' | 'scope'>
type LentState = { readonly isHealthy: boolean; readonly isSpent: boolean }

/** The first reason why an offer cannot serve a call; null when it can. */
export function whyNotServed(
  { traits, keptBps, scope }: LentTerms,
  requestedCall: RequestedCall,
  { isHealthy, isSpent }: LentState,
): WhyNot | null {
  const traitNames = new Set(traits.map(({ name }) => name))
  if (requestedCall.floorPercent !== undefined && !meetsFloor(keptBps, requestedCall.floorPercent)) return 'discount'
  if (!requestedCall.traits.every((name) => traitNames.has(name))) return 'traits'
  const rule = refusedByScope(scope, requestedCall)
  if (rule !== undefined) return rule
  if (isSpent) return 'cap'
  return isHealthy ? null : 'health'
}
