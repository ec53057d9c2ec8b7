import { readFileSync } from 'node:fs'
import { AppError } from '#shared/errors.ts'
import { startHeld } from './held-process.ts'
import type { PortOf } from './ports.ts'
import { askPort, portFor } from './ports.ts'
import type { Service } from './postgres.ts'
import { makePrivateFolder } from './postgres-binaries.ts'
import { findRedisServer } from './tools.ts'
import { waitUntil } from './wait-until.ts'

const START_LIMIT_MS = 30_000
/**
 * The size from which the log is rewritten. A gate writes often to few records, so a small log would double, and be
 * rewritten, every few seconds under load. 256 MB are loaded in about two seconds.
 */
const REWRITE_FROM = '256mb'
/**
 * Up to this size a hold with its usage event stays one compact record. Redis' own limit of 64 bytes would turn it into
 * a table.
 */
const COMPACT_FIELD_BYTES = '4096'
/** Tries to start. Another program may take a port between the check and the server's start. */
const MAX_START_TRIES = 3

export type RedisOptions = {
  readonly dataDir: string
  /** The log reaches the disk before each answer (`appendfsync always`). True by default. */
  readonly appendOnly?: boolean
  /** Further settings: `{ 'cluster-enabled': 'yes' }`. */
  readonly extraConfig?: Readonly<Record<string, string>>
  readonly logFile?: string
  /** Picks a port when absent. */
  readonly port?: PortOf
  readonly log?: (line: string) => void
}

/**
 * Starts a real Redis on a loopback port. It stops at `stop`, or when the launcher ends in any way. With `appendOnly`
 * it can start again with its data.
 */
export async function startRedis(options: RedisOptions): Promise<Service> {
  const binary = await findRedisServer(options.log ?? (() => undefined))
  const logFile = options.logFile ?? `${options.dataDir}.log`
  makePrivateFolder(options.dataDir)
  for (let attempt = 1; attempt <= MAX_START_TRIES; attempt += 1) {
    const { port, release } = await portFor(options.port)
    const held = await startHeld({
      command: binary.command,
      args: serverArguments(options, port),
      cwd: options.dataDir,
      env: binary.env,
      logFile,
      orphanSignal: 'TERM',
    })
    let isOver = false
    void held.exited.then(() => {
      isOver = true
      release()
    })
    // A foreign server may have taken this port first. The launcher's server answers with its own process id, and that
    // it has loaded its data.
    const isReady = async () => isOwn(held.pid, await askPort(port, 'PING\r\nINFO server\r\n'))
    if (await waitUntil(isReady, { limitMs: START_LIMIT_MS, everyMs: 20 }, () => isOver)) {
      const stop = async () => {
        await held.stop([
          { signal: 'TERM', waitMs: 10_000 },
          { signal: 'KILL', waitMs: 5_000 },
        ])
      }
      return { url: `redis://127.0.0.1:${port}`, pid: held.pid, exited: held.exited, stop }
    }
    await held.stop([{ signal: 'KILL', waitMs: 5_000 }])
  }
  const tail = readFileSync(logFile, 'utf8').trim().split('\n').slice(-4).join(' | ')
  throw new AppError('internal_error', { message: `Redis did not start: ${tail}` })
}

/** True when the answer comes from a server that runs as this process and accepts commands. */
function isOwn(pid: number, answer: string | undefined): boolean {
  return answer?.startsWith('+PONG') === true && answer.includes(`process_id:${pid}\r`)
}

function serverArguments(options: RedisOptions, port: number): readonly string[] {
  const durability: Readonly<Record<string, string>> =
    options.appendOnly === false
      ? { appendonly: 'no' }
      : { appendonly: 'yes', appendfsync: 'always', 'auto-aof-rewrite-min-size': REWRITE_FROM }
  const config = {
    port: String(port),
    bind: '127.0.0.1',
    dir: options.dataDir,
    save: '',
    'maxmemory-policy': 'noeviction',
    'hash-max-listpack-value': COMPACT_FIELD_BYTES,
    ...durability,
    ...options.extraConfig,
  }
  return Object.entries(config).flatMap(([name, value]) => [`--${name}`, value])
}
