/** What each call adds to the budget: in a steady state second attempts are a fifth of the calls at the most. */
const RETRIES_PER_CALL = 0.2
/** The most that is saved up: enough for one provider's death under load, too little to keep a storm going. */
const MOST_SAVED = 100
/** A market at rest regains its savings at this pace. */
const REGAINED_PER_SECOND = 1
const SECOND_MS = 1_000

/**
 * Keeps failover from turning a market's bad minutes into three times its load (a token bucket over all calls of the
 * process). It is asked only where the failed attempt did reach a provider: one that nobody received added no load.
 */
export type RetryBudget = {
  callBegins(): void
  /** True when another attempt may begin; it is then paid for. */
  spend(): boolean
}

/** A full budget over a clock of monotonic milliseconds. */
export function createRetryBudget(monotonic: () => number): RetryBudget {
  let saved = MOST_SAVED
  let regainedAt = monotonic()
  return {
    callBegins() {
      if (saved < MOST_SAVED) saved = Math.min(MOST_SAVED, saved + RETRIES_PER_CALL)
    },
    spend() {
      const now = monotonic()
      saved = Math.min(MOST_SAVED, saved + ((now - regainedAt) / SECOND_MS) * REGAINED_PER_SECOND)
      regainedAt = now
      if (saved < 1) return false
      saved--
      return true
    },
  }
}
