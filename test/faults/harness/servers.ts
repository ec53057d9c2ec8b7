import { join } from 'node:path'
import type { Service } from '#dev/services/postgres.ts'
import { startPostgres } from '#dev/services/postgres.ts'
import { startRedis } from '#dev/services/redis.ts'

/** A server with data of its own that keeps its port through every end. */
export type Server = {
  url(): string
  pid(): number
  isRunning(): boolean
  signal(name: NodeJS.Signals): void
  /** Ends it at once, as a power cut of the process would. */
  kill(name?: NodeJS.Signals): Promise<void>
  /** Starts it again on the same port; answers the milliseconds that took. */
  start(): Promise<number>
  /** Ends it in order. */
  stop(): Promise<void>
}

type Launch = (port: number | undefined) => Promise<Service>

async function keep(launch: Launch): Promise<Server> {
  let service = await launch(undefined)
  const port = Number(new URL(service.url).port)
  let isRunning = true
  return {
    url: () => service.url,
    pid: () => service.pid,
    isRunning: () => isRunning,
    signal: (name) => void process.kill(service.pid, name),
    async kill(name = 'SIGKILL') {
      isRunning = false
      process.kill(service.pid, name)
      await service.exited
    },
    async start() {
      const began = performance.now()
      service = await launch(port)
      isRunning = true
      return performance.now() - began
    },
    async stop() {
      if (isRunning) await service.stop()
      isRunning = false
    },
  }
}

export type AofPolicy = 'always' | 'everysec' | 'off'

/** Redis of the money path, or of the cache with the policy `off`. */
export function startRedisServer(folder: string, name: string, policy: AofPolicy): Promise<Server> {
  return keep((port) =>
    startRedis({
      dataDir: join(folder, name),
      logFile: join(folder, 'logs', `${name}.log`),
      appendOnly: policy !== 'off',
      ...(policy === 'off' ? {} : { extraConfig: { appendfsync: policy } }),
      ...(port === undefined ? {} : { port }),
    }),
  )
}

/** Postgres. The machine stays up, so only the process's own memory is ever at stake: it need not sync. */
export function startPostgresServer(folder: string): Promise<Server> {
  return keep((port) =>
    startPostgres({
      dataDir: join(folder, 'postgres'),
      logFile: join(folder, 'logs', 'postgres.log'),
      settings: { fsync: 'off', max_connections: '200' },
      ...(port === undefined ? {} : { port }),
    }),
  )
}
