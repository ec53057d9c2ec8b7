import { AUTH_DESCRIPTIONS } from './auth.ts'
import { BUYER_DESCRIPTIONS } from './buyer.ts'
import type { Descriptions } from './described.ts'
import { EARNINGS_DESCRIPTIONS } from './earnings.ts'
import { KEY_DESCRIPTIONS } from './keys.ts'
import { ORGANIZATION_DESCRIPTIONS } from './organizations.ts'
import { RESOURCE_DESCRIPTIONS } from './resources.ts'
import { OFFER_DESCRIPTIONS } from './seller.ts'
import { USAGE_DESCRIPTIONS } from './usage.ts'

/** The descriptions of all REST rows. A test holds them against the rows. */
export const DESCRIPTIONS: Descriptions = {
  ...AUTH_DESCRIPTIONS,
  ...ORGANIZATION_DESCRIPTIONS,
  ...OFFER_DESCRIPTIONS,
  ...EARNINGS_DESCRIPTIONS,
  ...KEY_DESCRIPTIONS,
  ...RESOURCE_DESCRIPTIONS,
  ...BUYER_DESCRIPTIONS,
  ...USAGE_DESCRIPTIONS,
}
