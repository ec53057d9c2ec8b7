import type { Redis } from 'ioredis'
import { readNames } from '#shared/contract/announcement.ts'

/** Channels of Redis, listened to over one connection. */
export type Subscriptions = {
  /** Calls back with the names that a message carries; a message nobody can read gives an empty list. */
  on(channel: string, listener: (names: readonly string[]) => void): void
  close(): void
}

/** `redis` is a connection of its own: a subscriber can do nothing else. It subscribes again after every reconnect. */
export function createSubscriptions(redis: Redis): Subscriptions {
  const listeners = new Map<string, ((names: readonly string[]) => void)[]>()
  redis.on('message', (channel: string, message: string) => {
    const names = readNames(message)
    for (const listener of listeners.get(channel) ?? []) listener(names)
  })
  return {
    on(channel, listener) {
      const known = listeners.get(channel)
      if (known) known.push(listener)
      else {
        listeners.set(channel, [listener])
        redis.subscribe(channel).catch(() => undefined)
      }
    },
    close: () => redis.disconnect(),
  }
}
