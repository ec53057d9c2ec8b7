import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import { QUEUES } from '#shared/contract/redis-keys.ts'
import { describeCause } from '#shared/errors.ts'
import type { BatchQueue, EventTransport } from './events.ts'

type Log = { warn(facts: object, text: string): void }

/** Opens the queues in Redis from which the control plane's workers read events. */
export function openBullQueues(redis: Redis, log: Log): EventTransport {
  // A queue never recovers from an INFO that failed while it opened, so it skips INFO: an open connection is enough.
  const common = { connection: redis, skipVersionCheck: true }
  const usage = new Queue(QUEUES.usage, {
    ...common,
    defaultJobOptions: {
      removeOnComplete: true,
      removeOnFail: 1_000,
      attempts: 10,
      backoff: { type: 'exponential', delay: 500 },
    },
  })
  const health = new Queue(QUEUES.health, {
    ...common,
    defaultJobOptions: { removeOnComplete: true, removeOnFail: 100 },
  })
  return {
    usage: batchQueue(usage, log),
    health: batchQueue(health, log),
    async ping() {
      await redis.ping()
    },
  }
}

function batchQueue(queue: Queue, log: Log): BatchQueue {
  queue.on('error', (cause) => log.warn({ cause: describeCause(cause) }, 'a queue failed'))
  return {
    async add(batch) {
      await queue.add('batch', batch)
    },
    waiting: () => queue.getWaitingCount(),
    close: () => queue.close(),
  }
}
