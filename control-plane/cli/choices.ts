/** Words that options take. A command names them in its help, and its action reads them. */

export const USAGE_PERIODS = ['24h', '7d', '30d', '90d', 'lifetime'] as const
export const EARNINGS_RANGES = ['7d', '30d', '90d', 'lifetime'] as const
export const LENT_RANGES = ['1d', '7d', '30d'] as const
export const OFFER_STATES = ['active', 'paused', 'inactive'] as const
export const LENT_STATES = ['active', 'paused', 'delisted'] as const
export const LENT_METHODS = ['GET', 'POST', 'PUT'] as const
