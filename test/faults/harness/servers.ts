import { chmodSync, mkdirSync, readdirSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import type { PortOf } from '#dev/services/ports.ts'
import { claimPort } from '#dev/services/ports.ts'
import type { Service } from '#dev/services/postgres.ts'
import { startPostgres } from '#dev/services/postgres.ts'
import { startRedis } from '#dev/services/redis.ts'
import { startRelay } from '#test/support/chain/relay.ts'
import { until } from '#test/support/run/until.ts'

/** A server with data of its own. It keeps its port through every end. */
export type Server = {
  url(): string
  pid(): number
  isRunning(): boolean
  signal(name: NodeJS.Signals): void
  /** Ends the server at once, like a power cut of the process. */
  kill(name?: NodeJS.Signals): Promise<void>
  /** Starts the server again on the same port. Returns the milliseconds of the start. */
  start(): Promise<number>
  /** Ends the server gracefully. */
  stop(): Promise<void>
}

type Launch = (port: PortOf) => Promise<Service>

async function keep(launch: Launch): Promise<Server> {
  // The port stays claimed until this run ends, so that no process of the market takes it between two lives of the
  // server.
  const claim = await claimPort()
  const port = async () => claim.port
  let service = await launch(port)
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

/** Starts a Redis of the money path, or one of the cache with the policy `off`. */
export function startRedisServer(folder: string, name: string, policy: AofPolicy): Promise<Server> {
  return keep((port) =>
    startRedis({
      dataDir: join(folder, name),
      logFile: join(folder, 'logs', `${name}.log`),
      appendOnly: policy !== 'off',
      ...(policy === 'off' ? {} : { extraConfig: { appendfsync: policy } }),
      port,
    }),
  )
}

/** The data folder of a row's Postgres, and the folder of its full log files. */
export const postgresData = (folder: string): string => join(folder, 'postgres')
export const archiveOf = (folder: string): string => `${folder}-archive`

/** Starts Postgres without syncs. The machine stays up, so only the process's own memory can be lost. */
export function startPostgresServer(folder: string, keepsArchive = false): Promise<Server> {
  const archive = archiveOf(folder)
  if (keepsArchive) {
    mkdirSync(archive)
    // The server may run as another user, who cannot enter the folder of the row.
    chmodSync(archive, 0o777)
  }
  const archiving = {
    archive_mode: 'on',
    archive_command: `cp %p ${archive}/%f`,
    restore_command: `cp ${archive}/%f %p`,
  }
  return keep((port) =>
    startPostgres({
      dataDir: postgresData(folder),
      logFile: join(folder, 'logs', 'postgres.log'),
      settings: { fsync: 'off', max_connections: '200', ...(keepsArchive ? archiving : {}) },
      port,
    }),
  )
}

/** Cuts the end off the log of a stopped Redis, like the death of its machine would. Returns the number of bytes. */
export function cutLog(folder: string, bytes: number): number {
  const logs = join(folder, 'redis', 'appendonlydir')
  const [newest] = readdirSync(logs)
    .filter((name) => name.endsWith('.incr.aof'))
    .sort()
    .reverse()
  if (newest === undefined) throw new Error('Redis keeps no log')
  const path = join(logs, newest)
  const { size } = statSync(path)
  const lost = Math.min(bytes, size)
  truncateSync(path, size - lost)
  return lost
}

/** A replica of a Redis that gets every write late. */
export type Replica = { readonly server: Server; promote(): Promise<void>; close(): Promise<void> }

const SYNC_LIMIT_MS = 15_000

export async function startReplica(folder: string, primary: string, lagMs: number): Promise<Replica> {
  const [server, wire] = await Promise.all([startRedisServer(folder, 'replica', 'everysec'), startRelay(primary)])
  const client = new Redis(server.url())
  await client.replicaof('127.0.0.1', wire.port)
  await until('the replica is in sync', SYNC_LIMIT_MS, async () =>
    (await client.info('replication')).includes('master_link_status:up'),
  )
  wire.fault({ delayMs: lagMs })
  return {
    server,
    async promote() {
      // Writes that were on the wire when the primary died are lost with it.
      wire.cut()
      await client.replicaof('NO', 'ONE')
    },
    async close() {
      client.disconnect()
      await wire.close()
    },
  }
}
