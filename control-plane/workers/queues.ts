import type { Processor } from 'bullmq'
import { Worker } from 'bullmq'
import { SECOND } from '#shared/clock.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'

/** A job that runs again is the rule of this queue, not a fault: far more often than a batch can be unlucky. */
const MAX_STALLED_COUNT = 50
/** How long a job stays with a worker that does not renew its claim, and how often such jobs are looked for. */
const LOCK_MS = 10 * SECOND
const STALLED_CHECK_MS = 5 * SECOND

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
    lockDuration: LOCK_MS,
    stalledInterval: STALLED_CHECK_MS,
    removeOnComplete: { count: 0 },
  })
  worker.on('error', (error) => plane.log.warn({ err: error, queue }, 'the queue is out of reach'))
  worker.on('failed', (job, error) => plane.log.error({ err: error, queue, job: job?.id }, 'a job failed'))
  return { name: queue, stop: () => worker.close() }
}
