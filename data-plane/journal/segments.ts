import { open, readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { AppError } from '#shared/errors.ts'
import type { JournalRecord } from './record.ts'
import { readSegment } from './record.ts'

const SEGMENT_FILE = /^\d{8}\.seg$/

export function segmentName(ordinal: number): string {
  return `${ordinal.toString().padStart(8, '0')}.seg`
}

/** The paths of the segments of a directory, oldest first. */
export async function listSegments(directory: string): Promise<string[]> {
  const names = (await readdir(directory)).filter((name) => SEGMENT_FILE.test(name)).sort()
  return names.map((name) => join(directory, name))
}

/**
 * The records of a directory whose process is gone, in order. The last segment counts up to its first bad record: that
 * is where the process died. A bad record elsewhere is damage: it throws, unless `acceptsDamage`, and then only what
 * lies behind it in that segment is left out.
 */
export async function* readDirectory(directory: string, acceptsDamage: boolean): AsyncGenerator<JournalRecord> {
  const segments = await listSegments(directory)
  for (const [index, segment] of segments.entries()) {
    const content = readSegment(await readFile(segment))
    yield* content.records
    const later = segments.slice(index + 1)
    if (content.isSound || later.length === 0 || acceptsDamage) continue
    if (await wasGivenUp(segment, later)) continue
    throw new AppError('internal_error', {
      message: `the journal is damaged at byte ${content.soundBytes} of ${segment}: start with JOURNAL_ACCEPT_DAMAGE=1 to go on without what follows there`,
    })
  }
}

/** True when a later segment begins by naming this one as given up. */
async function wasGivenUp(segment: string, later: readonly string[]): Promise<boolean> {
  for (const path of later) {
    const [first] = readSegment(await readFile(path)).records
    if (first?.type === 'A' && first.payload.split(' ').includes(basename(segment))) return true
  }
  return false
}

/** Makes the entries of a directory last: a new or renamed file is not safe before that. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
