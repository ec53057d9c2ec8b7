/** Failures of an attempt before any content. */
export const FAILURES = ['refused', 'server_error', 'overloaded', 'rate_limited', 'cut', 'empty', 'malformed'] as const
export type Failure = (typeof FAILURES)[number]

/** The course of one call. It is drawn before the call begins. */
export type CallPlan = {
  readonly buyer: number
  readonly isStreamed: boolean
  /**
   * Offers that the buyer names, in the order in which they are to be tried. An empty list leaves the choice to the
   * market.
   */
  readonly offers: readonly number[]
  /** Failures of the first attempts. The attempt after them answers. */
  readonly failures: readonly Failure[]
  readonly inputTokens: number
  readonly maxOutputTokens: number | undefined
  /** Tokens of each piece of content, and the milliseconds between two pieces. */
  readonly pieces: readonly number[]
  readonly paceMs: number
  /**
   * `cut`: the provider's connection breaks after the last piece. `cancelled`: the buyer leaves after the first one.
   */
  readonly ending: 'done' | 'cut' | 'cancelled'
  /** Milliseconds for which the buyer lets the stream wait after its first bytes; 0 for one who reads at once. */
  readonly stallMs: number
}
