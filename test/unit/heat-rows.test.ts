import { expect, it } from 'vitest'
import { heatRowsOf } from '#control-plane/dashboard/charts/heat-rows.ts'

const HOUR_MS = 3_600_000
const now = Date.UTC(2026, 10, 25, 9, 30)
const at = (day: number, hour: number) => Date.UTC(2026, 10, day, hour)

it('hours of the period are zero without calls; hours before it and after now are null', () => {
  const hours = [
    { bucket: at(24, 9), value: 5 },
    { bucket: at(25, 0), value: 2 },
    { bucket: at(25, 0), value: 3 },
    { bucket: at(23, 0), value: 99 },
  ]
  const rows = heatRowsOf(hours, { from: now - 24 * HOUR_MS, now, zone: 'utc' })
  expect(rows.map(({ day }) => day)).toEqual(['24 Nov', '25 Nov'])
  const [before, today] = rows
  expect(before?.hours).toEqual([...Array(9).fill(null), 5, ...Array(14).fill(0)])
  expect(today?.hours).toEqual([5, ...Array(9).fill(0), ...Array(14).fill(null)])
})

it.each([
  [7, 8],
  [30, 31],
] as const)('a period of %d days covers %d rows', (length, days) => {
  const rows = heatRowsOf([], { from: now - length * 24 * HOUR_MS, now, zone: 'utc' })
  expect(rows).toHaveLength(days)
  expect(rows.flatMap(({ hours }) => hours).filter((value) => value !== null)).toHaveLength((days - 1) * 24 + 1)
})

it('days and hours are those of the reader’s zone', () => {
  const hours = [{ bucket: at(25, 8), value: 7 }]
  const rows = heatRowsOf(hours, { from: now - 24 * HOUR_MS, now, zone: 'local' })
  expect(rows.flatMap(({ hours: values }) => values[new Date(at(25, 8)).getHours()] ?? [])).toContain(7)
})

it('hours begin at the offset of the zone, also where the offset has minutes', () => {
  const { TZ } = process.env
  process.env['TZ'] = 'Asia/Kolkata'
  try {
    const hours = [{ bucket: at(25, 8), value: 7 }]
    const [row] = heatRowsOf(hours, { from: at(25, 8), now: at(25, 8), zone: 'local' })
    expect(row?.minute).toBe(30)
    expect(row?.hours[13]).toBe(7)
  } finally {
    if (TZ === undefined) delete process.env['TZ']
    else process.env['TZ'] = TZ
  }
})
