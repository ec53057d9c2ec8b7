import type { Clock } from '#shared/clock.ts'

const TICK_MS = 250

/** Something that wants to look at the time now and then: a relay with its deadlines. */
export type Watcher = { tick(now: number): void }

/** One timer for all calls: thousands of streams with four deadlines each need no timers of their own. */
export type Ticker = {
  add(watcher: Watcher): void
  remove(watcher: Watcher): void
  close(): void
}

/** `now` of a tick is the clock's monotonic reading. */
export function createTicker(clock: Pick<Clock, 'monotonic'>): Ticker {
  const watchers = new Set<Watcher>()
  const timer = setInterval(() => {
    const now = clock.monotonic()
    for (const watcher of watchers) watcher.tick(now)
  }, TICK_MS)
  return {
    add: (watcher) => void watchers.add(watcher),
    remove: (watcher) => void watchers.delete(watcher),
    close: () => clearInterval(timer),
  }
}
