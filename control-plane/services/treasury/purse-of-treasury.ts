import type { Purse } from '#control-plane/db/treasury-moves.ts'
import type { TreasuryParts } from '#control-plane/ports/treasury/treasury-parts.ts'

/** The token and treasury under which the books know a treasury. */
export function purseOfTreasury({ chainId, asset, address: treasury }: TreasuryParts): Purse {
  return { chainId, asset, treasury }
}
