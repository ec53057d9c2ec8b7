/** Failures of an attempt before the first content. */
export const FAILURES = ['refused', 'server_error', 'overloaded', 'rate_limited', 'cut', 'empty', 'malformed'] as const
export type Failure = (typeof FAILURES)[number]

/** The course of one call, drawn before the call begins. */
export type CallPlan = {
  readonly buyer: number
  readonly isStreamed: boolean
  /** Offers that the buyer names, in the order of the attempts. With an empty list, the market chooses. */
  readonly offers: readonly number[]
  /** Failures of the first attempts. The next attempt answers. */
  readonly failures: readonly Failure[]
  readonly inputTokens: number
  readonly maxOutputTokens: number | undefined
  /** The tokens of each piece of content, and the milliseconds between two pieces. */
  readonly pieces: readonly number[]
  readonly paceMs: number
  /**
   * `cut`: the provider's connection breaks after the last piece. `cancelled`: the buyer disconnects after the first
   * piece.
   */
  readonly ending: 'done' | 'cut' | 'cancelled'
  /**
   * Milliseconds for which the buyer stops reading the stream after the first bytes. 0 for a buyer who reads at once.
   */
  readonly stallMs: number
}
