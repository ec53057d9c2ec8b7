import { storeHealthEvents } from '#control-plane/services/offers/health-log.ts'
import { QUEUES } from '#shared/contract/redis-keys.ts'
import { consume } from './queues.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'

/** Stores what the data plane tells of the health of offers. */
export function startStoreHealth(plane: WorkerPlane): RunningWorker {
  return consume(plane, {
    queue: QUEUES.health,
    concurrency: 1,
    process: async (job) => storeHealthEvents(plane, job.data),
  })
}
