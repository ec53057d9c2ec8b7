import type { Time } from '#shared/clock.ts'

const TICK_MS = 250

/** Something that wants to look at the time now and then: a relay with its deadlines. */
export type Watcher = {
  tick(now: number): void
  /** Where the ticker keeps it; -1 while it does not. */
  place: number
}

/** One timer for all calls: thousands of streams with four deadlines each need no timers of their own. */
export type Ticker = {
  add(watcher: Watcher): void
  remove(watcher: Watcher): void
  close(): void
}

/**
 * `now` of a tick is the clock's monotonic reading. The watchers stand in a list, each knowing its place, and not in a
 * set: the tables that a busy set outgrows hang together and would keep the calls of minutes in memory.
 */
export function createTicker(clock: Pick<Time, 'monotonic' | 'every'>): Ticker {
  const watchers: Watcher[] = []
  const stop = clock.every(TICK_MS, () => {
    const now = clock.monotonic()
    // From the end: a watcher that leaves is replaced by the last one, which was seen.
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
