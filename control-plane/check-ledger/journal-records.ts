import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A capture in a data-plane process's journal. */
export type JournalCapture = {
  readonly rid: string
  readonly account: string
  /** The amount taken from the balance: for a long job its quote at the submit, and nothing at its end. */
  readonly charge: bigint
  readonly isEnd: boolean
  /** False for a call that is paid by other means, and so takes nothing from the balance of its account. */
  readonly isCredit: boolean
  /** True for a capture from the progress record of a dead process. An earlier capture in the gate has precedence. */
  readonly isPresumed: boolean
  /** Unix milliseconds of the end of the call. */
  readonly endedAt: number
  /** SHA-256 of the event's bytes, in hex. */
  readonly payloadHash: string
}

/** A folder of the journal: that of one boot of a process. */
export type JournalFolder = {
  readonly name: string
  readonly captures: readonly JournalCapture[]
  /** The highest sequence number of a capture; the next member is the last posted cursor. */
  readonly lastCapture: number
  readonly cursor: number
  /** True while the process that writes it runs on this machine. */
  readonly isLive: boolean
}

const MAGIC = 'MKTJRNL2'
const SEGMENT_HEAD_BYTES = 16
const RECORD_HEAD_BYTES = 17
const MAX_PAYLOAD_BYTES = 4_194_304

/**
 * Reads every folder of a journal directory. A segment has a head of 16 bytes and then records: a little-endian u32
 * length, a u32 CRC-32, a u8 type, a u64 sequence number and the payload. Each segment is read up to its first invalid
 * record, where zeros follow or a process died while it wrote.
 */
export async function readJournals(directory: string | undefined): Promise<JournalFolder[]> {
  if (directory === undefined) return []
  const entries = await readdir(directory, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory() && !entry.name.endsWith('.draft'))
  const folders = await Promise.all(names.map((entry) => readFolder(directory, entry.name)))
  const progress = new Set(folders.flatMap((folder) => [...folder.progress]))
  return folders.map((folder) => ({
    ...folder,
    captures: folder.captures.map((capture) => ({ ...capture, isPresumed: progress.has(capture.payloadHash) })),
  }))
}

type ReadFolder = JournalFolder & { readonly progress: ReadonlySet<string> }

async function readFolder(directory: string, name: string): Promise<ReadFolder> {
  const files = (await readdir(join(directory, name))).sort()
  const captures: JournalCapture[] = []
  const progress = new Set<string>()
  let lastCapture = 0
  let cursor = 0
  for (const file of files.filter((entry) => entry.endsWith('.seg'))) {
    for (const { type, seq, payload } of recordsOf(await readFile(join(directory, name, file)))) {
      if (type === 'K') cursor = Math.max(cursor, Number.parseInt(payload, 10))
      if (type === 'P') progress.add(hashOf(payload))
      if (type !== 'C') continue
      lastCapture = Math.max(lastCapture, seq)
      captures.push(readCapture(payload))
    }
  }
  return { name, captures, progress, lastCapture, cursor, isLive: await isOwned(join(directory, name)) }
}

/** True when the process named in the folder's lock runs here. A folder that an heir took over has no owner. */
async function isOwned(folder: string): Promise<boolean> {
  if (folder.includes('.of-')) return false
  const lock = await readFile(join(folder, 'lock.json'), 'utf8').catch(() => '')
  const pid = /"pid":(\d+)/.exec(lock)?.[1]
  if (pid === undefined) return false
  try {
    process.kill(Number(pid), 0)
    return true
  } catch {
    return false
  }
}

type JournalRecord = { readonly type: string; readonly seq: number; readonly payload: string }

function* recordsOf(bytes: Buffer): Generator<JournalRecord> {
  if (bytes.toString('latin1', 0, MAGIC.length) !== MAGIC) return
  let at = SEGMENT_HEAD_BYTES
  while (at + RECORD_HEAD_BYTES <= bytes.length) {
    const length = bytes.readUInt32LE(at)
    const end = at + RECORD_HEAD_BYTES + length
    if (length > MAX_PAYLOAD_BYTES || end > bytes.length) return
    if (crc32(bytes.subarray(at + 8, end)) !== bytes.readUInt32LE(at + 4)) return
    yield {
      type: String.fromCharCode(bytes[at + 8] ?? 0),
      seq: Number(bytes.readBigUInt64LE(at + 9)),
      payload: bytes.toString('utf8', at + RECORD_HEAD_BYTES, end),
    }
    at = end
  }
}

function readCapture(payload: string): JournalCapture {
  const event: unknown = JSON.parse(payload)
  const field = (name: string): unknown =>
    typeof event === 'object' && event !== null ? Object.entries(event).find(([key]) => key === name)?.[1] : undefined
  const isEnd = field('kind') === 'end'
  return {
    rid: String(field('rid')),
    account: String(field('account')),
    charge: isEnd ? 0n : BigInt(String(field('chargeMicro') ?? 0)),
    isEnd,
    isCredit: field('rail') === 'credit',
    endedAt: Number(field('endedAt')),
    isPresumed: false,
    payloadHash: hashOf(payload),
  }
}

function hashOf(payload: string): string {
  return createHash('sha256').update(payload).digest('hex')
}

const TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index
  // The reversed polynomial of CRC-32 (ISO 3309).
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  return value
})

function crc32(bytes: Buffer): number {
  let sum = 0xffffffff
  for (const byte of bytes) sum = (TABLE[(sum ^ byte) & 0xff] ?? 0) ^ (sum >>> 8)
  return (sum ^ 0xffffffff) >>> 0
}
