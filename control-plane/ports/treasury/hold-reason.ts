/**
 * The event that ends a hold. `journals`: the nodes register their captures again. `chain`: the blocks are read in
 * which older signatures may still leave, and their transfers sum to the balance on the chain. `transfers`: each
 * transfer of these blocks is in the books. `treasury`: a former treasury cannot be read here, and an operator has to
 * close it.
 */
export const HOLD_WAITS = ['journals', 'chain', 'transfers', 'treasury'] as const
export type HoldWait = (typeof HOLD_WAITS)[number]

/** The event that ends a hold, with the treasury that it concerns. */
export type HoldReason = {
  readonly wait: HoldWait
  /** The treasury whose blocks or transfers are due. */
  readonly treasury: string | null
  /** The last block of the chain that was read and confirmed. */
  readonly block: bigint | null
  /** The instant up to which its blocks must be read, in Unix milliseconds. */
  readonly until: number | null
  /** Transactions, or ids of transfers, that the books lack or have under another meaning. */
  readonly open: readonly string[]
}
