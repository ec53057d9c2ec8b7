import { words } from './format.ts'

/** The filters of the routing, each with the reason of an offer that did not pass. */
const REASONS: Readonly<Record<string, string>> = {
  capability: 'lacks a capability that the call needs',
  endpoint: 'its provider does not run this endpoint',
  provider: 'the call named other providers, or the provider was down',
  blocked: 'its provider was blocked',
  trusted: 'its provider is not trusted',
  trait: 'lacks a trait that the call requires',
  policy: 'a rule of its seller',
  discount: 'its discount was below the floor',
  cap: 'its cap of the day was used up',
  health: 'paused after failures',
  rank: 'too far behind the best offers',
}

/** The reason why an offer could not serve a call, in words. */
export const routeReason = (reason: string): string => REASONS[reason] ?? words(reason)
