import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { waitUntil } from '#dev/services/wait-until.ts'
import { AppError } from '#shared/errors.ts'
import type { StartedProcess } from './processes.ts'
import { isRunning, markOf } from './processes.ts'

const LOCK = 'lock.json'
/** Files that only homes of a network have. A reset deletes no file in a folder without one of them. */
const SIGNATURES = ['secrets.json', 'postgres.password']
/** The longest time for which the children of a killed run may be closing down. */
const PREDECESSOR_LIMIT_MS = 20_000

const MarkSchema = z.object({ pid: z.number().int(), startedAt: z.string() })
const LockSchema = z.object({ owner: MarkSchema, children: z.array(MarkSchema) })

/** The folder with all state of one development network. It is locked while the network runs. */
export type Home = {
  readonly root: string
  /** The path of a file in the folder. */
  readonly path: (name: string) => string
  /** Records the child processes, so that the next run can wait for them after a kill. */
  readonly noteChildren: (pids: readonly number[]) => void
  readonly release: () => void
}

/** Opens the folder and locks it. Throws an AppError when another network runs in it. */
export async function openHome(folder: string, mustReset: boolean): Promise<Home> {
  const root = resolve(folder)
  mkdirSync(root, { recursive: true, mode: 0o700 })
  const lockFile = join(root, LOCK)
  const owner = markOf(process.pid)
  const orphans = takeLock(lockFile, owner)
  await waitUntil(async () => !orphans.some(isRunning), { limitMs: PREDECESSOR_LIMIT_MS, everyMs: 50 })
  if (mustReset) reset(root, lockFile)
  mkdirSync(join(root, 'logs'), { recursive: true, mode: 0o700 })
  const writeLock = (children: readonly StartedProcess[]) =>
    writeFileSync(lockFile, JSON.stringify({ owner, children }), { mode: 0o600 })
  return {
    root,
    path: (name) => join(root, name),
    noteChildren: (pids) => writeLock(pids.map(markOf)),
    release: () => rmSync(lockFile, { force: true }),
  }
}

/** Writes the lock. Returns the children that a killed owner may have left. */
function takeLock(lockFile: string, owner: StartedProcess): readonly StartedProcess[] {
  const left = readLock(lockFile)
  if (left && isRunning(left.owner)) {
    const message = `a network is already running on this MARKET_HOME (process ${left.owner.pid}); stop it or set another MARKET_HOME`
    throw new AppError('conflict', { message })
  }
  rmSync(lockFile, { force: true })
  try {
    writeFileSync(lockFile, JSON.stringify({ owner, children: [] }), { flag: 'wx', mode: 0o600 })
  } catch (cause) {
    throw new AppError('conflict', { message: 'another network is just starting on this MARKET_HOME', cause })
  }
  return left?.children ?? []
}

function readLock(lockFile: string): z.infer<typeof LockSchema> | undefined {
  if (!existsSync(lockFile)) return undefined
  try {
    return LockSchema.parse(JSON.parse(readFileSync(lockFile, 'utf8')))
  } catch {
    // A truncated lock belongs to a run that was killed at its start.
    return undefined
  }
}

function reset(root: string, lockFile: string): void {
  const names = readdirSync(root).filter((name) => join(root, name) !== lockFile)
  if (names.length === 0) return
  if (!SIGNATURES.some((name) => names.includes(name))) {
    rmSync(lockFile, { force: true })
    throw new AppError('conflict', { message: `${root} is no home of a network: nothing was deleted` })
  }
  for (const name of names) rmSync(join(root, name), { recursive: true, force: true })
}
