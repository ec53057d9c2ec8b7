import type { Time } from '#shared/clock.ts'
import { MAX_BATCH } from '#shared/contract/money-scripts/batch.ts'

/**
 * Operations per millisecond from which turns pause: about four thousand calls per second, near the limit of one core.
 */
const BUSY_PER_MS = 8
/** Milliseconds over which operations are counted. One burst does not make a process busy. */
const WINDOW_MS = 50
/** A busy process fills a batch in these milliseconds. */
const REST_MS = MAX_BATCH / BUSY_PER_MS
/** Milliseconds below which a tick of the event loop had no work. */
const DRY_MS = 0.03

/**
 * Collects operations into batches. Each `wake` announces one more operation, and the next turn sends all of them.
 *
 * A turn comes at the end of the tick, so that the calls of one tick travel together. A busy process collects for
 * longer, because a batch of two costs as much as a batch of fifty, and one kind of work costs less when it is done for
 * many calls in a row. So a busy process pauses between turns while the event loop has other work. A loop without work
 * sends at once. A full batch leaves at once.
 */
export function createTick(clock: Pick<Time, 'monotonic' | 'soon'>, run: () => void): { wake(): void } {
  let isDue = false
  let woken = 0
  let lookedAt = Number.NEGATIVE_INFINITY
  let restsUntil = 0
  let windowSince = clock.monotonic()
  let inWindow = 0
  let isBusy = false

  function turn(now: number): void {
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

  /** Runs at the end of each tick while operations wait. Only a whole tick shows whether there was work. */
  function look(): void {
    const now = clock.monotonic()
    if (woken > 0 && now < restsUntil && now - lookedAt >= DRY_MS) {
      lookedAt = now
      clock.soon(look)
      return
    }
    isDue = false
    if (woken > 0) turn(now)
  }

  return {
    wake() {
      woken += 1
      if (woken >= MAX_BATCH) {
        turn(clock.monotonic())
        return
      }
      if (isDue) return
      isDue = true
      lookedAt = Number.NEGATIVE_INFINITY
      clock.soon(look)
    },
  }
}
