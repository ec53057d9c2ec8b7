import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { MINUTE } from './clock.ts'

/** Milliseconds for which an idle connection stays open beyond the time that answers announce. */
export const IDLE_GRACE_MS = MINUTE

/**
 * Keeps idle connections of a server open for longer than its answers announce (`Keep-Alive: timeout`). A client on a
 * busy machine counts the announced time with a late clock: undici adds a fixed step for each tick, however late. Its
 * next request would meet a connection that closes, and a request that costs money is not sent again.
 */
export function keepIdleLonger(server: Server, graceMs = IDLE_GRACE_MS): void {
  // Bytes that a connection had received when its announced time was over.
  const overdue = new WeakMap<Socket, number>()
  server.on('timeout', (socket) => {
    if (overdue.get(socket) === socket.bytesRead) {
      socket.destroy()
      return
    }
    overdue.set(socket, socket.bytesRead)
    socket.setTimeout(graceMs)
  })
}
