import { setTimeout as wait } from 'node:timers/promises'

/** The time of a plane. Tests bring their own. */
export type Clock = {
  /** Unix milliseconds. */
  now(): number
  /** Milliseconds that never fall. Use them for durations. */
  monotonic(): number
}

/** Cancels a planned run. It does nothing after the run. */
export type Cancel = () => void

/** Runs functions later. A timer keeps no process alive, except a sleep that is awaited. */
export type Timers = {
  /** Runs once after this many milliseconds. */
  after(ms: number, run: () => void): Cancel
  /** Runs at an interval in milliseconds until it is cancelled. */
  every(ms: number, run: () => void): Cancel
  /** Runs at the end of this turn of the event loop, so that the work of one turn can be collected. */
  soon(run: () => void): void
  /** Resolves after this many milliseconds, or as soon as the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** The time and the timers of a plane. */
export type Time = Clock & Timers

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

export const systemClock: Time = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms).unref()
    return () => clearTimeout(timer)
  },
  every(ms, run) {
    const timer = setInterval(run, ms).unref()
    return () => clearInterval(timer)
  },
  soon: (run) => void setImmediate(run),
  sleep: (ms, signal) => wait(ms, undefined, signal && { signal }).catch(() => undefined),
}

/** The UTC day of an instant as `2026-11-21`: the unit of daily caps. */
export function utcDay(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}

/** The newest `count` UTC days with today, oldest first, and the Unix milliseconds at which the first begins. */
export function lastUtcDays(now: number, count: number): { readonly since: number; readonly days: readonly string[] } {
  const since = (Math.floor(now / DAY) - count + 1) * DAY
  return { since, days: Array.from({ length: count }, (_, at) => utcDay(since + at * DAY)) }
}

/**
 * The beginning of the period of this length that ends now, in Unix milliseconds. A period of at most a day has whole
 * hours, the running one included. A longer one has UTC days, today included: 30 days are today and the 29 days before.
 */
export function periodStart(now: number, lengthMs: number): number {
  const stepMs = lengthMs <= DAY ? HOUR : DAY
  return (Math.floor(now / stepMs) + 1) * stepMs - lengthMs
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

/** Rounds milliseconds to the microsecond. Further digits are noise. */
export function toMicrosecond(ms: number): number {
  return Math.round(ms * 1_000) / 1_000
}
