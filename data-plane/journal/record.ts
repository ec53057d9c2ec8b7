import { crc32c } from './crc32c.ts'

/**
 * A segment is a file of 16 bytes of head and then records without gaps; all numbers are little-endian.
 *
 *   head     8 bytes `MKTJRNL1`, then its number in the directory as u64, from 1
 *   record   u32 length of the payload, u32 CRC-32C of all that follows it, u8 type, u64 sequence number, payload
 *
 *   `P` 0x50  progress of a running call: the usage event that would be captured if the process died now
 *   `C` 0x43  a capture: the usage event
 *   `K` 0x4b  the posted cursor: in decimal digits, up to which sequence number every capture is posted
 *   `A` 0x41  first in a segment: these files, by name with spaces between, were given up after an error and may end torn
 */
export const SEGMENT_MAGIC = Buffer.from('MKTJRNL1', 'latin1')
export const SEGMENT_HEAD_BYTES = 16
export const RECORD_HEAD_BYTES = 17
/** A length beyond this is damage, whatever the checksum says. */
export const MAX_PAYLOAD_BYTES = 4_194_304
/** A text of this length stays below it in UTF-8. */
export const MAX_PAYLOAD_CHARS = MAX_PAYLOAD_BYTES / 4

export const RECORD_TYPES = { P: 0x50, C: 0x43, K: 0x4b, A: 0x41 } as const
export type RecordType = keyof typeof RECORD_TYPES

export type JournalRecord = {
  readonly type: RecordType
  readonly seq: number
  readonly payload: string
}

export function encodeSegmentHead(ordinal: number): Buffer {
  const head = Buffer.alloc(SEGMENT_HEAD_BYTES)
  SEGMENT_MAGIC.copy(head)
  head.writeBigUInt64LE(BigInt(ordinal), SEGMENT_MAGIC.length)
  return head
}

export function encodeRecord({ type, seq, payload }: JournalRecord): Buffer {
  const length = Buffer.byteLength(payload)
  const bytes = Buffer.allocUnsafe(RECORD_HEAD_BYTES + length)
  bytes.writeUInt32LE(length, 0)
  bytes[8] = RECORD_TYPES[type]
  bytes.writeUInt32LE(seq >>> 0, 9)
  bytes.writeUInt32LE(Math.floor(seq / 4_294_967_296), 13)
  bytes.write(payload, RECORD_HEAD_BYTES, 'utf8')
  bytes.writeUInt32LE(crc32c(bytes.subarray(8)), 4)
  return bytes
}

export type SegmentContent = {
  readonly records: readonly JournalRecord[]
  /** Where the first byte lies that is no whole, sound record; the length of the file when all of it is sound. */
  readonly soundBytes: number
  readonly isSound: boolean
}

/** Reads records until the first one that is cut or damaged. */
export function readSegment(bytes: Buffer): SegmentContent {
  const records: JournalRecord[] = []
  if (bytes.length < SEGMENT_HEAD_BYTES || !bytes.subarray(0, SEGMENT_MAGIC.length).equals(SEGMENT_MAGIC)) {
    return { records, soundBytes: 0, isSound: false }
  }
  let at = SEGMENT_HEAD_BYTES
  while (at < bytes.length) {
    const record = readRecord(bytes, at)
    if (record === undefined) return { records, soundBytes: at, isSound: false }
    records.push(record)
    at += RECORD_HEAD_BYTES + bytes.readUInt32LE(at)
  }
  return { records, soundBytes: at, isSound: true }
}

function readRecord(bytes: Buffer, at: number): JournalRecord | undefined {
  if (at + RECORD_HEAD_BYTES > bytes.length) return undefined
  const length = bytes.readUInt32LE(at)
  const end = at + RECORD_HEAD_BYTES + length
  if (length > MAX_PAYLOAD_BYTES || end > bytes.length) return undefined
  if (crc32c(bytes.subarray(at + 8, end)) !== bytes.readUInt32LE(at + 4)) return undefined
  const type = typeOf(bytes[at + 8])
  if (type === undefined) return undefined
  const seq = bytes.readUInt32LE(at + 9) + bytes.readUInt32LE(at + 13) * 4_294_967_296
  return { type, seq, payload: bytes.toString('utf8', at + RECORD_HEAD_BYTES, end) }
}

function typeOf(code: number | undefined): RecordType | undefined {
  for (const type of ['P', 'C', 'K', 'A'] as const) if (RECORD_TYPES[type] === code) return type
  return undefined
}
