import { expect, it } from 'vitest'
import type { LoggedLine } from '#control-plane/dashboard/seller/health-spells.ts'
import { foldHealth } from '#control-plane/dashboard/seller/health-spells.ts'

const MINUTE = 60_000

/** A line of the log some minutes after the beginning. */
const line = (minute: number, actionTaken: string, given: Partial<LoggedLine> = {}): LoggedLine => ({
  id: `hlt_${minute}_${actionTaken}_${given.offerId ?? 'a'}`,
  timestamp: minute * MINUTE,
  offerId: 'a',
  model: 'gpt-test',
  errorCategory: actionTaken === 'recovered' ? null : 'overloaded',
  errorDetail: actionTaken === 'recovered' ? '' : 'busy',
  statusCode: actionTaken === 'recovered' ? null : 503,
  actionTaken,
  backedOffUntil: null,
  ...given,
})

it('an outage is one row: its failures, its pauses and its recovery', () => {
  const lines = [
    line(5, 'recovered'),
    line(2, 'backed_off', { backedOffUntil: 4 * MINUTE }),
    line(1, 'counted'),
    line(0, 'counted'),
  ]
  expect(foldHealth(lines)).toEqual([
    expect.objectContaining({
      event: 'outage',
      startedAt: 0,
      endedAt: 5 * MINUTE,
      pausedUntil: null,
      failures: 3,
      pauses: 1,
      cause: 'overloaded',
      message: '503 busy',
    }),
  ])
})

it('an outage that goes on keeps the end of its longest pause', () => {
  const [spell] = foldHealth([
    line(3, 'backed_off', { backedOffUntil: 9 * MINUTE }),
    line(2, 'backed_off', { backedOffUntil: 12 * MINUTE }),
  ])
  expect(spell).toMatchObject({ endedAt: null, pausedUntil: 12 * MINUTE, pauses: 2 })
})

it('outages of two offers, and outages far apart, are rows of their own, the newest first', () => {
  const lines = [line(30, 'counted'), line(1, 'counted', { offerId: 'b' }), line(0, 'counted')]
  expect(foldHealth(lines).map(({ offerId, startedAt }) => [offerId, startedAt])).toEqual([
    ['a', 30 * MINUTE],
    ['b', MINUTE],
    ['a', 0],
  ])
  // A failure after the recovery begins another outage.
  expect(foldHealth([line(2, 'counted'), line(1, 'recovered'), line(0, 'backed_off')])).toHaveLength(2)
})

it('a failure within a long pause belongs to the outage', () => {
  const lines = [line(40, 'backed_off'), line(0, 'backed_off', { backedOffUntil: 35 * MINUTE })]
  expect(foldHealth(lines)).toHaveLength(1)
})

it('other events stay rows of their own, and so does a recovery whose failures are on another page', () => {
  const lines = [line(3, 'flagged'), line(2, 'recovered'), line(1, 'credential_rotated')]
  expect(foldHealth(lines).map(({ event }) => event)).toEqual(['flagged', 'recovered', 'credential_rotated'])
})
