import type { Redis } from 'ioredis'
import type { Clock } from '#shared/clock.ts'
import { MINUTE } from '#shared/clock.ts'
import { cacheKeys } from '#shared/contract/redis-keys.ts'
import type { Limiter } from './limiter.ts'

/** Time that a counter is kept after its window, because clocks differ. */
const KEEP_SECONDS = 120

/** Counts calls in Redis by minute, over all processes. */
export function createRedisLimiter(redis: Redis, clock: Clock): Limiter {
  return async (scope, limit) => {
    const window = Math.floor(clock.now() / MINUTE)
    const key = cacheKeys.rate(`control:${scope}`, window)
    const answers = await redis
      .multi()
      .incr(key)
      .expire(key, KEEP_SECONDS)
      .exec()
      .catch(() => null)
    const counted = answers?.[0]?.[1]
    const count = typeof counted === 'number' ? counted : 0
    return {
      limit,
      remaining: Math.max(0, limit - count),
      resetsAt: (window + 1) * MINUTE,
      isExceeded: count > limit,
    }
  }
}
