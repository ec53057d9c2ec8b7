import type { Redis } from 'ioredis'
import { QUEUES } from '#shared/contract/redis-keys.ts'
import type { UsageQueue } from './usage-queue.ts'

/**
 * The usage queue in BullMQ's own keys: lists of waiting and active jobs, sorted sets of delayed and prioritised ones.
 */
export function createRedisUsageQueue(redis: Redis): UsageQueue {
  const key = (part: string) => `bull:${QUEUES.usage}:${part}`
  return {
    async depth() {
      const counts = await Promise.all([
        redis.llen(key('wait')),
        redis.llen(key('paused')),
        redis.llen(key('active')),
        redis.zcard(key('delayed')),
        redis.zcard(key('prioritized')),
      ])
      return counts.reduce((sum, count) => sum + count, 0)
    },
  }
}
