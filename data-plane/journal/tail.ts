import type { JournalRecord } from './record.ts'
import { recordBound, writeRecord } from './record.ts'

const CHUNK_BYTES = 256 * 1024
/** Chunks that are kept for the next records instead of being made anew. */
const MAX_SPARE_CHUNKS = 16

/** Consecutive records. `start` is the position of the first byte among all bytes ever appended. */
type Chunk = { readonly bytes: Buffer; readonly start: number; end: number }

/**
 * The end of the journal that is not known to be durable, in memory. Each record is encoded once, into large buffers
 * that are used again. The same bytes are written, and written again after an error of the disk. Positions count the
 * bytes of all records ever appended. Each position passed in is the start of a record.
 */
export type Tail = {
  append(record: JournalRecord): void
  /** The position behind the last record. */
  end(): number
  /** Whole records from a position on, as many as lie in one piece. They do not change until they are dropped. */
  from(position: number): Buffer
  /** Drops the records before a position. */
  forget(position: number): void
}

export function createTail(): Tail {
  const chunks: Chunk[] = []
  const spare: Buffer[] = []
  let last: Chunk = { bytes: Buffer.allocUnsafeSlow(CHUNK_BYTES), start: 0, end: 0 }
  chunks.push(last)

  function addChunk(room: number): Chunk {
    const bytes =
      room > CHUNK_BYTES ? Buffer.allocUnsafeSlow(room) : (spare.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES))
    last = { bytes, start: last.start + last.end, end: 0 }
    chunks.push(last)
    return last
  }

  return {
    append(record) {
      const room = recordBound(record.payload)
      const chunk = room > last.bytes.length - last.end ? addChunk(room) : last
      chunk.end = writeRecord(chunk.bytes, chunk.end, record)
    },
    end: () => last.start + last.end,
    from(position) {
      for (let index = chunks.length - 1; index >= 0; index--) {
        const chunk = chunks[index]
        if (!chunk || chunk.start > position) continue
        const isPassed = position === chunk.start + chunk.end
        const next = isPassed ? chunks[index + 1] : undefined
        if (next) return next.bytes.subarray(0, next.end)
        return chunk.bytes.subarray(position - chunk.start, chunk.end)
      }
      return last.bytes.subarray(0, 0)
    },
    forget(position) {
      for (;;) {
        const [first] = chunks
        if (!first || first === last || first.start + first.end > position) return
        chunks.shift()
        if (first.bytes.length === CHUNK_BYTES && spare.length < MAX_SPARE_CHUNKS) spare.push(first.bytes)
      }
    },
  }
}
