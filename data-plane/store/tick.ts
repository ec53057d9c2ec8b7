import type { Time } from '#shared/clock.ts'
import { MAX_BATCH } from '#shared/contract/money-scripts/batch.ts'

/** Operations a millisecond from which turns rest: some four thousand calls a second, not far from what one core does. */
const BUSY_PER_MS = 8
/** What it is counted over: one burst makes no busy process. */
const WINDOW_MS = 50
const REST_MS = 4
/** Timers count whole milliseconds: a shorter rest is none. */
const LEAST_REST_MS = 0.5

/**
 * Gathers what is to be sent: each `wake` says that there is one operation more, and the next turn sends all there are.
 *
 * A turn comes at the end of the tick, so that calls of one tick travel together. Near a process's limit that is not
 * enough: a batch costs the same whether it carries two or fifty, and the same work done for fifty calls in a row costs
 * less than done for each at another time. There turns rest after one another. A full batch leaves at once.
 */
export function createTick(clock: Time, run: () => void): { wake(): void } {
  let isDue = false
  let woken = 0
  let restsUntil = 0
  let windowSince = clock.monotonic()
  let inWindow = 0
  let isBusy = false

  function turn(): void {
    const now = clock.monotonic()
    inWindow += woken
    if (now - windowSince >= WINDOW_MS) {
      isBusy = inWindow >= BUSY_PER_MS * (now - windowSince)
      windowSince = now
      inWindow = 0
    }
    restsUntil = isBusy ? now + REST_MS : now
    woken = 0
    run()
  }

  /** Looks after the rest that is left, at once in most cases. */
  function schedule(): void {
    const restMs = restsUntil - clock.monotonic()
    if (restMs >= LEAST_REST_MS) clock.after(restMs, look)
    else clock.soon(look)
  }

  function look(): void {
    if (woken > 0 && restsUntil - clock.monotonic() >= LEAST_REST_MS) {
      schedule()
      return
    }
    isDue = false
    if (woken > 0) turn()
  }

  return {
    wake() {
      woken += 1
      if (woken >= MAX_BATCH) {
        turn()
        return
      }
      if (isDue) return
      isDue = true
      schedule()
    },
  }
}
