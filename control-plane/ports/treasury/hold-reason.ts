/**
 * The event that ends a hold. `journals`: the nodes register again what they captured. `chain`: the blocks are read in
 * which what was signed before may still leave, and they leave the balance that the chain says. `transfers`: each transfer
 * of these blocks is in the books. `treasury`: a treasury of before cannot be read here, and an operator has to answer for it.
 */
export const HOLD_WAITS = ['journals', 'chain', 'transfers', 'treasury'] as const
export type HoldWait = (typeof HOLD_WAITS)[number]

/** The event that ends a hold, with the treasury that it concerns. */
export type HoldReason = {
  readonly wait: HoldWait
  /** The treasury whose blocks or transfers are awaited. */
  readonly treasury: string | null
  /** The last block of it that was read and proven. */
  readonly block: bigint | null
  /** The instant past which its blocks have to be read, in Unix milliseconds. */
  readonly until: number | null
  /** Transactions, or ids of transfers, that are not in the books as what they are. */
  readonly open: readonly string[]
}
