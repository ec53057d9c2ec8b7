import { tellEndedJobs } from '#control-plane/services/webhooks/job-alerts.ts'
import { findAlerts } from '#control-plane/services/webhooks/webhook-alerts.ts'
import {
  attemptDelivery,
  isAnybodyListening,
  listStrays,
  listUntried,
  purgeWebhookLog,
} from '#control-plane/services/webhooks/webhook-deliveries.ts'
import { HOUR, MINUTE, SECOND } from '#shared/clock.ts'
import { QUEUES } from '#shared/contract/redis-keys.ts'
import { isId } from '#shared/ids.ts'
import { consume } from './consume.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

const WATCH_EVERY_MS = SECOND
const PURGE_EVERY_MS = HOUR
/** A turn over many keys lasts longer than the pause between two. */
const WATCH_LEASE_MS = 30 * SECOND
const CONCURRENCY = 8
/** Attempts of one delivery. The pauses between them double, from 5 seconds to about 11 minutes. */
const MAX_ATTEMPTS = 8
const FIRST_PAUSE_MS = 5 * SECOND
/** A delivery without an attempt for longer than the longest pause has lost its job. */
const STRAY_AFTER_MS = 20 * MINUTE
const STRAYS_AT_ONCE = 500

/** Looks for ended jobs, reached caps and low balances that a webhook listens for, and queues every stored delivery. */
export function startWatchAlerts(plane: WorkerPlane): RunningWorker {
  const queue = plane.openQueue(QUEUES.webhooks)
  queue.on('error', (error) => plane.log.warn({ err: error, queue: QUEUES.webhooks }, 'the queue is out of reach'))
  const options = {
    attempts: MAX_ATTEMPTS,
    backoff: { type: 'exponential', delay: FIRST_PAUSE_MS },
    removeOnComplete: true,
    removeOnFail: true,
  }
  const enqueue = async (ids: readonly string[]) => {
    if (ids.length === 0) return
    await queue.addBulk(ids.map((id) => ({ name: 'deliver', data: { v: 1, id }, opts: { ...options, jobId: id } })))
  }
  const watch = repeat(plane, {
    name: 'watch-alerts',
    everyMs: WATCH_EVERY_MS,
    leaseMs: WATCH_LEASE_MS,
    run: async () => {
      await tellEndedJobs(plane)
      if (!(await isAnybodyListening(plane))) return
      await findAlerts(plane)
      // A queue never takes a delivery twice.
      await enqueue(await listUntried(plane, STRAYS_AT_ONCE))
      await enqueue(await listStrays(plane, STRAY_AFTER_MS, STRAYS_AT_ONCE))
    },
  })
  return {
    name: watch.name,
    stop: async () => {
      await watch.stop()
      await queue.close()
    },
  }
}

/**
 * Sends queued deliveries. A refused delivery is tried again after growing pauses. After the last attempt its row says
 * `failed`.
 */
export function startSendWebhooks(plane: WorkerPlane): RunningWorker {
  return consume(plane, {
    queue: QUEUES.webhooks,
    concurrency: CONCURRENCY,
    process: async (job) => {
      const data: unknown = job.data
      const id = typeof data === 'object' && data !== null && 'id' in data ? data.id : undefined
      if (typeof id !== 'string' || !isId('whd', id)) return
      const isLast = job.attemptsMade + 1 >= MAX_ATTEMPTS
      const outcome = await attemptDelivery(plane, id, { isLast })
      plane.telemetry.delivered(outcome)
      if (outcome === 'retry') throw new Error('the webhook did not take it')
    },
  })
}

/** Removes old deliveries. */
export function startPurgeWebhooks(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'purge-webhooks',
    everyMs: PURGE_EVERY_MS,
    run: async () => {
      const purged = await purgeWebhookLog(plane)
      if (purged > 0) plane.log.info({ purged }, 'old deliveries were removed')
    },
  })
}
