import { storeHealthEvents } from '#control-plane/services/offers/health-log.ts'
import { QUEUES } from '#shared/contract/redis-keys.ts'
import { consume } from './consume.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'

/** Stores the health events that the data plane reports. */
export function startStoreHealth(plane: WorkerPlane): RunningWorker {
  return consume(plane, {
    queue: QUEUES.health,
    concurrency: 1,
    process: async (job) => storeHealthEvents(plane, job.data),
  })
}
