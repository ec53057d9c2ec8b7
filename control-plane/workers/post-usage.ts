import type { Job } from 'bullmq'
import { DelayedError } from 'bullmq'
import type { EventBatch } from '#control-plane/services/booking/ingest.ts'
import { postBatch, setAside } from '#control-plane/services/booking/ingest.ts'
import { SECOND } from '#shared/clock.ts'
import { QUEUES } from '#shared/contract/redis-keys.ts'
import { UsageBatchSchema } from '#shared/contract/usage-event.ts'
import { isRecord } from '#shared/json-members.ts'
import { consume } from './consume.ts'
import { createPostingLane } from './posting-lane.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'

/**
 * Batches that are taken from the queue at once, most events of one posting, and postings at once. With two, one waits
 * for its commit while the other is read.
 */
const CONCURRENCY = 20
const MAX_EVENTS_TOGETHER = 600
const POSTINGS_AT_ONCE = 2
/**
 * A batch counts as the cause when its worker dies more often than this. The number of its starts proves nothing,
 * because a batch that waits for the database starts again and again.
 */
const MAX_CRASHES = 5
const FIRST_DELAY_MS = SECOND
const MAX_DELAY_MS = 30 * SECOND

type PostingPlane = Pick<WorkerPlane, 'ids' | 'ledger' | 'gate' | 'log' | 'clock' | 'redisUrl'> &
  Partial<Pick<WorkerPlane, 'feed' | 'telemetry'>>

/**
 * Posts the usage batches of the queue. A batch that cannot be posted now is tried again without end, with growing
 * pauses.
 */
export function startPostUsage(plane: PostingPlane): RunningWorker {
  const together = createPostingLane({
    maxEvents: MAX_EVENTS_TOGETHER,
    maxAtOnce: POSTINGS_AT_ONCE,
    post: (batch) => post(plane, batch),
  })
  return consume(plane, {
    queue: QUEUES.usage,
    concurrency: CONCURRENCY,
    process: async (job, token) => {
      try {
        await processBatch(plane, job, together)
      } catch (error) {
        const delayMs = Math.min(FIRST_DELAY_MS * 2 ** Math.min(job.attemptsStarted - 1, 10), MAX_DELAY_MS)
        plane.log.warn({ err: error, job: job.id, delayMs }, 'a usage batch waits')
        await job.moveToDelayed(plane.clock.now() + delayMs, token)
        throw new DelayedError()
      }
    },
  })
}

function post(plane: PostingPlane, batch: EventBatch): Promise<unknown> {
  const work = () => postBatch(plane, batch)
  return plane.telemetry === undefined ? work() : plane.telemetry.posting(batch.events, work)
}

/**
 * Posts one batch. An emptied queue numbers its jobs anew, and the end of an old job can delete the data of a new one:
 * such a batch is gone, and the sweeper posts its captures.
 */
async function processBatch(
  plane: PostingPlane,
  job: Job,
  together: (batch: EventBatch) => Promise<void>,
): Promise<void> {
  const data: unknown = job.data
  if (isRecord(data) && Object.keys(data).length === 0) {
    plane.log.warn({ job: job.id }, 'the queue has lost the content of a batch: its events are swept')
    return
  }
  const batch = UsageBatchSchema.safeParse(data)
  if (!batch.success) {
    await setAside(plane, { events: [JSON.stringify(data)], source: 'queue' }, 'batch_schema')
    return
  }
  const source = `queue:${batch.data.node}`
  // An event that was posted in between is no longer captured. Captures that the gate lost come again from their nodes.
  const events = [...batch.data.events, ...(await plane.gate.captured(batch.data.captured))]
  if (events.length === 0) return
  if (job.stalledCounter > MAX_CRASHES) {
    await setAside(plane, { events, source }, 'crash_loop')
    return
  }
  // A batch whose worker died is posted alone, so that a further crash is its own fault.
  if (job.stalledCounter > 0) await post(plane, { events, source })
  else await together({ events, source })
}
