import type { Redis } from 'ioredis'
import { FEED_LENGTH } from '#shared/contract/feed.ts'
import { CHANNELS, cacheKeys } from '#shared/contract/redis-keys.ts'
import type { TradeFeed } from './trade-feed.ts'

/** The feed as a Redis list of limited length, newest first. */
export function createRedisTradeFeed(redis: Redis): TradeFeed {
  return {
    push(items) {
      if (items.length === 0) return
      redis
        .multi()
        .lpush(cacheKeys.feed, ...items.slice(-FEED_LENGTH))
        .ltrim(cacheKeys.feed, 0, FEED_LENGTH - 1)
        .publish(CHANNELS.feed, '[]')
        .exec()
        .catch(() => undefined)
    },
  }
}
