import type { Redis } from 'ioredis'
import type { FeedItem } from '#shared/contract/feed.ts'
import { readFeed } from '#shared/contract/feed.ts'
import { cacheKeys } from '#shared/contract/redis-keys.ts'

/** The latest trades of the whole market, newest first. Throws while Redis is out of reach. */
export type LatestTrades = { latest(limit: number): Promise<FeedItem[]> }

export function createTradeFeed(redis: Redis): LatestTrades {
  return { latest: async (limit) => readFeed(await redis.lrange(cacheKeys.feed, 0, limit - 1)) }
}
