/** A caller's position in one limit. */
export type LimitState = {
  readonly limit: number
  readonly remaining: number
  /** Unix milliseconds at which the window ends. */
  readonly resetsAt: number
  readonly isExceeded: boolean
}

/**
 * Counts one call in a fixed window of a minute. It protects against abuse, not against loss of money: without the
 * counter the call passes.
 */
export type Limiter = (scope: string, limit: number) => Promise<LimitState>
