import { MINUTE, nextUtcDay, SECOND } from '#shared/clock.ts'

/** The longest that a world of real servers may need of one UTC day: a long file on a busy machine. */
const NEEDED_MS = 3 * MINUTE

/**
 * Resolves at once, or at the next 00:00 UTC when less than three minutes of the UTC day are left. Worlds of real
 * servers begin with it, because nobody can set the clocks of PostgreSQL and Redis: caps, uses and sums of "today"
 * would start anew while a test runs. A test of midnight itself has a clock of its own.
 */
export async function untilDayLasts(): Promise<void> {
  const ends = nextUtcDay(Date.now())
  if (ends - Date.now() > NEEDED_MS) return
  // A timer may fire before the clock of the day is there.
  for (let left = ends - Date.now(); left > 0; left = ends - Date.now()) {
    await new Promise((resolve) => setTimeout(resolve, Math.min(left, SECOND)))
  }
}
