import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { AppError } from '#shared/errors.ts'
import { isAlive } from '#shared/is-alive.ts'
import { startHeld } from './held-process.ts'
import type { PortOf } from './ports.ts'
import { portFor } from './ports.ts'
import { findPostgresBinaries, makePrivateFolder, UNPRIVILEGED_UID } from './postgres-binaries.ts'
import { waitUntil } from './wait-until.ts'

const DATABASE = 'market'
const USER = 'market'
const START_LIMIT_MS = 30_000
/** Tries to start. Another program may take a port between the check and the server's start. */
const MAX_START_TRIES = 3
/** The longest time for which the server of a killed run may be closing down in the same folder. */
const PREDECESSOR_LIMIT_MS = 10_000

/** A running server. */
export type Service = {
  readonly url: string
  readonly pid: number
  /** Resolves with the exit code when the server ends. */
  readonly exited: Promise<number>
  readonly stop: () => Promise<void>
}

export type PostgresOptions = {
  /** Created on the first start. The password is stored beside it in `{dataDir}.password`, mode 0600. */
  readonly dataDir: string
  /** Server settings: `{ fsync: 'off' }`. */
  readonly settings?: Readonly<Record<string, string>>
  readonly logFile?: string
  /** Picks a port of its own when absent. */
  readonly port?: PortOf
}

/**
 * Starts a real PostgreSQL of the npm package on a loopback port, with an empty UTF-8 database `market`. It stops at
 * `stop`, or when the launcher ends in any way, and can start again on the same folder. Under root it runs as `nobody`.
 */
export async function startPostgres(options: PostgresOptions): Promise<Service> {
  const uid = process.getuid?.() === 0 ? UNPRIVILEGED_UID : undefined
  const native = findPostgresBinaries(uid)
  const logFile = options.logFile ?? `${options.dataDir}.log`
  makePrivateFolder(options.dataDir)
  if (uid !== undefined) chownSync(options.dataDir, uid, uid)
  const password = keepPassword(`${options.dataDir}.password`)
  if (!existsSync(join(options.dataDir, 'PG_VERSION'))) await initialise(native, options.dataDir, password, uid)
  await waitForPredecessor(options.dataDir)
  for (let attempt = 1; attempt <= MAX_START_TRIES; attempt += 1) {
    const { port, release } = await portFor(options.port)
    const held = await startHeld({
      command: join(native, 'bin', 'postgres'),
      args: serverArguments(options.dataDir, uid, { port: String(port), ...options.settings }),
      cwd: options.dataDir,
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
      logFile,
      orphanSignal: 'INT',
      ...(uid === undefined ? {} : { uid }),
    })
    let isOver = false
    void held.exited.then(() => {
      isOver = true
      release()
    })
    const admin = `postgres://${USER}:${password}@127.0.0.1:${port}/postgres`
    if (
      await waitUntil(
        () => canQuery(admin),
        { limitMs: START_LIMIT_MS, everyMs: 25 },
        () => isOver,
      )
    ) {
      await createDatabase(admin)
      const stop = async () => {
        // A smart stop comes first, so that closing sessions can end by themselves. A fast stop follows.
        await held.stop([
          { signal: 'TERM', waitMs: 1_000 },
          { signal: 'INT', waitMs: 10_000 },
          { signal: 'KILL', waitMs: 5_000 },
        ])
      }
      return { url: admin.replace(/postgres$/, DATABASE), pid: held.pid, exited: held.exited, stop }
    }
    await held.stop([
      { signal: 'INT', waitMs: 5_000 },
      { signal: 'KILL', waitMs: 5_000 },
    ])
  }
  throw new AppError('internal_error', { message: `PostgreSQL did not start: ${lastLines(logFile)}` })
}

function serverArguments(
  dataDir: string,
  uid: number | undefined,
  settings: Readonly<Record<string, string>>,
): readonly string[] {
  const all = { listen_addresses: '127.0.0.1', unix_socket_directories: '', max_connections: '200', ...settings }
  const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  return ['-D', reachableDataDir(dataDir, uid), ...flags]
}

/**
 * A server of another user may be unable to walk the path to its own folder (`/root` is closed). It can use the folder
 * as its working directory.
 */
function reachableDataDir(dataDir: string, uid: number | undefined): string {
  return uid !== undefined && process.platform === 'linux' ? '/proc/self/cwd' : dataDir
}

function keepPassword(file: string): string {
  if (!existsSync(file)) writeFileSync(file, randomBytes(24).toString('hex'), { mode: 0o600, flag: 'wx' })
  return readFileSync(file, 'utf8').trim()
}

async function initialise(native: string, dataDir: string, password: string, uid: number | undefined): Promise<void> {
  // `cat` turns the socket that Node gives into a real pipe, because initdb opens its password file by name.
  const script = 'cat | "$@" --pwfile=/dev/fd/0'
  const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C']
  const flags = ['-D', reachableDataDir(dataDir, uid), `--username=${USER}`, '--auth=scram-sha-256', ...locale]
  const initdb = join(native, 'bin', 'initdb')
  await new Promise<void>((resolve, reject) => {
    const child = execFile(
      '/bin/sh',
      ['-c', script, 'initdb', initdb, ...flags, '--no-instructions', '--no-sync'],
      {
        cwd: dataDir,
        env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
        ...(uid === undefined ? {} : { uid, gid: uid }),
      },
      (cause, _stdout, stderr) => {
        if (!cause) return resolve()
        reject(new AppError('internal_error', { message: `initdb failed: ${stderr.slice(0, 500)}`, cause }))
      },
    )
    child.stdin?.end(`${password}\n`)
  })
}

async function waitForPredecessor(dataDir: string): Promise<void> {
  const file = join(dataDir, 'postmaster.pid')
  await waitUntil(async () => !existsSync(file) || !isAlive(Number(readFileSync(file, 'utf8').split('\n', 1)[0])), {
    limitMs: PREDECESSOR_LIMIT_MS,
    everyMs: 50,
  })
}

async function canQuery(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function createDatabase(admin: string): Promise<void> {
  const client = new pg.Client({ connectionString: admin })
  await client.connect()
  try {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [DATABASE])
    if (rowCount === 0) await client.query(`create database ${DATABASE}`)
  } finally {
    await client.end()
  }
}

function lastLines(file: string): string {
  return readFileSync(file, 'utf8').trim().split('\n').slice(-4).join(' | ')
}
