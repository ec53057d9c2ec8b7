import { MINUTE, SECOND } from '#shared/clock.ts'
import type { ErrorClass, HealthRecord } from '#shared/contract/health-event.ts'

/** An offer is backed off after this many failures in a row. */
const CONSECUTIVE_LIMIT = 5
/**
 * An offer is also backed off when this share of its calls in a window failed, and the window holds at least this many
 * calls.
 */
const WINDOW_MS = 30 * SECOND
const WINDOW_MIN_CALLS = 20
const WINDOW_FAILED_SHARE = 0.5
const BACK_OFF_STEP_MS = 30 * SECOND
const MAX_BACK_OFF_MS = 10 * MINUTE
/** These classes back an offer off at the first failure, because the next call would end the same way. */
const AT_ONCE: ReadonlySet<ErrorClass> = new Set([
  'credential_rejected',
  'account_rejected',
  'quota_exhausted',
  'region_rejected',
  'access_rejected',
  'not_found',
  'rate_limited',
])
/** These classes last until a person acts, or a day is over. Their first back-off is the longest one. */
const LASTING: ReadonlySet<ErrorClass> = new Set([
  'account_rejected',
  'quota_exhausted',
  'region_rejected',
  'access_rejected',
])

/**
 * The failures of one offer: the record that processes share, and this process's own counts. Times are Unix
 * milliseconds.
 */
export type Breaker = {
  -readonly [Field in keyof HealthRecord]: HealthRecord[Field]
} & {
  /** A backed-off offer is tried by one request. Until then no other request tries it. */
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

/** Returns 0 when the offer may be tried now, otherwise the Unix milliseconds from which it may be. */
export function blockedUntil(breaker: Breaker, now: number): number {
  if (breaker.backedOffUntil === null) return 0
  if (breaker.backedOffUntil > now) return breaker.backedOffUntil
  return breaker.probingUntil > now ? breaker.probingUntil : 0
}

/** Counts a failure. Returns true when it backs the offer off. */
export function takeFailure(breaker: Breaker, failure: Failure, now: number): boolean {
  countFailure(breaker, now)
  breaker.errorClass = failure.errorClass
  const wasBackedOff = breaker.backedOffUntil !== null
  // Calls that began before the back-off may fail late. They do not lengthen it.
  if (breaker.backedOffUntil !== null && breaker.backedOffUntil > now) return false
  if (!wasBackedOff && !isDue(breaker, failure.errorClass)) return false
  breaker.ejections++
  breaker.backedOffUntil = now + backOffMs(breaker, failure)
  breaker.probingUntil = 0
  return true
}

function backOffMs({ ejections }: Breaker, { errorClass, retryAfterMs }: Failure): number {
  // A provider's hint concerns a rate. An empty account is still empty a second later.
  if (LASTING.has(errorClass)) return MAX_BACK_OFF_MS
  return Math.min(retryAfterMs ?? BACK_OFF_STEP_MS * ejections, MAX_BACK_OFF_MS)
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
