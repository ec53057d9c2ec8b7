import { mkdir, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'

/** An open segment. Its methods reject as the system call does. After a rejection only `close` is called. */
export type JournalFile = {
  /** Puts all of the bytes at this place of the file. The file grows when that is beyond its end. */
  write(bytes: Uint8Array, at: number): Promise<void>
  /** Resolves when all written bytes and the length of the file are on the disk (fdatasync(2)). */
  datasync(): Promise<void>
  close(): Promise<void>
}

/**
 * All uses of the disk by the journal. Written bytes survive the process. Only synced bytes survive the machine, and a
 * new or changed name does so only after a sync of its directory.
 */
export type JournalFiles = {
  /** Makes a directory and its parents. An existing directory is no error. */
  makeDirectory(path: string): Promise<void>
  /** Opens a new file. Rejects when one of that name exists. */
  create(path: string): Promise<JournalFile>
  /** Writes a small file in one go. */
  write(path: string, text: string): Promise<void>
  /** The bytes of a file; undefined for a missing one. */
  read(path: string): Promise<Buffer | undefined>
  /** Names in a directory, sorted. */
  list(directory: string): Promise<string[]>
  /**
   * Moves a file or directory. When several move the same one to different names, one succeeds and the others reject.
   */
  rename(from: string, to: string): Promise<void>
  /** Removes a file, or a directory with its content. A missing one is no error. */
  remove(path: string): Promise<void>
  /** Size in bytes and time of the last change in Unix milliseconds; undefined when there is nothing. */
  status(path: string): Promise<{ readonly bytes: number; readonly changedAt: number } | undefined>
  /** Sets the time of the last change in Unix milliseconds. Rejects when there is nothing. */
  touch(path: string, at: number): Promise<void>
  /** Makes the names in a directory survive the machine. */
  syncDirectory(path: string): Promise<void>
}

/** The disk of this machine. Only the user of the process may read its files. */
export const diskFiles: JournalFiles = {
  async makeDirectory(path) {
    await mkdir(path, { recursive: true, mode: 0o700 })
  },
  create,
  write: (path, text) => writeFile(path, text, { mode: 0o600 }),
  read: (path) => orMissing(readFile(path)),
  list: async (directory) => (await readdir(directory)).sort(),
  rename,
  remove: (path) => rm(path, { recursive: true, force: true }),
  async status(path) {
    const stats = await orMissing(stat(path))
    return stats && { bytes: stats.size, changedAt: stats.mtimeMs }
  },
  touch: (path, at) => utimes(path, at / 1_000, at / 1_000),
  async syncDirectory(path) {
    const handle = await open(path, 'r')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  },
}

async function create(path: string): Promise<JournalFile> {
  const handle = await open(path, 'wx', 0o600)
  return {
    async write(bytes, at) {
      let written = 0
      while (written < bytes.length) {
        written += (await handle.write(bytes, written, bytes.length - written, at + written)).bytesWritten
      }
    },
    datasync: () => handle.datasync(),
    close: () => handle.close(),
  }
}

async function orMissing<Found>(file: Promise<Found>): Promise<Found | undefined> {
  try {
    return await file
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** True for the error of a name that does not exist. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
