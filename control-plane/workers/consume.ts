import { setTimeout as delay } from 'node:timers/promises'
import type { Processor } from 'bullmq'
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
/** Time at the end of a process for running jobs and the last commands to the server. */
const LEAVE_WAIT_MS = 5 * SECOND

/** A queue that is not open after this long is opened anew, after a pause. */
const OPEN_LIMIT_MS = 10 * SECOND
const OPEN_PAUSE_MS = SECOND

type QueueWorker = {
  readonly queue: string
  readonly concurrency: number
  readonly process: Processor
}

type ConsumerPlane = Pick<WorkerPlane, 'clock' | 'log' | 'redisUrl'>

/**
 * Consumes a queue. Finished jobs are deleted, and failed ones are kept for inspection. No job is the only copy of its
 * data. A worker never recovers from a failure while it opens, so such a worker is replaced.
 */
export function consume(plane: ConsumerPlane, consumer: QueueWorker): RunningWorker {
  const { queue } = consumer
  const ending = new AbortController()
  let worker = openWorker(plane, consumer)
  let connections: readonly { readonly status: string }[] = []
  const opening = open()

  async function open(): Promise<void> {
    for (;;) {
      const openedConnections = await connectionsOf(worker, ending.signal)
      if (openedConnections !== undefined) connections = openedConnections
      if (openedConnections !== undefined || ending.signal.aborted) return
      plane.log.warn({ queue }, 'the queue did not open and is opened anew')
      await worker.close(true).catch(() => undefined)
      await plane.clock.sleep(OPEN_PAUSE_MS, ending.signal)
      if (ending.signal.aborted) return
      worker = openWorker(plane, consumer)
    }
  }

  return {
    name: queue,
    isReady: () => connections.length > 0 && connections.every(({ status }) => status === 'ready'),
    async stop() {
      ending.abort()
      await opening
      if (connections.length === 0) await worker.close(true)
      else await leaveQueue(worker)
    },
  }
}

function openWorker(plane: ConsumerPlane, { queue, concurrency, process }: QueueWorker): Worker {
  const worker = new Worker(queue, process, {
    // A worker waits for its server without end, so its commands must not time out while the server is away.
    connection: { url: plane.redisUrl.reveal(), maxRetriesPerRequest: null },
    concurrency,
    maxStalledCount: MAX_STALLED_COUNT,
    lockDuration: LOCK_MS,
    stalledInterval: STALLED_CHECK_MS,
    removeOnComplete: { count: 0 },
  })
  worker.on('error', (error) => plane.log.warn({ err: error, queue }, 'the queue is out of reach'))
  worker.on('failed', (job, error) => plane.log.error({ err: error, queue, job: job?.id }, 'a job failed'))
  return worker
}

/** The connections of an open worker. Undefined when it failed to open, or did not open within the limit. */
async function connectionsOf(
  worker: Worker,
  ending: AbortSignal,
): Promise<readonly { readonly status: string }[] | undefined> {
  const { client, blockingClient } = worker.getBackend()
  const late = delay(OPEN_LIMIT_MS, undefined, { signal: ending, ref: false })
  return Promise.race([Promise.all([client, blockingClient ?? client]), late]).catch(() => undefined)
}

/**
 * Closes a worker's queue, after its running jobs. Its connections would wait without end for a server that is away, so
 * they are cut after a while: the next process finds the lost commands by itself.
 */
async function leaveQueue(worker: Worker): Promise<void> {
  const cut = setTimeout(() => void worker.disconnect().catch(() => undefined), LEAVE_WAIT_MS)
  try {
    await worker.close()
  } finally {
    clearTimeout(cut)
  }
}
