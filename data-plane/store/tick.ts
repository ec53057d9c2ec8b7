import type { Time } from '#shared/clock.ts'
import { MAX_BATCH } from '#shared/contract/money-scripts/batch.ts'

/** Operations a millisecond from which turns rest: some four thousand calls a second, not far from what one core does. */
const BUSY_PER_MS = 8
/** What it is counted over: one burst makes no busy process. */
const WINDOW_MS = 50
/** In this time a busy process fills a batch. */
const REST_MS = MAX_BATCH / BUSY_PER_MS
/** A tick of the event loop that was shorter had nothing to do. */
const DRY_MS = 0.03

/**
 * Gathers what is to be sent: each `wake` says that there is one operation more, and the next turn sends all there are.
 *
 * A turn comes at the end of the tick, so that calls of one tick travel together. Near a process's limit that is not
 * enough: a batch costs the same whether it carries two or fifty, and the same work done for fifty calls in a row costs
 * less than done for each at another time. There turns rest after one another for as long as there is other work; a
 * loop that has run dry waits for nothing. A full batch leaves at once.
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

  /** At the end of each tick that something waits in. Only whole ticks say whether there was work. */
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
