import { join } from 'node:path'
import type { JournalFile, JournalFiles } from './files.ts'
import { encodeSegmentHead, SEGMENT_HEAD_BYTES } from './record.ts'

/** A segment that is being written. The disk has already allotted its bytes up to `preparedTo`. */
export type Segment = {
  readonly path: string
  readonly file: JournalFile
  /** The place of the next record. */
  at: number
  preparedTo: number
}

export type SegmentOptions = {
  readonly directory: string
  readonly files: JournalFiles
  /** A segment of this many bytes is followed by the next. */
  readonly segmentBytes: number
  /** Zeros that are kept ahead of the records. A sync inside them writes the records alone and no metadata. */
  readonly preparedBytes: number
}

const ZEROS = Buffer.alloc(1024 * 1024)

function segmentName(ordinal: number): string {
  return `${ordinal.toString().padStart(8, '0')}.seg`
}

/** Makes a segment whose head and zeros are durable. A failed one leaves no file. */
export async function openSegment(options: SegmentOptions, ordinal: number): Promise<Segment> {
  const { directory, files, segmentBytes, preparedBytes } = options
  const path = join(directory, segmentName(ordinal))
  const file = await files.create(path)
  const segment = { path, file, at: SEGMENT_HEAD_BYTES, preparedTo: SEGMENT_HEAD_BYTES }
  try {
    await file.write(encodeSegmentHead(ordinal), 0)
    await prepare(segment, Math.min(preparedBytes, segmentBytes))
    await file.datasync()
    await files.syncDirectory(directory)
  } catch (error) {
    await discardSegment(files, segment)
    throw error
  }
  return segment
}

/** Adds zeros when half of those ahead are used up. */
export async function prepareAhead(segment: Segment, { segmentBytes, preparedBytes }: SegmentOptions): Promise<void> {
  segment.preparedTo = Math.max(segment.preparedTo, segment.at)
  if (segment.preparedTo - segment.at > preparedBytes / 2) return
  await prepare(segment, Math.min(segment.at + preparedBytes, segmentBytes))
}

async function prepare(segment: Segment, to: number): Promise<void> {
  while (segment.preparedTo < to) {
    const zeros = ZEROS.subarray(0, to - segment.preparedTo)
    await segment.file.write(zeros, segment.preparedTo)
    segment.preparedTo += zeros.length
  }
}

/** Closes and removes a segment without needed records. A segment that cannot be removed looks empty to a reader. */
export async function discardSegment(files: JournalFiles, { path, file }: Segment): Promise<void> {
  await file.close().catch(() => undefined)
  await files.remove(path).catch(() => undefined)
}
