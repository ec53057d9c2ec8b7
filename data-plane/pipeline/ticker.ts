import type { Time } from '#shared/clock.ts'
import { everyPrompt } from '#shared/every-prompt.ts'

const TICKS = { everyMs: 250, lateMs: 1_000 }

/** A watcher of the time, such as a relay with its deadlines. */
export type Watcher = {
  tick(now: number): void
  /** The watcher's index in the ticker's list; -1 outside of it. */
  place: number
}

/** A single timer for all calls. Thousands of streams with four deadlines each need no timers of their own. */
export type Ticker = {
  add(watcher: Watcher): void
  remove(watcher: Watcher): void
  close(): void
}

/**
 * `now` of a tick is the clock's monotonic reading. The watchers are in a list and each knows its index. A busy set
 * would grow new tables that stay linked to the old ones, and keep finished calls in memory for minutes.
 *
 * A tick after a stall of the process is left out, so that no call ends although its answer is there.
 */
export function createTicker(clock: Pick<Time, 'monotonic' | 'every'>): Ticker {
  const watchers: Watcher[] = []
  const stop = everyPrompt(clock, TICKS, (now) => {
    // The loop runs from the end: a removed watcher is replaced by the last one, which has had its tick.
    for (let at = watchers.length - 1; at >= 0; at--) watchers[at]?.tick(now)
  })
  return {
    add(watcher) {
      watcher.place = watchers.length
      watchers.push(watcher)
    },
    remove(watcher) {
      const { place } = watcher
      if (place < 0) return
      watcher.place = -1
      const last = watchers.pop()
      if (last === undefined || last === watcher) return
      watchers[place] = last
      last.place = place
    },
    close: stop,
  }
}
