import type { Cancel, Time } from './clock.ts'

/** Milliseconds between two checks of a connection. */
const LOOK_EVERY_MS = 500

/** The parts of a client's connection to Redis that this module needs. */
type Connection = {
  readonly status: string
  on(event: 'connect' | 'ready' | 'close', listener: () => void): unknown
  ping(): Promise<unknown>
  disconnect(reconnect?: boolean): void
}

/**
 * Reconnects when the server is silent for this many milliseconds, even while the connection is opening. A PING is sent
 * after all earlier commands, and its answer ends the wait. Silence is counted in checks, so that a process that stood
 * still does not take its own silence for the server's. The returned function ends the watch.
 */
export function watchSilence(clock: Time, connection: Connection, silenceMs: number): Cancel {
  const mostLooks = Math.ceil(silenceMs / LOOK_EVERY_MS)
  /** Checks since the last PING; undefined without an open one. */
  let looks: number | undefined
  const forget = () => {
    looks = undefined
  }
  connection.on('connect', () => {
    looks = 0
  })
  connection.on('ready', forget)
  connection.on('close', forget)
  return clock.every(LOOK_EVERY_MS, () => {
    if (looks !== undefined) {
      looks += 1
      if (looks > mostLooks) connection.disconnect(true)
    } else if (connection.status === 'ready') {
      looks = 0
      connection.ping().then(forget, forget)
    }
  })
}
