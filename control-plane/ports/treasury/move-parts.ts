import type { HoldReason } from './hold-reason.ts'
import type { TreasuryChain } from './treasury-chain.ts'

/** The reader of the treasury's transfers; see plane.ts. It needs no signer. Addresses are in lower case. */
export type MoveParts = {
  readonly chainId: number
  readonly asset: string
  readonly assetName: string
  readonly assetVersion: string
  readonly treasury: string
  /** Blocks, its own included, after which a transfer counts as final. */
  readonly confirmations: number
  /** The first block to read; null for the next block. */
  readonly firstBlock: bigint | null
  /** Money from this address was swept there before, and is in the books. */
  readonly coldAddress: string | null
  readonly chain: TreasuryChain
  /** True for a former treasury, whose departures alone are read. */
  readonly isFormer: boolean
  readonly memory: MoveMemory
}

/** A process's memory of the transfers that it has read. */
export type MoveMemory = {
  /** The newest block and the cursor at which nothing was left to read. */
  seen: string | undefined
  /** The last log line about a held ledger, so that each reason is logged once. */
  loggedHold: string | undefined
  /** The last reason of a hold, and the hold. */
  hold: KeptHold | undefined
}

/**
 * Undefined when nothing holds the money any more, `endpoint` when the chain did not answer. `at` is monotonic
 * milliseconds.
 */
export type KeptHold = {
  readonly of: string
  readonly at: number
  readonly reason: Promise<HoldReason | 'endpoint' | undefined>
}

export function newMoveMemory(): MoveMemory {
  return { seen: undefined, loggedHold: undefined, hold: undefined }
}
