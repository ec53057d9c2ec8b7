import { join } from 'node:path'
import { AppError } from '#shared/errors.ts'
import type { JournalFiles } from './files.ts'
import type { JournalRecord, SegmentContent } from './record.ts'
import { payloadOf, readSegment } from './record.ts'

const SEGMENT_FILE = /^\d{8}\.seg$/

/** The paths of the segments of a directory, oldest first. */
export async function listSegments(files: JournalFiles, directory: string): Promise<string[]> {
  const names = (await files.list(directory)).filter((name) => SEGMENT_FILE.test(name))
  return names.map((name) => join(directory, name))
}

/** Reads a segment. A segment that was removed meanwhile holds nothing. */
async function readFrom(files: JournalFiles, path: string): Promise<SegmentContent> {
  return readSegment((await files.read(path)) ?? Buffer.alloc(0))
}

/** The facts about a dead process's directory that an heir needs. */
export type Survey = {
  /** The segments that hold records from `needed` on, oldest first. */
  readonly segments: readonly string[]
  /** Every capture up to `postedSeq` is posted. Records are needed from `needed` on. */
  readonly postedSeq: number
  readonly needed: number
  /** The end of the last valid record, when other bytes follow it. */
  readonly cut: { readonly path: string; readonly at: number } | undefined
  /** Records that the disk changed, and that are lost although valid ones follow. */
  readonly lostBytes: number
}

/**
 * Reads the directory of a dead process and decides whether it can be trusted. The last segment with records may end in
 * a bad one, because the process died there, and bad records inside it are skipped and counted. Before that segment
 * every sequence number must be there. A segment that failed its process may still end anywhere, because the next one
 * begins with the records that were not durable.
 *
 * A gap, or a file that does not begin as a segment, is damage. It throws, unless `acceptsDamage`.
 */
export async function surveyDirectory(files: JournalFiles, directory: string, acceptsDamage: boolean): Promise<Survey> {
  const segmentEnds: { readonly path: string; readonly last: number }[] = []
  const cursor = { postedSeq: 0, needed: 0 }
  let last: number | undefined
  let end = { path: directory, at: 0, isCut: false }
  let broken: { readonly path: string; readonly at: number } | undefined
  let lostBytes = 0
  for (const path of await listSegments(files, directory)) {
    const { bytes, records, soundBytes, ending, behind } = await readFrom(files, path)
    if (ending === 'foreign' && !acceptsDamage) throw damaged(path, 0)
    if (broken !== undefined && records.length > 0 && !acceptsDamage) throw damaged(broken.path, broken.at)
    for (const place of records) {
      if (last !== undefined && place.seq > last + 1 && !acceptsDamage) throw damaged(end.path, end.at)
      last = Math.max(last ?? 0, place.seq)
      end = { path, at: place.end, isCut: false }
      if (place.type === 'K') readCursor(payloadOf(bytes, place), cursor)
    }
    for (const place of behind) {
      broken ??= { path, at: soundBytes }
      lostBytes += place.seq - (last ?? 0) - 1
      last = place.seq
      if (place.type === 'K') readCursor(payloadOf(bytes, place), cursor)
    }
    if (ending === 'cut' && behind.length === 0) {
      // When even the first record is bad, the next valid record must be number one, so that nothing is missing.
      last ??= 0
      end = { path, at: soundBytes, isCut: true }
    }
    if (records.length + behind.length > 0) segmentEnds.push({ path, last: last ?? 0 })
  }
  const segments = segmentEnds.filter((segment) => segment.last >= cursor.needed).map((segment) => segment.path)
  return { segments, ...cursor, cut: end.isCut ? end : undefined, lostBytes }
}

/** Reads the records of some segments with numbers from `from` on, in order and each number once. */
export async function* readSegments(
  files: JournalFiles,
  segments: readonly string[],
  from: number,
): AsyncGenerator<JournalRecord> {
  let last = from - 1
  for (const path of segments) {
    const { bytes, records, behind } = await readFrom(files, path)
    for (const place of [...records, ...behind]) {
      if (place.seq <= last) continue
      last = place.seq
      yield { type: place.type, seq: place.seq, payload: payloadOf(bytes, place) }
    }
  }
}

function readCursor(payload: string, cursor: { postedSeq: number; needed: number }): void {
  const { postedSeq, needed } = parseCursor(payload)
  cursor.postedSeq = Math.max(cursor.postedSeq, postedSeq)
  cursor.needed = Math.max(cursor.needed, needed)
}

type Cursor = { readonly postedSeq: number; readonly needed: number; readonly at: number }

/** A cursor without a time was written by an older version. It counts as newer than any instant. */
function parseCursor(payload: string): Cursor {
  const [postedSeq = 0, needed = 0, at = Number.POSITIVE_INFINITY] = payload.split(' ').map(Number)
  return { postedSeq, needed, at }
}

export function formatCursor({ postedSeq, needed, at }: Cursor): string {
  return `${postedSeq} ${needed} ${at}`
}

/**
 * Reads the captures of a directory that were not known to be posted at `instant`: those above the last cursor that was
 * written before it. Damaged records are skipped.
 */
export async function* readCapturesSince(
  files: JournalFiles,
  directory: string,
  instant: number,
): AsyncGenerator<JournalRecord> {
  const segments = await listSegments(files, directory)
  const posted = await postedBefore(files, segments, instant)
  for await (const record of readSegments(files, segments, posted + 1)) {
    if (record.type === 'C') yield record
  }
}

/**
 * The sequence number up to which every capture was posted at `instant`. Cursors rise, so the newest one before it
 * counts.
 */
async function postedBefore(files: JournalFiles, segments: readonly string[], instant: number): Promise<number> {
  for (const path of segments.toReversed()) {
    const { bytes, records, behind } = await readFrom(files, path)
    const cursors = [...records, ...behind]
      .filter(({ type }) => type === 'K')
      .map((place) => parseCursor(payloadOf(bytes, place)))
    const before = cursors.findLast(({ at }) => at <= instant)
    if (before !== undefined) return before.postedSeq
  }
  return 0
}

function damaged(path: string, at: number): AppError {
  return new AppError('internal_error', {
    message: `the journal is damaged at byte ${at} of ${path}: start with JOURNAL_ACCEPT_DAMAGE=1 to continue without the records after that byte`,
  })
}
