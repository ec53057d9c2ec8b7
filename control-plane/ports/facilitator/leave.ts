/**
 * Where money goes. `out`: the treasury lets it go, or takes what nobody signed for by itself. `in`: an authorization that
 * its payer signed once brings it.
 */
export type Way = 'in' | 'out'

/**
 * Leave to sign for money of one way: the beat of the gate before which the ledger was found well, and the instant at which
 * its last step back was recorded. A signer compares the ledger with both once more, in the transaction that stores the
 * signature.
 */
export type Leave = {
  readonly way: Way
  readonly beat: number | undefined
  /** Unix milliseconds; null where none was recorded. */
  readonly restoredAt: number | null
}

/** Asks for leave. Undefined while nothing may be signed. */
export type AskForLeave = () => Promise<Leave | undefined>
