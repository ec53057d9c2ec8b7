import { SECOND } from '#shared/clock.ts'
import { readNames } from '#shared/contract/announcement.ts'
import { describeCause } from '#shared/errors.ts'

/** A server that refuses to let us listen, or does not answer, is asked again after so long. */
const RETRY_MS = SECOND

/** What the names of an announcement are given to. */
export type Heard = (names: readonly string[]) => void

/** Channels of Redis, listened to over one connection however many listen. */
export type Subscriptions = {
  /**
   * Calls back with the names that a message carries; a message nobody can read gives an empty list. Redis keeps no
   * message for who is not there, so `catchUp` is called each time that listening to the channel has begun from now on,
   * be it for the first time or after a break: whatever was announced before may have been missed and has to be read.
   * Who joins a channel that is being listened to hears all from now on. Answers what ends it.
   */
  listen(channel: string, heard: Heard, catchUp?: () => void): () => void
  close(): void
}

/** What is asked of a client's connection to Redis, which nothing else uses: a subscriber can do nothing else. */
type Connection = {
  readonly status: string
  readonly options: { autoResubscribe?: boolean | undefined }
  on(event: 'ready', listener: () => void): unknown
  on(event: 'message', listener: (channel: string, message: string) => void): unknown
  subscribe(...channels: string[]): Promise<unknown>
  disconnect(reconnect?: boolean): void
}

type Log = { warn(facts: object, text: string): void }
type Listener = { readonly heard: Heard; readonly catchUp: (() => void) | undefined }

/** Listens over a connection that may come later, break and come again: nothing that was announced stays unknown. */
export function createSubscriptions(connection: Connection, log: Log): Subscriptions {
  const listeners = new Map<string, Set<Listener>>()
  let retry: NodeJS.Timeout | undefined
  // The client would subscribe beside us after a break, and nobody could catch its failure, which ends the process.
  connection.options.autoResubscribe = false

  async function begin(channels: readonly string[]): Promise<void> {
    try {
      await connection.subscribe(...channels)
    } catch (cause) {
      // A connection that broke is made again anyway.
      if (connection.status === 'ready') {
        log.warn({ cause: describeCause(cause) }, 'announcements are not heard: changes are seen late')
        retry ??= setTimeout(startAnew, RETRY_MS).unref()
      }
      return
    }
    for (const channel of channels) for (const { catchUp } of listeners.get(channel) ?? []) catchUp?.()
  }

  /** Who is not subscribed hears nothing and does not notice: it is tried again on a new connection. */
  function startAnew(): void {
    retry = undefined
    if (connection.status === 'ready') connection.disconnect(true)
  }

  connection.on('ready', () => {
    if (listeners.size > 0) void begin([...listeners.keys()])
  })
  connection.on('message', (channel, message) => {
    const names = readNames(message)
    for (const { heard } of listeners.get(channel) ?? []) heard(names)
  })
  return {
    listen(channel, heard, catchUp) {
      const listener = { heard, catchUp }
      const known = listeners.get(channel)
      if (known !== undefined) known.add(listener)
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
