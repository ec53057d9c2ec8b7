import type { ChainRailName } from './chain-payments.ts'

/**
 * Switches that operators turn without a restart. Each text says what the feature allows, and what finishes while it is
 * off. All are on unless turned off. The control plane reads them from its tables, the data plane from the `limits`
 * document.
 */
export const FEATURES = {
  sign_ups: 'New people can create an account.',
  new_offers: 'Sellers can put new offers on sale.',
  payouts: 'Sellers are paid out. Signed payouts always complete.',
  paid_calls: 'Buyers can start paid calls. Running calls always finish.',
  long_jobs: 'Buyers can start long jobs. Running jobs always finish.',
  x402_upto: 'Wallets can pay by x402 upto. Started payments always finish.',
  x402_exact: 'Wallets can pay by x402 exact. Started payments always finish.',
  mpp: 'Wallets can pay by MPP. Started payments always finish.',
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
