import type { QueueOptions } from 'bullmq'
import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'

/**
 * Opens a queue for its senders over a connection of the process. A queue never recovers from an INFO that failed while
 * it opened, so it skips INFO: an open connection is enough. Closing the queue leaves the connection open.
 */
export function openQueue(redis: Redis, name: string, options: Omit<QueueOptions, 'connection'> = {}): Queue {
  return new Queue(name, { ...options, connection: redis, skipVersionCheck: true })
}
