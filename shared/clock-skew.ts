import type { Cancel, Time } from './clock.ts'
import { MINUTE, SECOND } from './clock.ts'
import { AppError, describeCause } from './errors.ts'

/** How often a plane compares its clock with those of its servers. */
export const SKEW_CHECK_EVERY_MS = 10 * SECOND
/** An answer that took longer says too little about when it was made: half of this is the most that a reading is wrong. */
const MAX_ROUND_TRIP_MS = 500
/** A clock that is further off than this is told of in the log, once a minute. */
const SKEW_WARN_MS = 500
const WARN_EVERY_MS = MINUTE
/** A clock that is further off than this decides nothing: no sign-in, no start. */
const SKEW_REFUSE_MS = 30 * SECOND
const RETRY_SECONDS = 10

/** A clock of another machine. `read` answers with its Unix milliseconds, or rejects while it cannot be asked. */
export type OtherClock = { readonly name: string; read(): Promise<number> }

/** How far this process's wall clock is from others. */
export type ClockWatch = {
  /** This clock less the other, in milliseconds, by name; only those that have answered. */
  skews(): ReadonlyMap<string, number>
  /** Throws `service_unavailable` while this clock is further than 30 s from any that answered last. */
  requireTrusted(): void
  /** Asks every clock once. Never rejects: one that cannot be asked keeps its last reading. */
  check(): Promise<void>
  /** Asks them now and then from now on. */
  start(): void
  close(): void
}

type Log = {
  warn(facts: object, text: string): void
  debug(facts: object, text: string): void
}
type Parts = { readonly clock: Time; readonly log: Log; readonly others: readonly OtherClock[] }

/**
 * Compares the wall clock of this process with others: each is asked for its time, which is taken to be that of the
 * middle of the round trip.
 */
export function createClockWatch({ clock, log, others }: Parts): ClockWatch {
  const skews = new Map<string, number>()
  let warnedAt = Number.NEGATIVE_INFINITY
  let stop: Cancel | undefined

  async function compare({ name, read }: OtherClock): Promise<void> {
    const sentAt = clock.monotonic()
    let theirs: number
    try {
      theirs = await read()
    } catch (cause) {
      log.debug({ against: name, cause: describeCause(cause) }, 'a clock could not be asked')
      return
    }
    const tripMs = clock.monotonic() - sentAt
    if (tripMs > MAX_ROUND_TRIP_MS) return
    skews.set(name, clock.now() - tripMs / 2 - theirs)
  }

  async function check(): Promise<void> {
    await Promise.all(others.map(compare))
    const wrong = [...skews].filter(([, skewMs]) => Math.abs(skewMs) > SKEW_WARN_MS)
    if (wrong.length === 0 || clock.monotonic() - warnedAt < WARN_EVERY_MS) return
    warnedAt = clock.monotonic()
    const skewMs = Object.fromEntries(wrong.map(([name, ms]) => [name, Math.round(ms)]))
    log.warn({ skewMs }, 'the clock of this process is not that of its servers')
  }

  return {
    skews: () => skews,
    requireTrusted() {
      for (const [name, skewMs] of skews) if (Math.abs(skewMs) > SKEW_REFUSE_MS) throw refusal(name, skewMs)
    },
    check,
    start() {
      stop ??= clock.every(SKEW_CHECK_EVERY_MS, () => void check())
    },
    close() {
      stop?.()
      stop = undefined
    },
  }
}

function refusal(name: string, skewMs: number): AppError {
  const seconds = Math.round(skewMs / SECOND)
  const where = seconds > 0 ? `${seconds} s ahead of` : `${-seconds} s behind`
  return new AppError('service_unavailable', {
    message: `The clock of this server is ${where} that of ${name}: nothing that depends on the time is decided.`,
    detail: { limit_source: 'clock', limit_scope: 'platform', resets_at: null },
    retryAfterSeconds: RETRY_SECONDS,
  })
}

/** The answer of Redis' TIME, seconds and microseconds, as Unix milliseconds. */
export function readRedisTime([seconds, microseconds]: readonly (string | number)[]): number {
  return Number(seconds) * SECOND + Number(microseconds) / SECOND
}
