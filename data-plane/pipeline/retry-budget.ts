/** Each call adds this to the budget. So in a steady state further attempts are at most a fifth of the calls. */
const RETRIES_PER_CALL = 0.2
/** The most that is saved. It covers one provider's death under load and is too little for a storm of retries. */
const MOST_SAVED = 100
/** A quiet market regains its savings at this rate. */
const REGAINED_PER_SECOND = 1
const SECOND_MS = 1_000

/**
 * Keeps failover from tripling the load of a market in trouble: a token bucket over all calls of the process. Only an
 * attempt that reached a provider spends from it for the next one, because any other added no load.
 */
export type RetryBudget = {
  callBegins(): void
  /** True when another attempt may begin. Its share is then taken from the budget. */
  spend(): boolean
}

/** A full budget over a clock of monotonic milliseconds. */
export function createRetryBudget(monotonic: () => number): RetryBudget {
  let savedTries = MOST_SAVED
  let regainedAt = monotonic()
  return {
    callBegins() {
      if (savedTries < MOST_SAVED) savedTries = Math.min(MOST_SAVED, savedTries + RETRIES_PER_CALL)
    },
    spend() {
      const now = monotonic()
      savedTries = Math.min(MOST_SAVED, savedTries + ((now - regainedAt) / SECOND_MS) * REGAINED_PER_SECOND)
      regainedAt = now
      if (savedTries < 1) return false
      savedTries--
      return true
    },
  }
}
