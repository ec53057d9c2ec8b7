import { crc32 } from 'node:zlib'

/**
 * A segment is a file of 16 bytes of head, then records without gaps, then zeros. All numbers are little-endian.
 *
 *   head     8 bytes `MKTJRNL2`, then its number in the directory as u64, from 1
 *   record   u32 length of the payload, u32 CRC-32 (as in ISO 3309 and zlib) of all that follows it, u8 type,
 *            u64 sequence number, payload
 *
 *   `P` 0x50  progress of a running call: the usage event that would be captured if the process died now
 *   `C` 0x43  a capture: the usage event
 *   `K` 0x4b  a cursor: three numbers in decimal digits with spaces between. Every capture up to the first one is
 *             posted, a start after a kill needs the records from the second one on, and the third one is the time of
 *             the cursor in Unix milliseconds.
 *
 * Sequence numbers count all records of a directory. After an error of the disk a new segment begins with the records
 * that were not known to be safe. So a number may come again, but none is ever left out.
 */
const SEGMENT_MAGIC = Buffer.from('MKTJRNL2', 'latin1')
export const SEGMENT_HEAD_BYTES = 16
export const RECORD_HEAD_BYTES = 17
/** A longer payload is damage, whatever the checksum says. */
export const MAX_PAYLOAD_BYTES = 4_194_304
/** A text of this many UTF-16 units stays within that bound as UTF-8. */
export const MAX_PAYLOAD_CHARS = MAX_PAYLOAD_BYTES / 4

const TYPE_CODES = { P: 0x50, C: 0x43, K: 0x4b } as const
export type RecordType = keyof typeof TYPE_CODES

export type JournalRecord = {
  readonly type: RecordType
  readonly seq: number
  readonly payload: string
}

const UINT32 = 4_294_967_296

export function encodeSegmentHead(ordinal: number): Buffer {
  const head = Buffer.alloc(SEGMENT_HEAD_BYTES)
  SEGMENT_MAGIC.copy(head)
  head.writeBigUInt64LE(BigInt(ordinal), SEGMENT_MAGIC.length)
  return head
}

/** The most bytes that a record with this payload may take. A UTF-16 unit is at most three bytes of UTF-8. */
export function recordBound(payload: string): number {
  return RECORD_HEAD_BYTES + payload.length * 3
}

/** Writes a record at a place with room for its bound. Returns the place after it. */
export function writeRecord(bytes: Buffer, at: number, { type, seq, payload }: JournalRecord): number {
  const length = bytes.write(payload, at + RECORD_HEAD_BYTES, 'utf8')
  const end = at + RECORD_HEAD_BYTES + length
  bytes.writeUInt32LE(length, at)
  bytes[at + 8] = TYPE_CODES[type]
  bytes.writeUInt32LE(seq >>> 0, at + 9)
  bytes.writeUInt32LE(Math.floor(seq / UINT32), at + 13)
  bytes.writeUInt32LE(crc32(bytes.subarray(at + 8, end)), at + 4)
  return end
}

/** A valid record in a buffer. Its payload lies between `from` and `end`. */
export type RecordPlace = {
  readonly type: RecordType
  readonly seq: number
  readonly from: number
  readonly end: number
}

export type SegmentContent = {
  readonly bytes: Buffer
  readonly records: readonly RecordPlace[]
  /** The end of the records. After it come zeros, or no whole and valid record. */
  readonly soundBytes: number
  /**
   * `clean` when only zeros follow, `cut` when something else does. `foreign` when the file does not begin as a
   * segment; no death of a process or machine causes that.
   */
  readonly ending: 'clean' | 'cut' | 'foreign'
  /**
   * Valid records after a bad one. There are none after a record that the death of a process cut, so they show that the
   * disk changed bytes.
   */
  readonly behind: readonly RecordPlace[]
}

/**
 * Most records that may be lost between two valid ones. A longer jump of the number is a coincidence, and no record.
 */
const MAX_LOST = 1_000_000

/** Finds the records of a segment up to the first one that is cut or damaged, and the valid ones after it. */
export function readSegment(bytes: Buffer): SegmentContent {
  if (bytes.length < SEGMENT_HEAD_BYTES || !bytes.subarray(0, SEGMENT_MAGIC.length).equals(SEGMENT_MAGIC)) {
    return { bytes, records: [], soundBytes: 0, ending: isUnborn(bytes) ? 'clean' : 'foreign', behind: [] }
  }
  const { records, soundBytes } = readRecords(bytes, SEGMENT_HEAD_BYTES)
  if (isZero(bytes.subarray(soundBytes))) return { bytes, records, soundBytes, ending: 'clean', behind: [] }
  return { bytes, records, soundBytes, ending: 'cut', behind: readBehind(bytes, soundBytes, records.at(-1)?.seq ?? 0) }
}

/** Reads on after a bad record: its length is unreliable, so any byte may begin the next valid one. */
function readBehind(bytes: Buffer, from: number, lastSeq: number): RecordPlace[] {
  const recordPlaces: RecordPlace[] = []
  let last = lastSeq
  let at = from + 1
  while (at + RECORD_HEAD_BYTES <= bytes.length) {
    const record = readRecord(bytes, at)
    if (record === undefined || record.seq <= last || record.seq > last + MAX_LOST) {
      at += 1
      continue
    }
    recordPlaces.push(record)
    last = record.seq
    at = record.end
  }
  return recordPlaces
}

/** Finds records without gaps from a place on. `soundBytes` is their end. */
export function readRecords(bytes: Buffer, from: number): Pick<SegmentContent, 'records' | 'soundBytes'> {
  const records: RecordPlace[] = []
  let at = from
  for (;;) {
    const record = readRecord(bytes, at)
    if (record === undefined) return { records, soundBytes: at }
    records.push(record)
    at = record.end
  }
}

export function payloadOf(bytes: Buffer, { from, end }: RecordPlace): string {
  return bytes.toString('utf8', from, end)
}

function readRecord(bytes: Buffer, at: number): RecordPlace | undefined {
  const from = at + RECORD_HEAD_BYTES
  if (from > bytes.length) return undefined
  const type = typeOf(bytes[at + 8])
  const end = from + bytes.readUInt32LE(at)
  if (type === undefined || end - from > MAX_PAYLOAD_BYTES || end > bytes.length) return undefined
  if (crc32(bytes.subarray(at + 8, end)) !== bytes.readUInt32LE(at + 4)) return undefined
  return { type, seq: bytes.readUInt32LE(at + 9) + bytes.readUInt32LE(at + 13) * UINT32, from, end }
}

function typeOf(code: number | undefined): RecordType | undefined {
  for (const type of ['P', 'C', 'K'] as const) if (TYPE_CODES[type] === code) return type
  return undefined
}

/**
 * True for a segment that was cut during its creation: a part of its head, then zeros. No record was ever written to
 * it.
 */
function isUnborn(bytes: Buffer): boolean {
  let matching = 0
  while (matching < SEGMENT_MAGIC.length && bytes[matching] === SEGMENT_MAGIC[matching]) matching += 1
  return matching === SEGMENT_MAGIC.length || isZero(bytes.subarray(matching))
}

const ZEROS = Buffer.alloc(65_536)

function isZero(bytes: Buffer): boolean {
  for (let at = 0; at < bytes.length; at += ZEROS.length) {
    const part = bytes.subarray(at, at + ZEROS.length)
    if (!part.equals(ZEROS.subarray(0, part.length))) return false
  }
  return true
}
