import type { BuyerKeysQuery } from '#control-plane/dashboard/data/documents/buyer-keys.ts'

/** A key in the list of its owner. */
export type ListedKey = NonNullable<BuyerKeysQuery['buyerKeys']>['edges'][number]['node']

/** The state of a key in one word. Revoked comes before expired, and expired before frozen. */
export function stateOfKey({ revokedAt, expiresAt, frozenAt }: ListedKey): 'revoked' | 'expired' | 'frozen' | 'active' {
  if (revokedAt !== null) return 'revoked'
  if (expiresAt !== null && expiresAt <= Date.now()) return 'expired'
  return frozenAt === null ? 'active' : 'frozen'
}
