import { words } from './format.ts'

/** The filters of the routing, and why an offer did not pass each. */
const REASONS: Readonly<Record<string, string>> = {
  capability: 'cannot do what was asked for',
  endpoint: 'its provider does not run this endpoint',
  provider: 'another provider was asked for, or it rested',
  blocked: 'its provider was blocked',
  trusted: 'its provider is not trusted',
  trait: 'lacks a trait that was asked for',
  policy: 'a rule of its seller',
  discount: 'its discount was below the floor',
  cap: 'its cap of the day was used up',
  health: 'it rested after failures',
  rank: 'it stood too far behind',
}

/** Why an offer could not serve a call. */
export const routeReason = (reason: string): string => REASONS[reason] ?? words(reason)
