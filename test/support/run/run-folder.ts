import { readFileSync, statfsSync } from 'node:fs'

const MEMORY = '/dev/shm'
/** A whole run keeps about 2 GB of databases, logs and journals. */
const ROOM_BYTES = 6 * 1024 ** 3

/**
 * The folder in memory for all files that a run writes. Undefined where no such folder has room, or where programs
 * cannot run in it. A disk that syncs slowly is the most common reason for a stall, and no file outlives the run.
 */
export function memoryFolder(): string | undefined {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .find((line) => line.split(' ')[1] === MEMORY)
    const mayRun = mount !== undefined && !mount.split(' ')[3]?.split(',').includes('noexec')
    return mayRun && bavail * bsize >= ROOM_BYTES ? MEMORY : undefined
  } catch {
    return undefined
  }
}
