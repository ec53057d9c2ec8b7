/**
 * The direction of money. `out`: the treasury sends it, or takes it without the payer's own single signature. `in`: an
 * authorization that its payer signed for one payment moves it.
 */
export type Way = 'in' | 'out'

/**
 * Permission to sign for money of one direction: the gate's beat at which the ledger was found sound, and the instant
 * of its last recorded restore. A signer compares the ledger with both again, in the transaction that stores the
 * signature.
 */
export type Leave = {
  readonly way: Way
  readonly beat: number | undefined
  /** Unix milliseconds; null without a recorded restore. */
  readonly restoredAt: number | null
}

/** Asks for permission. Undefined while nothing may be signed. */
export type AskForLeave = () => Promise<Leave | undefined>
