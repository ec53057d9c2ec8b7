import { basename, join } from 'node:path'
import { AppError } from '#shared/errors.ts'
import type { JournalFiles } from './files.ts'
import type { JournalRecord, SegmentContent } from './record.ts'
import { readSegment } from './record.ts'

const SEGMENT_FILE = /^\d{8}\.seg$/

export function segmentName(ordinal: number): string {
  return `${ordinal.toString().padStart(8, '0')}.seg`
}

/** The paths of the segments of a directory, oldest first. */
export async function listSegments(files: JournalFiles, directory: string): Promise<string[]> {
  const names = (await files.list(directory)).filter((name) => SEGMENT_FILE.test(name))
  return names.map((name) => join(directory, name))
}

/**
 * The records of a directory whose process is gone, in order. The last segment counts up to its first bad record: that
 * is where the process died. A bad record elsewhere is damage: it throws, unless `acceptsDamage`, and then only what
 * lies behind it in that segment is left out.
 */
export async function* readDirectory(
  files: JournalFiles,
  directory: string,
  acceptsDamage: boolean,
): AsyncGenerator<JournalRecord> {
  const segments = await listSegments(files, directory)
  for (const [index, segment] of segments.entries()) {
    const content = await readFrom(files, segment)
    yield* content.records
    const later = segments.slice(index + 1)
    if (content.isSound || later.length === 0 || acceptsDamage) continue
    if (await wasGivenUp(files, segment, later)) continue
    throw new AppError('internal_error', {
      message: `the journal is damaged at byte ${content.soundBytes} of ${segment}: start with JOURNAL_ACCEPT_DAMAGE=1 to go on without what follows there`,
    })
  }
}

/** True when a later segment begins by naming this one as given up. */
async function wasGivenUp(files: JournalFiles, segment: string, later: readonly string[]): Promise<boolean> {
  for (const path of later) {
    const [first] = (await readFrom(files, path)).records
    if (first?.type === 'A' && first.payload.split(' ').includes(basename(segment))) return true
  }
  return false
}

/** What a segment holds; one that was removed meanwhile holds nothing. */
export async function readFrom(files: JournalFiles, path: string): Promise<SegmentContent> {
  return readSegment((await files.read(path)) ?? Buffer.alloc(0))
}
