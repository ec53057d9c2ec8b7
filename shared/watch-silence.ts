import type { Cancel, Time } from './clock.ts'

/** Milliseconds between two looks at a connection. */
const LOOK_EVERY_MS = 500

/** The parts of a client's connection to Redis that this needs. */
type Connection = {
  readonly status: string
  on(event: 'connect' | 'ready' | 'close', listener: () => void): unknown
  ping(): Promise<unknown>
  disconnect(reconnect?: boolean): void
}

/**
 * Reconnects when the server is silent for so many milliseconds, also while the connection is being made. A PING goes
 * behind everything that was asked before it, and its answer ends the wait. The returned function ends the watch.
 */
export function watchSilence(clock: Time, connection: Connection, silenceMs: number): Cancel {
  let askedAt: number | undefined
  const forget = () => {
    askedAt = undefined
  }
  connection.on('connect', () => {
    askedAt = clock.monotonic()
  })
  connection.on('ready', forget)
  connection.on('close', forget)
  return clock.every(LOOK_EVERY_MS, () => {
    if (askedAt !== undefined) {
      if (clock.monotonic() - askedAt > silenceMs) connection.disconnect(true)
    } else if (connection.status === 'ready') {
      askedAt = clock.monotonic()
      connection.ping().then(forget, forget)
    }
  })
}
