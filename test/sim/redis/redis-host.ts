import type { Random } from '#test/sim/time/random.ts'
import type { Scheduler } from '#test/sim/time/scheduler.ts'
import type { MemoryRedis } from './memory-redis.ts'

/** A connection from the view of the server's machine. */
export type Socket = {
  /** Breaks the connection. A command without an answer may or may not have been executed. */
  cut(): void
}

/** The machine of Redis and the network around it. */
export type RedisHost = {
  readonly server: MemoryRedis
  isUp(): boolean
  isFrozen(): boolean
  /** Milliseconds that a packet travels one way. */
  latency(): number
  /** Returns true once for each reply that was chosen to be lost. */
  takesReply(): boolean
  /** Returns true once for each request that was chosen to be lost. */
  takesRequest(): boolean
  join(socket: Socket): void
  leave(socket: Socket): void
  stop(): void
  start(): void
  freeze(): void
  thaw(): void
  /** Cuts connections just before (`request`) or just after (`reply`) the next commands are executed. */
  loseNext(what: 'reply' | 'request', count: number): void
  setSlow(isSlow: boolean): void
  restart(): void
  flush(): void
  lose(ms: number): number
}

/** The share of late packets. Packets of other connections overtake them. */
const LATE_SHARE = 0.12
const LATE_MS = 40

export function createRedisHost(scheduler: Scheduler, server: MemoryRedis, random: Random): RedisHost {
  const sockets = new Set<Socket>()
  const losses = { reply: 0, request: 0 }
  let isUp = true
  let isFrozen = false
  let isSlow = false

  function cutAll(): void {
    for (const socket of [...sockets]) socket.cut()
  }

  function take(what: 'reply' | 'request'): boolean {
    if (losses[what] === 0) return false
    losses[what] -= 1
    return true
  }

  return {
    server,
    isUp: () => isUp,
    isFrozen: () => isFrozen,
    latency: () => 0.05 + random.fraction() * (isSlow ? 300 : random.chance(LATE_SHARE) ? LATE_MS : 0.6),
    takesReply: () => take('reply'),
    takesRequest: () => take('request'),
    join: (socket) => void sockets.add(socket),
    leave: (socket) => void sockets.delete(socket),
    stop() {
      isUp = false
      cutAll()
    },
    start() {
      isUp = true
    },
    freeze() {
      isFrozen = true
    },
    thaw() {
      isFrozen = false
    },
    loseNext(what, count) {
      losses[what] += count
    },
    setSlow(slow) {
      isSlow = slow
    },
    restart() {
      cutAll()
      server.restart()
    },
    flush: () => server.flush(),
    lose(ms) {
      cutAll()
      return server.lose(scheduler.wall() - ms)
    },
  }
}
