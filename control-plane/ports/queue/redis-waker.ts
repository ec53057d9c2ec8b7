import type { Redis } from 'ioredis'
import { QUEUES } from '#shared/contract/redis-keys.ts'
import { openQueue } from './open-queue.ts'
import type { Waker } from './waker.ts'

type Log = { debug(facts: object, text: string): void }

/** A waker over the maintenance queue. `close` closes the queue and leaves the connection open. */
export function createRedisWaker(redis: Redis, log: Log): { wake: Waker; close(): Promise<void> } {
  const queue = openQueue(redis, QUEUES.maintenance, {
    defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
  })
  const note = (error: unknown) => log.debug({ err: error }, 'the workers were not woken')
  queue.on('error', note)
  return {
    wake: async (task) => {
      await queue.add(task, { v: 1 }).catch(note)
    },
    close: () => queue.close().catch(() => undefined),
  }
}
