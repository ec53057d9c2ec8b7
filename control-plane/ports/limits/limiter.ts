/** Where a caller stands in one limit. */
export type LimitState = {
  readonly limit: number
  readonly remaining: number
  /** Unix milliseconds at which the window turns. */
  readonly resetsAt: number
  readonly isExceeded: boolean
}

/**
 * Counts one call against a fixed window of a minute. It guards against abuse, not money: when the counter is away the
 * call is let through.
 */
export type Limiter = (scope: string, limit: number) => Promise<LimitState>
