import type { Processor, Queue } from 'bullmq'
import { Worker } from 'bullmq'
import { SECOND } from '#shared/clock.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'

/**
 * Jobs of this queue run again as a rule. The bound is far above the number of restarts that a batch can meet by bad
 * luck.
 */
const MAX_STALLED_COUNT = 50
/**
 * Time after which a worker that does not renew its claim loses a job, and the interval of the search for such jobs.
 */
const LOCK_MS = 10 * SECOND
const STALLED_CHECK_MS = 5 * SECOND
/** Time that running jobs and the last words to the server may take when a process ends. */
const LEAVE_WAIT_MS = 5 * SECOND

type QueueWorker = {
  readonly queue: string
  readonly concurrency: number
  readonly process: Processor
}

/**
 * Consumes a queue. Finished jobs are deleted, and failed ones are kept for inspection. No job is the only copy of its
 * data.
 */
export function consume(
  plane: Pick<WorkerPlane, 'log' | 'redisUrl'>,
  { queue, concurrency, process }: QueueWorker,
): RunningWorker {
  const worker = new Worker(queue, process, {
    // A worker waits for its server without end, so its commands must not give up while the server is away.
    connection: { url: plane.redisUrl.reveal(), maxRetriesPerRequest: null },
    concurrency,
    maxStalledCount: MAX_STALLED_COUNT,
    lockDuration: LOCK_MS,
    stalledInterval: STALLED_CHECK_MS,
    removeOnComplete: { count: 0 },
  })
  worker.on('error', (error) => plane.log.warn({ err: error, queue }, 'the queue is out of reach'))
  worker.on('failed', (job, error) => plane.log.error({ err: error, queue, job: job?.id }, 'a job failed'))
  return { name: queue, stop: () => leaveQueue(worker) }
}

/**
 * Closes what was opened on a queue, after its running jobs. Its connections would wait without end for a server that is
 * away, so they are cut after a while: the next process finds by itself what the server was not told.
 */
export async function leaveQueue(queue: Queue | Worker): Promise<void> {
  const cut = setTimeout(() => void queue.disconnect().catch(() => undefined), LEAVE_WAIT_MS)
  try {
    await queue.close()
  } finally {
    clearTimeout(cut)
  }
}
