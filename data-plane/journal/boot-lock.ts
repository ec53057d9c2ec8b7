import { mkdir, readdir, readFile, rename, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { MINUTE } from '#shared/clock.ts'
import { syncDirectory } from './segments.ts'

const LOCK_FILE = 'lock.json'
const DRAFT = '.draft'
/** A directory of another machine counts as left when its owner has not touched its lock for so long. */
const FOREIGN_SILENCE_MS = 2 * MINUTE

const Lock = z.object({
  pid: z.number().int(),
  /** When the process began, in the kernel's ticks since boot; null where /proc does not tell. Pids are used again. */
  startTicks: z.string().nullable(),
  host: z.string(),
  /** Whose calls are in here: the name under which the process takes part in the gate. */
  member: z.string(),
})

/** Makes the directory of this boot; it appears with its lock in it or not at all. */
export async function createBootDirectory(root: string, boot: string, member: string): Promise<string> {
  await mkdir(root, { recursive: true, mode: 0o700 })
  const draft = join(root, `${boot}${DRAFT}`)
  await mkdir(draft, { mode: 0o700 })
  const lock = { pid: process.pid, startTicks: await startTicksOf(process.pid), host: hostname(), member }
  await writeFile(join(draft, LOCK_FILE), JSON.stringify(lock), { mode: 0o600 })
  const directory = join(root, boot)
  await rename(draft, directory)
  await syncDirectory(root)
  return directory
}

/** Shows other machines that the owner still lives. */
export async function touchLock(directory: string, now: number): Promise<void> {
  await utimes(join(directory, LOCK_FILE), now / 1000, now / 1000)
}

/** A directory taken over; `member` is whose it was, where its lock still tells. */
export type LeftDirectory = { readonly path: string; readonly member: string | undefined }

const BOOT = /^[0-9A-HJKMNP-TV-Z]{26}$/
const ADOPTED = /^([0-9A-HJKMNP-TV-Z]{26})\.of-([0-9A-HJKMNP-TV-Z]{26})$/

/**
 * Takes over every directory under `root` whose process is gone, by renaming it: of several that try, one succeeds.
 * What a process had taken over and did not finish is taken over again.
 */
export async function adoptLeftDirectories(root: string, boot: string, now: number): Promise<LeftDirectory[]> {
  const names = await readdir(root)
  const adopted: LeftDirectory[] = []
  for (const name of names.sort()) {
    const owner = ADOPTED.exec(name)?.[2] ?? name
    if (owner === boot || (!BOOT.test(name) && !ADOPTED.test(name))) continue
    if (names.includes(owner) && (await isAlive(join(root, owner), now))) continue
    const original = name.slice(0, 26)
    const target = join(root, `${original}.of-${boot}`)
    try {
      await rename(join(root, name), target)
      adopted.push({ path: target, member: (await readLock(target))?.member })
    } catch {
      // Another process was first.
    }
  }
  await syncDirectory(root)
  return adopted
}

async function readLock(directory: string): Promise<z.infer<typeof Lock> | undefined> {
  const text = await readFile(join(directory, LOCK_FILE), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : Lock.safeParse(readJson(text)).data
}

async function isAlive(directory: string, now: number): Promise<boolean> {
  const lock = await readLock(directory)
  if (lock === undefined) return false
  if (lock.host !== hostname()) return now - (await stat(join(directory, LOCK_FILE))).mtimeMs < FOREIGN_SILENCE_MS
  if (!isRunning(lock.pid)) return false
  return lock.startTicks === null || lock.startTicks === (await startTicksOf(lock.pid))
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** Field 22 of /proc/{pid}/stat (proc(5)); the name in field 2 may hold spaces, so counting starts behind it. */
async function startTicksOf(pid: number): Promise<string | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  return text?.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? null
}
