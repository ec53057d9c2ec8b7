/** Second and third attempts of a process, as a share of its running calls. */
const RETRY_SHARE = 0.2
/** So many may always run at once. */
const LEAST_RETRIES = 3

/** Keeps failover from turning a market's bad minute into three times its load. */
export type RetryBudget = {
  callBegins(): void
  callEnds(): void
  /** True when another attempt may begin; `retryEnds` must follow then. */
  retryBegins(): boolean
  retryEnds(): void
}

export function createRetryBudget(): RetryBudget {
  let calls = 0
  let retries = 0
  return {
    callBegins: () => {
      calls++
    },
    callEnds: () => {
      calls--
    },
    retryBegins() {
      if (retries >= Math.max(LEAST_RETRIES, calls * RETRY_SHARE)) return false
      retries++
      return true
    },
    retryEnds: () => {
      retries--
    },
  }
}
