import type { Redis } from 'ioredis'
import { CHANNELS } from '#shared/contract/redis-keys.ts'
import { createSubscriptions } from '#shared/subscriptions.ts'
import type { Announce, Updates } from './updates.ts'

/** Most names in one announcement. */
const MAX_ANNOUNCED = 1_000

/** Listens to announcements over a connection of its own, opened with the same settings for the first listener. */
export function createRedisUpdates(
  redis: Redis,
  log: { warn(facts: object, text: string): void },
): Updates & { close(): void } {
  const connection = redis.duplicate({ lazyConnect: true })
  connection.on('error', () => undefined)
  const subscriptions = createSubscriptions(connection, log)
  return {
    listen(name, onUpdate, catchUp) {
      if (connection.status === 'wait') connection.connect().catch(() => undefined)
      return subscriptions.listen(CHANNELS[name], onUpdate, catchUp)
    },
    close: subscriptions.close,
  }
}

/** Sends announcements to every process. The connection should fail fast and not queue commands while Redis is away. */
export function createRedisAnnounce(redis: Redis): Announce {
  return (channel, names) => {
    for (let start = 0; start < names.length; start += MAX_ANNOUNCED) {
      const some = JSON.stringify(names.slice(start, start + MAX_ANNOUNCED))
      redis.publish(CHANNELS[channel], some).catch(() => undefined)
    }
  }
}
