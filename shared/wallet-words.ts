import { decodeAbiParameters } from 'viem/utils'
import { z } from 'zod'

// The fields of a signed payment. A value that the chain's own encoding cannot hold is refused before any request about
// it.

const END_OF_NUMBERS = 2n ** 256n
/** The end of a signature of a contract wallet that is not deployed yet (ERC-6492). */
const NOT_DEPLOYED = '6492'.repeat(16)
/** The factory of that wallet, the call that deploys it, and the wallet's own signature. */
const DEPLOYMENT = [{ type: 'address' }, { type: 'bytes' }, { type: 'bytes' }] as const

/** A number of 256 bits in digits. */
export const Uint256 = z
  .string()
  .regex(/^\d{1,78}$/, { abort: true })
  .refine((digits) => BigInt(digits) < END_OF_NUMBERS)

/** A signature in whole bytes of hex, at most 4 KB. A signature that claims to hold a deployment must hold one. */
export const WalletSignature = z
  .string()
  .regex(/^0x(?:[0-9a-fA-F]{2}){1,4096}$/, { abort: true })
  .refine((signature) => !isOfNoContractYet(signature) || hasDeployment(signature))

/** True for a signature that claims that its wallet is not deployed yet. */
export function isOfNoContractYet(signature: string): boolean {
  return signature.toLowerCase().endsWith(NOT_DEPLOYED)
}

function hasDeployment(signature: string): boolean {
  try {
    decodeAbiParameters(DEPLOYMENT, `0x${signature.slice(2, -NOT_DEPLOYED.length)}`)
    return true
  } catch {
    return false
  }
}
