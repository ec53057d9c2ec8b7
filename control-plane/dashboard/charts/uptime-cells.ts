import type { Zone } from '#control-plane/dashboard/data/format.ts'
import { day, hour } from '#control-plane/dashboard/data/format.ts'
import { DAY_MS, HOUR_MS } from './every-bucket.ts'

const DAY_HOURS = 24

/** A bar of a strip. `base` is the number of calls or attempts that the share is of. */
export type UptimeCell = { readonly name: string; readonly uptimePct: number | null; readonly base: number }

/** A point of a series of the market. All points of a series are equally long. */
export type UptimePoint = {
  readonly bucket: number
  readonly hours: number
  readonly uptimePct: number | null
  readonly uptimeBase: number
}

/** The cells of the 24 hours that end with the running hour. A cell without a point had no calls. */
export function uptimeCells(points: readonly UptimePoint[], now: number, zone: Zone): readonly UptimeCell[] {
  const hours = points[0]?.hours ?? 1
  const end = (Math.floor(now / HOUR_MS) + 1) * HOUR_MS
  const cells = Math.ceil(DAY_HOURS / hours)
  return Array.from({ length: cells }, (_, at) => {
    const bucket = end - (cells - at) * hours * HOUR_MS
    const point = points.find((one) => one.bucket === bucket)
    const until = bucket + hours * HOUR_MS
    const text = `${day(bucket, zone)}, ${hour(bucket, zone)} to ${hour(until, zone)}`
    return { name: text, uptimePct: point?.uptimePct ?? null, base: point?.uptimeBase ?? 0 }
  })
}

/** The ends of the strip of {@link uptimeCells}. */
export function endsOfDay(now: number, zone: Zone): readonly [string, string] {
  const end = (Math.floor(now / HOUR_MS) + 1) * HOUR_MS
  return [`${hour(end - DAY_MS, zone)}${zone === 'utc' ? ' UTC' : ''}`, 'Now']
}

/** The cells of the last days, of which the last is today in UTC. The points are those of days. */
export function uptimeDays(points: readonly UptimePoint[], now: number, days: number): readonly UptimeCell[] {
  const ofDay = new Map(points.map((point) => [point.bucket, point]))
  const today = Math.floor(now / DAY_MS) * DAY_MS
  return Array.from({ length: days }, (_, at) => {
    const bucket = today - (days - 1 - at) * DAY_MS
    const point = ofDay.get(bucket)
    return { name: `${day(bucket, 'utc')} UTC`, uptimePct: point?.uptimePct ?? null, base: point?.uptimeBase ?? 0 }
  })
}
