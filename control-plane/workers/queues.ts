import type { Processor } from 'bullmq'
import { Worker } from 'bullmq'
import type { RunningWorker, WorkerPlane } from './worker.ts'

/** A job that runs again is the rule of this queue, not a fault: far more often than a batch can be unlucky. */
const MAX_STALLED_COUNT = 50

type QueueWorker = {
  readonly queue: string
  readonly concurrency: number
  readonly process: Processor
}

/** Consumes a queue. Finished jobs go, failed ones stay to be looked at; neither is ever the only copy of anything. */
export function consume(
  plane: Pick<WorkerPlane, 'log' | 'redisUrl'>,
  { queue, concurrency, process }: QueueWorker,
): RunningWorker {
  const worker = new Worker(queue, process, {
    // A worker waits for its server for ever; commands must not give up while it is away.
    connection: { url: plane.redisUrl.reveal(), maxRetriesPerRequest: null },
    concurrency,
    maxStalledCount: MAX_STALLED_COUNT,
    removeOnComplete: { count: 0 },
  })
  worker.on('error', (error) => plane.log.warn({ err: error, queue }, 'the queue is out of reach'))
  worker.on('failed', (job, error) => plane.log.error({ err: error, queue, job: job?.id }, 'a job failed'))
  return { name: queue, stop: () => worker.close() }
}
