import type { AllowancePermit } from '#control-plane/db/allowance-draws.ts'
import type { Permit } from '#control-plane/ports/treasury/permit.ts'
import { permitDataOf } from '#control-plane/ports/treasury/permit.ts'
import { SECOND } from '#shared/clock.ts'
import type { Taker } from './allowance-ctx.ts'

type Signable = Pick<AllowancePermit, 'wallet' | 'value' | 'nonce' | 'deadline'>

/** The permit that a wallet signs for the treasury. */
export function permitOf(
  { chainId, asset, assetName, assetVersion, treasury: spender }: Taker,
  { wallet, value, nonce, deadline }: Signable,
): Permit {
  return {
    chainId,
    asset,
    assetName,
    assetVersion,
    owner: wallet,
    spender,
    value,
    nonce,
    // The token reads whole seconds.
    deadline: BigInt(Math.floor(deadline.getTime() / SECOND)),
  }
}

/** The message that a wallet signs for a permit, as JSON of EIP-712. */
export function typedPermit(taker: Taker, permit: Signable): string {
  const typed = permitDataOf(permitOf(taker, permit))
  return JSON.stringify(typed, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
}
