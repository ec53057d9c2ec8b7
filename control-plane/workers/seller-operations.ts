import { runSellerOperations } from '#control-plane/services/offers/seller-operations.ts'
import { SECOND } from '#shared/clock.ts'
import { QUEUES } from '#shared/contract/redis-keys.ts'
import { consume } from './consume.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

/** Longest wait of an operation whose wake-up was lost. */
const LOOK_EVERY_MS = 5 * SECOND

/** Works on sellers' operations when it is woken. */
export function startWakeSellerOperations(plane: WorkerPlane): RunningWorker {
  return consume(plane, {
    queue: QUEUES.maintenance,
    concurrency: 1,
    process: async () => {
      await runSellerOperations(plane)
    },
  })
}

/** Works on operations whose wake-up was lost or whose process died. */
export function startSellerOperations(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'seller-operations',
    everyMs: LOOK_EVERY_MS,
    run: async () => {
      await runSellerOperations(plane)
    },
  })
}
