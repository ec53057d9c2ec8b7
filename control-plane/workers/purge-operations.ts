import { forgetOldJobs } from '#control-plane/services/jobs/restore-jobs.ts'
import { purgeHealthLog } from '#control-plane/services/offers/health-log.ts'
import { purgeSellerOperations } from '#control-plane/services/offers/seller-operations.ts'
import { purgeIdempotencyKeys, purgeSignIns } from '#control-plane/services/retention/purge-expired.ts'
import { HOUR } from '#shared/clock.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

const PURGE_EVERY_MS = HOUR

/** Removes expired rows: stored answers, used nonces and sessions. */
export function startPurgeOperations(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'purge-operations',
    everyMs: PURGE_EVERY_MS,
    run: async () => {
      const purged = await purgeIdempotencyKeys(plane)
      if (purged > 0) plane.log.info({ purged }, 'stored answers past their end were removed')
      const ended = await purgeSignIns(plane)
      if (ended > 0) plane.log.info({ ended }, 'nonces and sessions past their end were removed')
      const over = await forgetOldJobs(plane)
      if (over > 0) plane.log.info({ over }, 'the ends of old jobs were forgotten')
      const old = (await purgeSellerOperations(plane)) + (await purgeHealthLog(plane))
      if (old > 0) plane.log.info({ old }, 'old operations and lines of the health log were removed')
    },
  })
}
