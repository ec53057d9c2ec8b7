/**
 * Switches that operators turn without a restart. Each text says what goes on while the feature is off. All are on
 * unless turned off. The control plane reads them from its tables, the data plane from the `limits` document.
 */
export const FEATURES = {
  sign_ups: 'Wallets that are not known yet may sign in.',
  new_offers: 'Sellers may put new offers on sale.',
  payouts: 'Payouts are sent. There are none yet, so this one switches nothing.',
  paid_calls: 'Calls that cost money are taken; running ones always end well.',
  long_jobs: 'New long jobs are taken; running ones always end well.',
} as const
export type FeatureName = keyof typeof FEATURES

/** The names, in the order of the table. */
export const FEATURE_NAMES = Object.keys(FEATURES).filter(isFeature)

function isFeature(name: string): name is FeatureName {
  return Object.hasOwn(FEATURES, name)
}
