import { join } from 'node:path'
import { z } from 'zod'
import { MINUTE } from '#shared/clock.ts'
import { parseJson } from '#shared/parse-json.ts'
import type { JournalFiles } from './files.ts'
import type { Processes } from './processes.ts'

const LOCK_FILE = 'lock.json'
const DRAFT = '.draft'
/** A directory of another machine counts as abandoned when its owner has not touched its lock for this time. */
const FOREIGN_SILENCE_MS = 2 * MINUTE

const Lock = z.object({
  pid: z.number().int(),
  /**
   * The start of the process in the kernel's ticks since boot; null where /proc does not show it. It distinguishes
   * processes with the same pid.
   */
  startTicks: z.string().nullable(),
  host: z.string(),
  /** The name under which the process takes part in the gate. */
  member: z.string(),
})

/** The directory of a machine's boots, and the means to tell which are abandoned. */
export type JournalRoot = {
  readonly path: string
  readonly files: JournalFiles
  readonly processes: Processes
}

/** Makes the directory of this boot. It appears with its lock in it, or not at all. */
export async function createBootDirectory(root: JournalRoot, boot: string, member: string): Promise<string> {
  const { path, files, processes } = root
  await files.makeDirectory(path)
  const draft = join(path, `${boot}${DRAFT}`)
  await files.makeDirectory(draft)
  await files.write(join(draft, LOCK_FILE), JSON.stringify({ ...(await processes.own()), member }))
  const directory = join(path, boot)
  await files.rename(draft, directory)
  await files.syncDirectory(path)
  return directory
}

/** Shows other machines that the owner still lives. Rejects when the directory is not the owner's any more. */
export async function touchLock(files: JournalFiles, directory: string, now: number): Promise<void> {
  await files.touch(join(directory, LOCK_FILE), now)
}

/** A directory that was taken over. `member` was its owner; undefined when its lock did not name it. */
export type LeftDirectory = { readonly path: string; readonly member: string | undefined }

const BOOT = /^[0-9A-HJKMNP-TV-Z]{26}$/
const ADOPTED = /^([0-9A-HJKMNP-TV-Z]{26})\.of-([0-9A-HJKMNP-TV-Z]{26})$/

/**
 * Takes over every directory under `root` whose process is gone, by a rename: when several processes try, only one
 * rename succeeds. Directories that a dead process had taken over and not finished are taken over again.
 */
export async function adoptLeftDirectories(root: JournalRoot, boot: string, now: number): Promise<LeftDirectory[]> {
  const { path, files } = root
  const adopted: LeftDirectory[] = []
  for (const name of await files.list(path)) {
    const owner = ADOPTED.exec(name)?.[2] ?? name
    if (owner === boot || (!BOOT.test(name) && !ADOPTED.test(name))) continue
    // The disk is read, not the list: an owner may have appeared while the list was made.
    if (await isOwned(root, join(path, owner), now)) continue
    const original = name.slice(0, 26)
    const target = join(path, `${original}.of-${boot}`)
    try {
      await files.rename(join(path, name), target)
      adopted.push({ path: target, member: (await readLock(files, target))?.member })
    } catch {
      // The directory has been renamed by another process.
    }
  }
  if (adopted.length > 0) await files.syncDirectory(path)
  return adopted
}

async function readLock(files: JournalFiles, directory: string): Promise<z.infer<typeof Lock> | undefined> {
  const bytes = await files.read(join(directory, LOCK_FILE))
  return bytes && Lock.safeParse(parseJson(bytes.toString('utf8'))).data
}

async function isOwned({ files, processes }: JournalRoot, directory: string, now: number): Promise<boolean> {
  const lock = await readLock(files, directory)
  if (lock === undefined) return false
  const isAlive = await processes.isAlive(lock)
  if (isAlive !== undefined) return isAlive
  const status = await files.status(join(directory, LOCK_FILE))
  return status !== undefined && now - status.changedAt < FOREIGN_SILENCE_MS
}
