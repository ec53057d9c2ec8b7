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
    const next = segments[index + 1]
    if (content.isSound || next === undefined || acceptsDamage) continue
    if (await wasGivenUp(segment, next)) continue
    throw new AppError('internal_error', {
      message: `the journal is damaged at byte ${content.soundBytes} of ${segment}: start with JOURNAL_ACCEPT_DAMAGE=1 to go on without what follows there`,
    })
  }
}

async function wasGivenUp(segment: string, next: string): Promise<boolean> {
  const [first] = readSegment(await readFile(next)).records
  return first?.type === 'A' && basename(segment) === first.payload
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
