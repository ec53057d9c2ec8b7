import { HOUR } from '#shared/clock.ts'
import { purgeIdempotencyKeys } from '../services/retention.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

const PURGE_EVERY_MS = HOUR

/** Removes stored answers that are no longer replayed. */
export function startPurgeOperations(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'purge-operations',
    everyMs: PURGE_EVERY_MS,
    run: async () => {
      const purged = await purgeIdempotencyKeys(plane)
      if (purged > 0) plane.log.info({ purged }, 'stored answers past their end were removed')
    },
  })
}
