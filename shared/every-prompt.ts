import type { Cancel, Time } from './clock.ts'

/** The interval of a timer, and the time between two runs from which the later one is late, in milliseconds. */
export type PromptTimes = { readonly everyMs: number; readonly lateMs: number }

/**
 * Runs `run` at an interval with the clock's monotonic reading. A late run follows a stall of the process: the timer
 * comes before the bytes that have arrived meanwhile are read, so nothing may be concluded from their absence. Such a
 * run is left out, and `onStall` gets the milliseconds since the run before.
 */
export function everyPrompt(
  clock: Pick<Time, 'monotonic' | 'every'>,
  { everyMs, lateMs }: PromptTimes,
  run: (now: number) => void,
  onStall?: (passedMs: number) => void,
): Cancel {
  let ranAt = clock.monotonic()
  return clock.every(everyMs, () => {
    const now = clock.monotonic()
    const passedMs = now - ranAt
    ranAt = now
    if (passedMs > lateMs) onStall?.(passedMs)
    else run(now)
  })
}
