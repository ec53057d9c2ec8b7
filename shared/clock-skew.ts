import type { Cancel, Time } from './clock.ts'
import { MINUTE, SECOND } from './clock.ts'
import { AppError, describeCause } from './errors.ts'

/** Interval at which a plane compares its clock with those of its servers. */
export const SKEW_CHECK_EVERY_MS = 10 * SECOND
/** A slower answer is dropped. A reading can be wrong by half of the round trip. */
const MAX_ROUND_TRIP_MS = 500
/** Beyond this difference a warning is logged, once a minute. */
const SKEW_WARN_MS = 500
const WARN_EVERY_MS = MINUTE
/** Beyond this difference the clock is not trusted: no user signs in and no plane starts. */
const SKEW_REFUSE_MS = 30 * SECOND
const RETRY_SECONDS = 10

/** A clock of another machine. `read` resolves to its Unix milliseconds and rejects while it is out of reach. */
export type OtherClock = { readonly name: string; read(): Promise<number> }

/** Measures this process's wall clock against others. */
export type ClockWatch = {
  /** This clock minus the other, in milliseconds, by name. Clocks that never answered are missing. */
  skews(): ReadonlyMap<string, number>
  /** Throws `service_unavailable` while this clock is more than 30 s from the last reading of any other. */
  requireTrusted(): void
  /** Reads every clock once. It never rejects. A clock without an answer keeps its last reading. */
  check(): Promise<void>
  /** Starts reading all clocks at regular intervals. */
  start(): void
  close(): void
}

type Log = {
  warn(facts: object, text: string): void
  debug(facts: object, text: string): void
}
type Parts = { readonly clock: Time; readonly log: Log; readonly others: readonly OtherClock[] }

/** Compares the wall clock of this process with others. A reading is taken to be from the middle of its round trip. */
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
    log.warn({ skewMs }, 'the clock of this process differs from those of its servers')
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

/** Converts the answer of Redis' TIME (seconds and microseconds) to Unix milliseconds. */
export function readRedisTime([seconds, microseconds]: readonly (string | number)[]): number {
  return Number(seconds) * SECOND + Number(microseconds) / SECOND
}
