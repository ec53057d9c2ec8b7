import type { Hex } from 'viem'
import { decodeFunctionData, parseAbi } from 'viem'

/**
 * Calls of the upto proxy. Only these arguments of a transaction's data count, because a payer chooses what it signs.
 */
const UPTO = parseAbi([
  'struct Permitted { address token; uint256 amount; }',
  'struct Permit { Permitted permitted; uint256 nonce; uint256 deadline; }',
  'struct TokenPermit { uint256 value; uint256 deadline; bytes32 r; bytes32 s; uint8 v; }',
  'struct Witness { address to; address facilitator; uint256 validAfter; }',
  'function settle(Permit permit, uint256 amount, address owner, Witness witness, bytes signature)',
  'function settleWithPermit(TokenPermit tokenPermit, Permit permit, uint256 amount, address owner, Witness witness, bytes signature)',
])

/** The Permit2 authorization that a call of the upto proxy uses; undefined for other bytes. */
export function uptoPermitOf(input: Hex): { readonly owner: Hex; readonly nonce: bigint } | undefined {
  try {
    const { functionName, args } = decodeFunctionData({ abi: UPTO, data: input })
    const [{ nonce }, , owner] = functionName === 'settle' ? args : [args[1], args[2], args[3]]
    return { owner, nonce }
  } catch {
    return undefined
  }
}
