import type { Zone } from '#control-plane/dashboard/data/format.ts'
import { day } from '#control-plane/dashboard/data/format.ts'
import { HOUR_MS } from './every-bucket.ts'

/**
 * A day and its 24 hours. Null is an hour without data. Hours are summed from full hour to full hour of UTC, so in a
 * zone with an odd half hour each of them begins at `minute` past.
 */
export type HeatRow = { readonly day: string; readonly minute: number; readonly hours: readonly (number | null)[] }

type Hour = { readonly bucket: number; readonly value: number }
type Span = { readonly from: number; readonly now: number; readonly zone: Zone }

const HOURS_A_DAY = 24

/**
 * The hours of a span by the days of the reader's zone, the last day below. An hour of the span without a call is zero.
 * An hour before the span, or one that has not begun, is null.
 */
export function heatRowsOf(hours: readonly Hour[], { from, now, zone }: Span): readonly HeatRow[] {
  const sums = new Map<number, number>()
  for (const { bucket, value } of hours) sums.set(bucket, (sums.get(bucket) ?? 0) + value)
  const rows = new Map<string, { readonly minute: number; readonly hours: (number | null)[] }>()
  for (let bucket = Math.floor(from / HOUR_MS) * HOUR_MS; bucket <= now; bucket += HOUR_MS) {
    const name = day(bucket, zone)
    const date = new Date(bucket)
    const [hour, minute] = zone === 'utc' ? [date.getUTCHours(), 0] : [date.getHours(), date.getMinutes()]
    const row = rows.get(name) ?? { minute, hours: Array.from({ length: HOURS_A_DAY }, () => null) }
    // Where clocks go back, an hour of the day is there twice.
    row.hours[hour] = (row.hours[hour] ?? 0) + (sums.get(bucket) ?? 0)
    rows.set(name, row)
  }
  return [...rows].map(([name, row]) => ({ day: name, ...row }))
}
