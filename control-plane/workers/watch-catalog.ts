import { watchCatalog } from '#control-plane/services/catalog/watch-catalog.ts'
import { DAY, MINUTE } from '#shared/clock.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

/** Nothing waits for the comparison, and a start has other work. */
const FIRST_AFTER_MS = 10 * MINUTE

/** Compares the catalogue with the models and prices of this release, once a day. */
export function startWatchCatalog(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'watch-catalog',
    everyMs: DAY,
    firstAfterMs: FIRST_AFTER_MS,
    run: () => watchCatalog(plane),
  })
}
