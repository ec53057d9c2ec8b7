import type { Redis } from 'ioredis'
import type { Cancel } from '#shared/clock.ts'
import type { Scheduler, SimProcess } from '#test/sim/time/scheduler.ts'
import type { Arg, Command, Session } from './memory-redis.ts'
import type { RedisHost } from './redis-host.ts'

/** Events of a link that its owner receives. */
export type LinkListeners = {
  onReady?(): void
  onLost?(): void
}

export type LinkOptions = LinkListeners & {
  readonly scheduler: Scheduler
  readonly host: RedisHost
  readonly owner: SimProcess
  /** Milliseconds after which a command without an answer counts as failed. It may be executed nevertheless. */
  readonly timeoutMs?: number
}

/** An ordered connection of a process to Redis. It reconnects by itself after a break. */
export type Link = {
  readonly client: Redis
  isReady(): boolean
  close(): void
}

type Request = {
  run(session: Session): unknown
  resolve(value: unknown): void
  reject(error: Error): void
}

const RECONNECT_MS = 60
/** Milliseconds of silence after which a connection to the server is given up. */
const SILENCE_MS = 3_500

const COMMANDS = [
  'get',
  'set',
  'del',
  'unlink',
  'lpush',
  'ltrim',
  'lpop',
  'hget',
  'hmget',
  'hgetall',
  'hkeys',
  'hexists',
  'hset',
  'hsetnx',
  'hdel',
  'pexpire',
  'zrange',
  'zrangebyscore',
  'zrem',
  'zmscore',
  'zcard',
  'evalsha',
  'script',
  'zadd',
  'zremrangebylex',
  'publish',
  'info',
  'time',
  'watch',
  'unwatch',
]

export function createLink(options: LinkOptions): Link {
  const { scheduler, host, owner } = options
  let session: Session | undefined
  let isClosed = false
  let outbox: Request[] = []
  const pending = new Set<Request>()
  let lastArrival = 0
  let lastReply = 0
  let endSilence: Cancel | undefined

  const socket = {
    cut() {
      if (session === undefined) return
      session = undefined
      host.leave(socket)
      const unanswered = [...pending]
      pending.clear()
      outbox = []
      if (!owner.isAlive()) return
      scheduler.after(
        0,
        () => {
          for (const request of unanswered) request.reject(new Error('Connection is closed.'))
          options.onLost?.()
        },
        owner,
      )
      reconnect()
    },
  }

  function reconnect(): void {
    scheduler.after(
      RECONNECT_MS,
      () => {
        if (isClosed || session !== undefined) return
        if (!host.isUp() || host.isFrozen()) return reconnect()
        session = { watched: undefined }
        lastArrival = scheduler.now()
        lastReply = scheduler.now()
        host.join(socket)
        options.onReady?.()
      },
      owner,
    )
  }

  function send(run: Request['run']): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (session === undefined || !owner.isAlive()) return reject(new Error('Connection is not there.'))
      const request: Request = { run, resolve, reject }
      pending.add(request)
      if (outbox.length === 0) depart(session)
      outbox.push(request)
      if (options.timeoutMs !== undefined) {
        const endWait = scheduler.after(options.timeoutMs, () => reject(new Error('Command timed out')), owner)
        request.resolve = (value) => {
          endWait()
          resolve(value)
        }
      }
    })
  }

  /** Sends all commands of one turn together. */
  function depart(from: Session): void {
    lastArrival = Math.max(lastArrival, scheduler.now() + host.latency())
    const arrive = () => {
      if (session !== from) return
      if (host.isFrozen()) {
        endSilence ??= scheduler.after(SILENCE_MS, () => host.isFrozen() && socket.cut())
        return void scheduler.after(20, arrive)
      }
      endSilence?.()
      endSilence = undefined
      const requests = outbox
      outbox = []
      if (host.takesRequest()) return socket.cut()
      answer(
        from,
        requests.map((request) => perform(from, request)),
      )
    }
    scheduler.after(lastArrival - scheduler.now(), arrive)
  }

  function answer(from: Session, replies: readonly (() => void)[]): void {
    if (host.takesReply()) {
      socket.cut()
      return
    }
    lastReply = Math.max(lastReply, scheduler.now() + host.latency())
    scheduler.after(
      lastReply - scheduler.now(),
      () => {
        if (session !== from) return
        for (const reply of replies) reply()
      },
      owner,
    )
  }

  function perform(from: Session, request: Request): () => void {
    try {
      const value = request.run(from)
      return () => {
        pending.delete(request)
        request.resolve(value)
      }
    } catch (error) {
      const problem = error instanceof Error ? error : new Error('ERR')
      return () => {
        pending.delete(request)
        request.reject(problem)
      }
    }
  }

  const commands = Object.fromEntries(
    COMMANDS.map((name) => [
      name,
      (...args: unknown[]) => send((from) => host.server.call(from, { name, args: flatten(args) })),
    ]),
  )
  const client = {
    ...commands,
    multi: () => createChain(send, (from, queued) => host.server.exec(from, queued)),
    pipeline: () => createChain(send, (from, queued) => queued.map((command) => attempt(host, from, command))),
    blpop: (key: string, seconds: number) => popWhenThere({ scheduler, host, owner }, send, key, seconds * 1_000),
  }
  reconnect()
  if (!isRedis(client)) throw new Error('the client in memory lacks commands')
  return {
    client,
    isReady: () => session !== undefined,
    close() {
      isClosed = true
      session = undefined
      host.leave(socket)
    },
  }
}

function isRedis(client: object): client is Redis {
  return 'evalsha' in client && 'multi' in client
}

function flatten(args: readonly unknown[]): Arg[] {
  return args.flatMap((arg): Arg[] => {
    if (arg instanceof Map) return [...arg].flat().map(String)
    return [typeof arg === 'number' ? arg : String(arg)]
  })
}

type Send = (run: Request['run']) => Promise<unknown>

/** Gathers commands and sends them together. */
function createChain(send: Send, run: (from: Session, queued: readonly Command[]) => unknown): object {
  const queued: Command[] = []
  const chain: Record<string, unknown> = {
    exec: () => send((from) => run(from, queued)),
  }
  for (const name of COMMANDS) {
    chain[name] = (...args: unknown[]) => {
      queued.push({ name, args: flatten(args) })
      return chain
    }
  }
  return chain
}

function attempt(host: RedisHost, from: Session, command: Command): [Error | null, unknown] {
  try {
    return [null, host.server.call(from, command)]
  } catch (error) {
    return [error instanceof Error ? error : new Error('ERR'), undefined]
  }
}

type Ground = { readonly scheduler: Scheduler; readonly host: RedisHost; readonly owner: SimProcess }

/** Replaces waiting inside the server by repeated requests. */
async function popWhenThere(ground: Ground, send: Send, key: string, waitMs: number): Promise<unknown> {
  const { scheduler, host, owner } = ground
  const deadline = scheduler.now() + waitMs
  for (;;) {
    const popped = await send((from) => host.server.call(from, { name: 'lpop', args: [key, 1] }))
    if (Array.isArray(popped)) return [key, popped[0]]
    if (scheduler.now() >= deadline) return null
    await pushOrDeadline(ground, key, deadline - scheduler.now())
    if (!owner.isAlive()) return null
  }
}

function pushOrDeadline({ scheduler, host, owner }: Ground, key: string, waitMs: number): Promise<void> {
  return new Promise((resolve) => {
    const cancel = scheduler.after(waitMs, resolve, owner)
    host.server.onNextPush(key, () => {
      cancel()
      resolve()
    })
  })
}
