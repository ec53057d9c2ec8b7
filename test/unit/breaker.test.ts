import { describe, expect, it } from 'vitest'
import type { Failure } from '#data-plane/store/breaker.ts'
import { blockedUntil, newBreaker, takeFailure } from '#data-plane/store/breaker.ts'

const failure = (errorClass: Failure['errorClass'], retryAfterMs?: number): Failure => ({
  errorClass,
  status: 500,
  retryAfterMs,
  detail: '',
})

describe('the breaker of an offer', () => {
  it('backs off after five failures in a row', () => {
    const breaker = newBreaker(0)
    for (let count = 0; count < 4; count++) expect(takeFailure(breaker, failure('server_error'), count)).toBe(false)
    expect(blockedUntil(breaker, 4)).toBe(0)
    expect(takeFailure(breaker, failure('server_error'), 5)).toBe(true)
    expect(blockedUntil(breaker, 5)).toBe(30_005)
  })

  it.each(['credential_rejected', 'not_found', 'rate_limited'] as const)('backs off at once on %s', (errorClass) => {
    const breaker = newBreaker(0)
    expect(takeFailure(breaker, failure(errorClass), 0)).toBe(true)
  })

  it('waits as long as the provider asks, at most ten minutes', () => {
    const breaker = newBreaker(0)
    takeFailure(breaker, failure('rate_limited', 7_000), 0)
    expect(blockedUntil(breaker, 0)).toBe(7_000)
    takeFailure(breaker, failure('rate_limited', 99_000_000), 7_000)
    expect(blockedUntil(breaker, 7_000)).toBe(607_000)
  })

  it.each(['account_rejected', 'quota_exhausted', 'region_rejected', 'access_rejected'] as const)(
    'backs off at once for the longest time on %s, whatever a hint about a rate says',
    (errorClass) => {
      const breaker = newBreaker(0)
      expect(takeFailure(breaker, failure(errorClass, 1_000), 0)).toBe(true)
      expect(blockedUntil(breaker, 0)).toBe(600_000)
    },
  )

  it('doubles the back-off each time in a row, also after a single failed probe', () => {
    const breaker = newBreaker(0)
    takeFailure(breaker, failure('not_found'), 0)
    expect(takeFailure(breaker, failure('timeout'), 30_000)).toBe(true)
    expect(blockedUntil(breaker, 30_000)).toBe(90_000)
    for (let at = 90_000, count = 3; count < 40; count++) {
      takeFailure(breaker, failure('timeout'), at)
      at = blockedUntil(breaker, at)
    }
    expect((breaker.backedOffUntil ?? 0) - 600_000).toBeGreaterThan(0)
  })

  it('ignores failures of calls that began before the back-off', () => {
    const breaker = newBreaker(0)
    takeFailure(breaker, failure('not_found'), 0)
    expect(takeFailure(breaker, failure('not_found'), 1_000)).toBe(false)
    expect(blockedUntil(breaker, 1_000)).toBe(30_000)
  })

  it('admits one probe when the back-off ends', () => {
    const breaker = newBreaker(0)
    takeFailure(breaker, failure('not_found'), 0)
    expect(blockedUntil(breaker, 30_000)).toBe(0)
    breaker.probingUntil = 90_000
    expect(blockedUntil(breaker, 30_001)).toBe(90_000)
    expect(blockedUntil(breaker, 90_000)).toBe(0)
  })

  it('backs off when half of the calls in a busy half minute failed', () => {
    const breaker = newBreaker(0)
    let isBackedOff = false
    for (let call = 0; call < 20 && !isBackedOff; call++) {
      if (call % 2 === 0) {
        breaker.consecutiveFailures = 0
        breaker.windowCalls++
      } else isBackedOff = takeFailure(breaker, failure('server_error'), call)
    }
    expect(isBackedOff).toBe(true)
  })
})
