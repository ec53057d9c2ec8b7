import { MINUTE, SECOND } from '#shared/clock.ts'
import type { ErrorClass, HealthRecord } from '#shared/contract/health-event.ts'

/** Failures in a row that back an offer off. */
const CONSECUTIVE_LIMIT = 5
/** Or this share of at least so many calls in a window. */
const WINDOW_MS = 30 * SECOND
const WINDOW_MIN_CALLS = 20
const WINDOW_FAILED_SHARE = 0.5
const BACK_OFF_STEP_MS = 30 * SECOND
const MAX_BACK_OFF_MS = 10 * MINUTE
/** Classes that back off at the first failure: the next call would end the same way. */
const AT_ONCE: ReadonlySet<ErrorClass> = new Set(['credential_rejected', 'not_found', 'rate_limited'])

/** What one offer has against it: the shared record, and this process's own counts. Times are Unix milliseconds. */
export type Breaker = {
  -readonly [Field in keyof HealthRecord]: HealthRecord[Field]
} & {
  /** Until when the one request that tries a backed-off offer is waited for. */
  probingUntil: number
  windowStartedAt: number
  windowCalls: number
  windowFailures: number
}

export type Failure = {
  readonly errorClass: ErrorClass
  readonly status: number
  readonly retryAfterMs: number | undefined
  readonly detail: string
}

export function newBreaker(now: number): Breaker {
  return {
    consecutiveFailures: 0,
    ejections: 0,
    backedOffUntil: null,
    errorClass: null,
    probingUntil: 0,
    windowStartedAt: now,
    windowCalls: 0,
    windowFailures: 0,
  }
}

/** 0 when the offer may be tried now, else when it may be. */
export function blockedUntil(breaker: Breaker, now: number): number {
  if (breaker.backedOffUntil === null) return 0
  if (breaker.backedOffUntil > now) return breaker.backedOffUntil
  return breaker.probingUntil > now ? breaker.probingUntil : 0
}

/** Takes a failure in; true when the offer is backed off by it. */
export function takeFailure(breaker: Breaker, failure: Failure, now: number): boolean {
  countFailure(breaker, now)
  breaker.errorClass = failure.errorClass
  const wasBackedOff = breaker.backedOffUntil !== null
  // Late failures of calls that began before the back-off do not lengthen it.
  if (breaker.backedOffUntil !== null && breaker.backedOffUntil > now) return false
  if (!wasBackedOff && !isDue(breaker, failure.errorClass)) return false
  breaker.ejections++
  const ownMs = Math.min(BACK_OFF_STEP_MS * breaker.ejections, MAX_BACK_OFF_MS)
  breaker.backedOffUntil = now + Math.min(failure.retryAfterMs ?? ownMs, MAX_BACK_OFF_MS)
  breaker.probingUntil = 0
  return true
}

function countFailure(breaker: Breaker, now: number): void {
  if (now - breaker.windowStartedAt > WINDOW_MS) {
    breaker.windowStartedAt = now
    breaker.windowCalls = 0
    breaker.windowFailures = 0
  }
  breaker.consecutiveFailures++
  breaker.windowCalls++
  breaker.windowFailures++
}

function isDue(breaker: Breaker, errorClass: ErrorClass): boolean {
  if (AT_ONCE.has(errorClass) || breaker.consecutiveFailures >= CONSECUTIVE_LIMIT) return true
  const { windowCalls, windowFailures } = breaker
  return windowCalls >= WINDOW_MIN_CALLS && windowFailures >= windowCalls * WINDOW_FAILED_SHARE
}
