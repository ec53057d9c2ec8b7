import type { ChainRailName } from './chain-payments.ts'

/**
 * Switches that operators turn without a restart. Each text says what continues while the feature is off. All are on
 * unless turned off. The control plane reads them from its tables, the data plane from the `limits` document.
 */
export const FEATURES = {
  sign_ups: 'Wallets that are not known yet may sign in.',
  new_offers: 'Sellers may put new offers on sale.',
  payouts: 'Sellers are paid out; payouts that are signed always come to their end.',
  paid_calls: 'Calls that cost money are taken; running ones always end well.',
  long_jobs: 'New long jobs are taken; running ones always end well.',
  x402_upto: 'Wallets may pay by x402 upto; payments under way always end well.',
  x402_exact: 'Wallets may pay by x402 exact; payments under way always end well.',
  mpp: 'Wallets may pay by MPP; payments under way always end well.',
} as const
export type FeatureName = keyof typeof FEATURES

/** The switch of each way to pay by wallet. */
export const RAIL_FEATURES: Readonly<Record<ChainRailName, FeatureName>> = {
  'x402-upto': 'x402_upto',
  'x402-exact': 'x402_exact',
  mpp: 'mpp',
}

/** The names, in the order of the table. */
export const FEATURE_NAMES = Object.keys(FEATURES).filter(isFeature)

function isFeature(name: string): name is FeatureName {
  return Object.hasOwn(FEATURES, name)
}
