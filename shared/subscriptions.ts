import { SECOND } from '#shared/clock.ts'
import { readAnnouncement } from '#shared/contract/announcement.ts'
import { describeCause } from '#shared/errors.ts'

/** Time before the next attempt when a server refuses a subscription or does not answer. */
const RETRY_MS = SECOND

/** Receives the names of an announcement. */
export type Heard = (names: readonly string[]) => void

/** Listens to channels of Redis, over one connection for all listeners. */
export type Subscriptions = {
  /**
   * Calls the listener with the names of each message; an unreadable message gives an empty list. Redis keeps no
   * message for absent listeners. So `catchUp` runs whenever listening to the channel has begun, at first and after a
   * break, and must read the changes that it may have missed. Returns a function that ends it.
   */
  listen(channel: string, onNames: Heard, catchUp?: () => void): () => void
  close(): void
}

/** The parts of a client's connection to Redis that this module needs. Nothing else may use the connection. */
type Connection = {
  readonly status: string
  readonly options: { autoResubscribe?: boolean | undefined }
  on(event: 'ready', listener: () => void): unknown
  on(event: 'message', listener: (channel: string, message: string) => void): unknown
  subscribe(...channels: string[]): Promise<unknown>
  disconnect(reconnect?: boolean): void
}

type Log = { warn(facts: object, text: string): void }
type Listener = { readonly onNames: Heard; readonly catchUp: (() => void) | undefined }

/** Listens over a connection that may open late, break and come back, without missing an announcement. */
export function createSubscriptions(connection: Connection, log: Log): Subscriptions {
  const listeners = new Map<string, Set<Listener>>()
  let retry: NodeJS.Timeout | undefined
  // The client would subscribe again on its own after a break. Its failure could not be caught, and would end the
  // process.
  connection.options.autoResubscribe = false

  async function begin(channels: readonly string[]): Promise<void> {
    try {
      await connection.subscribe(...channels)
    } catch (cause) {
      // A connection that broke is made again anyway.
      if (connection.status === 'ready') {
        log.warn({ cause: describeCause(cause) }, 'announcements do not arrive: changes are noticed late')
        retry ??= setTimeout(startAnew, RETRY_MS).unref()
      }
      return
    }
    for (const channel of channels) for (const { catchUp } of listeners.get(channel) ?? []) catchUp?.()
  }

  /**
   * A listener whose subscription failed would never notice. So the subscription is tried again on a new connection.
   */
  function startAnew(): void {
    retry = undefined
    if (connection.status === 'ready') connection.disconnect(true)
  }

  connection.on('ready', () => {
    if (listeners.size > 0) void begin([...listeners.keys()])
  })
  connection.on('message', (channel, message) => {
    const names = readAnnouncement(message)
    for (const { onNames } of listeners.get(channel) ?? []) onNames(names)
  })
  return {
    listen(channel, onNames, catchUp) {
      const listener = { onNames, catchUp }
      const knownListeners = listeners.get(channel)
      if (knownListeners !== undefined) knownListeners.add(listener)
      else {
        listeners.set(channel, new Set([listener]))
        if (connection.status === 'ready') void begin([channel])
      }
      return () => void listeners.get(channel)?.delete(listener)
    },
    close() {
      clearTimeout(retry)
      connection.disconnect()
    },
  }
}
