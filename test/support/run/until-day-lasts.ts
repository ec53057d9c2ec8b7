import { MINUTE, nextUtcDay, SECOND } from '#shared/clock.ts'

/** The longest part of a UTC day that tests with real servers may need: a long file on a busy machine. */
const NEEDED_MS = 3 * MINUTE

/**
 * Resolves at once, or at the next 00:00 UTC when less than three minutes of the UTC day are left. Tests with real
 * servers begin with it, because the clocks of PostgreSQL and Redis cannot be set: caps, uses and sums of "today" would
 * restart during a test. A test of midnight itself has a clock of its own.
 */
export async function untilDayLasts(): Promise<void> {
  const ends = nextUtcDay(Date.now())
  if (ends - Date.now() > NEEDED_MS) return
  // A timer may fire before the clock has reached the new day.
  for (let left = ends - Date.now(); left > 0; left = ends - Date.now()) {
    await new Promise((resolve) => setTimeout(resolve, Math.min(left, SECOND)))
  }
}
