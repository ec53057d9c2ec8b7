/** The one source of time of a plane; tests hand in their own. Wall times are Unix milliseconds. */
export type Clock = {
  /** Unix milliseconds. */
  now(): number
  /** Milliseconds that only ever rise, for durations. */
  monotonic(): number
}

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() }

/** The UTC day of an instant as `2026-11-21`: the unit of daily caps. */
export function utcDay(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}

/** The UTC month of an instant as `2026-11`. */
export function utcMonth(at: number): string {
  return new Date(at).toISOString().slice(0, 7)
}

/** The next 00:00 UTC after an instant, in Unix milliseconds. */
export function nextUtcDay(at: number): number {
  return (Math.floor(at / DAY) + 1) * DAY
}

/** The first instant of the next UTC month, in Unix milliseconds. */
export function nextUtcMonth(at: number): number {
  const date = new Date(at)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
}
