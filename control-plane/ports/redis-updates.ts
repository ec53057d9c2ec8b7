import type { Redis } from 'ioredis'
import { readNames } from '#shared/contract/announcement.ts'
import { CHANNELS } from '#shared/contract/redis-keys.ts'
import type { Announce, UpdateChannel, Updates } from './updates.ts'

type Listener = (names: readonly string[]) => void

/** Most names that are put into one announcement. */
const MAX_ANNOUNCED = 1_000

/** Announcements over a connection of their own, made like the one given, and only once somebody listens. */
export function createRedisUpdates(redis: Redis): Updates & { close(): void } {
  const listeners = new Map<string, Set<Listener>>()
  let connection: Redis | undefined

  function connected(): Redis {
    if (connection !== undefined) return connection
    // Subscribing waits for Redis to be there, and is done again after every reconnect.
    const opened = redis.duplicate({ enableOfflineQueue: true, maxRetriesPerRequest: null })
    opened.on('error', () => undefined)
    opened.on('message', (channel: string, message: string) => {
      const names = readNames(message)
      for (const listener of listeners.get(channel) ?? []) listener(names)
    })
    connection = opened
    return opened
  }

  return {
    listen(name: UpdateChannel, listener) {
      const channel = CHANNELS[name]
      const known = listeners.get(channel) ?? new Set()
      known.add(listener)
      if (!listeners.has(channel)) {
        listeners.set(channel, known)
        connected()
          .subscribe(channel)
          .catch(() => undefined)
      }
      return () => {
        known.delete(listener)
      }
    },
    close: () => connection?.disconnect(),
  }
}

/** Announcements to every process. The connection should fail fast rather than queue commands while Redis is away. */
export function createRedisAnnounce(redis: Redis): Announce {
  return (channel, names) => {
    for (let start = 0; start < names.length; start += MAX_ANNOUNCED) {
      const some = JSON.stringify(names.slice(start, start + MAX_ANNOUNCED))
      redis.publish(CHANNELS[channel], some).catch(() => undefined)
    }
  }
}
