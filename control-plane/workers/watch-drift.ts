import { watchDrift } from '#control-plane/services/drift/drift.ts'
import { HOUR, MINUTE } from '#shared/clock.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

/** Nothing waits for the comparison, and a start has other work. */
const FIRST_AFTER_MS = 5 * MINUTE

/** Compares providers' bills and the costs that answers state with the list cost, once an hour. */
export function startWatchDrift(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'watch-drift',
    everyMs: HOUR,
    firstAfterMs: FIRST_AFTER_MS,
    run: () => watchDrift(plane),
  })
}
