import type { Hex } from 'viem'
import { parseAbi } from 'viem'

/** Multicall3 has the same address on every chain. */
export const MULTICALL: Hex = '0xcA11bde05977b3631167028862bE2a173976CA11'

export const MULTICALL_ABI = parseAbi([
  'struct Call { address target; bool allowFailure; bytes callData; }',
  'struct Result { bool success; bytes returnData; }',
  'function aggregate3(Call[] calls) payable returns (Result[] results)',
])

/** The arguments of one call that bundles several, each of which may fail alone. */
export function manyCalls(target: Hex, calls: readonly Hex[]) {
  return [calls.map((callData) => ({ target, allowFailure: true, callData }))] as const
}
