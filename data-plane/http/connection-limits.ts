import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Time } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import { everyPrompt } from '#shared/every-prompt.ts'
import { createTurnoverMap } from '#shared/turnover-map.ts'

/**
 * Time in which a body may be slow. After that its average rate must reach this minimum, or its connection is closed.
 * TCP repeats a lost packet after 0.2 s and doubles that: six losses in a row stall a sender for 12.6 s.
 */
const PATIENCE_MS = 15 * SECOND
const SLOWEST_BYTES_A_SECOND = 1_024
const LOOKS = { everyMs: SECOND, lateMs: 2 * SECOND }

/** Refuses further connections of an address that has its maximum open. */
export function limitConnections(server: Server, maxPerAddress: number): void {
  const open = new Map<string, number>()
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress
    if (address === undefined) return
    const count = (open.get(address) ?? 0) + 1
    if (count > maxPerAddress) {
      socket.destroy()
      return
    }
    open.set(address, count)
    socket.once('close', () => {
      const remaining = (open.get(address) ?? 1) - 1
      if (remaining === 0) open.delete(address)
      else open.set(address, remaining)
    })
  })
}

/** Watches bodies that are being sent. */
export type SlowBodies = {
  /** Watches a request until its body has arrived. Calls `cut` when the body is too slow. */
  watch(request: IncomingMessage, cut: () => void): void
  close(): void
}

type Watched = {
  readonly socket: Socket
  readonly since: number
  /** The stalls of the process before `since`, in milliseconds. */
  readonly stalledBefore: number
  readonly bytesBefore: number
  readonly cut: () => void
}

/** Watches bodies for their rate. Stalls of this process do not count as the sender's time. */
export function watchSlowBodies(clock: Pick<Time, 'monotonic' | 'every'>): SlowBodies {
  const watched = createTurnoverMap<IncomingMessage, Watched>()
  // The first bytes of a body arrive with its head, so the count begins at the end of the connection's last body.
  const countOf = new WeakMap<Socket, number>()
  let stalledMs = 0
  const look = (now: number) => {
    for (const [request, { socket, since, stalledBefore, bytesBefore, cut }] of watched.entries()) {
      const elapsed = now - since - (stalledMs - stalledBefore)
      if (elapsed < PATIENCE_MS || request.complete) continue
      // Bytes that wait in the socket have arrived, whether or not they are read.
      const leastBytes = (SLOWEST_BYTES_A_SECOND * elapsed) / SECOND
      if (socket.bytesRead - bytesBefore >= leastBytes || request.isPaused()) continue
      watched.delete(request)
      cut()
    }
  }
  const stop = everyPrompt(clock, LOOKS, look, (passedMs) => {
    stalledMs += passedMs
  })
  return {
    watch(request, cut) {
      const { socket } = request
      const since = clock.monotonic()
      const bytesBefore = countOf.get(socket) ?? 0
      watched.set(request, { socket, since, stalledBefore: stalledMs, bytesBefore, cut })
      // This event follows the end of the body. It also follows a connection that breaks before that.
      request.on('close', () => {
        countOf.set(socket, socket.bytesRead)
        watched.delete(request)
      })
    },
    close: stop,
  }
}
