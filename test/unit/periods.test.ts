import { describe, expect, it } from 'vitest'
import { DAY_MS, everyBucket, lastSpan } from '#control-plane/dashboard/charts/every-bucket.ts'
import { readWindow, windowBefore } from '#control-plane/services/usage/usage-window.ts'
import { DAY, HOUR, lastUtcDays, periodStart } from '#shared/clock.ts'

const NOON = Date.parse('2026-11-29T12:34:56.789Z')
const time = (at: number) => new Date(at).toISOString()

describe('a period that ends now', () => {
  it('has today and the days before in UTC, or the running hour and the hours before', () => {
    expect(time(periodStart(NOON, 30 * DAY))).toBe('2026-10-31T00:00:00.000Z')
    expect(time(periodStart(NOON, 7 * DAY))).toBe('2026-11-23T00:00:00.000Z')
    expect(time(periodStart(NOON, DAY))).toBe('2026-11-28T13:00:00.000Z')
    expect(time(periodStart(NOON, HOUR))).toBe('2026-11-29T12:00:00.000Z')
    const midnight = Date.parse('2026-11-29T00:00:00.000Z')
    expect(time(periodStart(midnight, 30 * DAY))).toBe('2026-10-31T00:00:00.000Z')
    expect(time(periodStart(midnight - 1, 30 * DAY))).toBe('2026-10-30T00:00:00.000Z')
  })

  it('begins at the same time for buyers and for sellers', () => {
    for (const [period, days] of [
      ['7d', 7],
      ['30d', 30],
      ['90d', 90],
    ] as const) {
      expect(readWindow({ period }, NOON, '24h')).toEqual({ from: lastUtcDays(NOON, days).since, to: NOON + 1 })
    }
    expect(time(readWindow({ period: '24h' }, NOON, '30d').from)).toBe('2026-11-28T13:00:00.000Z')
    expect(readWindow({}, NOON, 'lifetime').from).toBe(0)
  })

  it('compares with the same part of the days before, and chosen times with as much time before', () => {
    const month = readWindow({ period: '30d' }, NOON, '24h')
    const before = windowBefore(month, '30d')
    expect([time(before.from), time(before.to - 1)]).toEqual(['2026-10-01T00:00:00.000Z', '2026-10-30T12:34:56.789Z'])
    const chosen = { from: NOON - 5 * HOUR, to: NOON - 2 * HOUR }
    expect(windowBefore(chosen, undefined)).toEqual({ from: NOON - 8 * HOUR, to: NOON - 5 * HOUR })
    expect(() => windowBefore(readWindow({}, NOON, 'lifetime'), 'lifetime')).toThrow('No period of this length')
  })

  it('has as many bars in a chart as it has days or hours', () => {
    for (const [days, interval, bars] of [
      [1, 'hour', 24],
      [7, 'day', 7],
      [30, 'day', 30],
      [90, 'day', 90],
    ] as const) {
      const span = lastSpan(days * DAY_MS)
      const rows = [{ bucket: span.from }]
      expect([interval, everyBucket(rows, interval, span).length]).toEqual([interval, bars])
    }
  })
})
