import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JournalRecord } from '#data-plane/journal/record.ts'
import {
  encodeSegmentHead,
  payloadOf,
  readSegment,
  recordBound,
  SEGMENT_HEAD_BYTES,
  writeRecord,
} from '#data-plane/journal/record.ts'
import { createTail } from '#data-plane/journal/tail.ts'

const Records = fc.array(
  fc.record({
    type: fc.constantFrom('P' as const, 'C' as const, 'K' as const),
    seq: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    payload: fc.string({ unit: 'binary', maxLength: 200 }),
  }),
  { minLength: 1, maxLength: 10 },
)

function segmentOf(records: readonly JournalRecord[], zeros: number): Buffer {
  const parts = records.map((record) => {
    const bytes = Buffer.alloc(recordBound(record.payload))
    return bytes.subarray(0, writeRecord(bytes, 0, record))
  })
  return Buffer.concat([encodeSegmentHead(1), ...parts, Buffer.alloc(zeros)])
}

const recordsIn = (bytes: Buffer) =>
  readSegment(bytes).records.map((place) => ({ type: place.type, seq: place.seq, payload: payloadOf(bytes, place) }))

describe('records', () => {
  it('have the CRC-32 of the standard', () => {
    // The check value of CRC-32 in ISO 3309 and zlib.
    expect(crc32(Buffer.from('123456789'))).toBe(0xcbf43926)
  })

  it('read back as they were written, up to the first flipped bit, with and without zeros behind them', () => {
    fc.assert(
      fc.property(Records, fc.nat({ max: 100_000 }), fc.nat(), fc.nat({ max: 7 }), (given, zeros, at, bit) => {
        // The sequence numbers that a journal gives.
        const records = given.map((record, index) => ({ ...record, seq: index + 1 }))
        const length = segmentOf(records, 0).length
        const bytes = segmentOf(records, zeros)
        expect(recordsIn(bytes)).toEqual(records)
        expect(readSegment(bytes)).toMatchObject({ soundBytes: length, ending: 'clean' })
        const place = SEGMENT_HEAD_BYTES + (at % (length - SEGMENT_HEAD_BYTES))
        bytes[place] = (bytes[place] ?? 0) ^ (1 << bit)
        const found = recordsIn(bytes)
        expect(readSegment(bytes).ending).toBe('cut')
        expect(found).toEqual(records.slice(0, found.length))
        expect(readSegment(bytes).soundBytes).toBeLessThanOrEqual(place)
        // A flipped bit loses its own record and no other, also in the length of the record.
        const behind = readSegment(bytes).behind.map(({ seq }) => seq)
        expect(behind).toEqual(records.slice(found.length + 1).map(({ seq }) => seq))
      }),
      { numRuns: 50 },
    )
  })

  it('are distinguished from an unfinished segment and from another file', () => {
    const head = encodeSegmentHead(7)
    for (let end = 0; end <= head.length; end += 1) {
      expect(readSegment(head.subarray(0, end)), `${end} bytes`).toMatchObject({ records: [], ending: 'clean' })
      const zeroed = Buffer.concat([head.subarray(0, end), Buffer.alloc(100)])
      expect(readSegment(zeroed), `${end} bytes and zeros`).toMatchObject({ records: [], ending: 'clean' })
    }
    const damaged = segmentOf([{ type: 'C', seq: 1, payload: 'x' }], 0)
    damaged[3] = 0
    expect(readSegment(damaged).ending).toBe('foreign')
  })
})

describe('the tail of a journal', () => {
  it('returns the bytes of its records from any record on, whatever was forgotten before', () => {
    const Steps = fc.array(fc.record({ size: fc.nat({ max: 150_000 }), forgets: fc.boolean() }), { maxLength: 30 })
    fc.assert(
      fc.property(Steps, (steps) => {
        const tail = createTail()
        const starts: number[] = []
        const whole: Buffer[] = []
        let forgotten = 0
        for (const [index, { size, forgets }] of steps.entries()) {
          const record = { type: 'C' as const, seq: index + 1, payload: 'y'.repeat(size) }
          starts.push(tail.end())
          tail.append(record)
          const bytes = Buffer.alloc(recordBound(record.payload))
          whole.push(bytes.subarray(0, writeRecord(bytes, 0, record)))
          if (forgets) {
            forgotten = Math.floor(index / 2)
            tail.forget(starts[forgotten] ?? 0)
          }
        }
        const all = Buffer.concat(whole)
        expect(tail.end()).toBe(all.length)
        for (const start of starts.slice(forgotten)) {
          const parts: Buffer[] = []
          for (let at = start; at < tail.end(); at += parts.at(-1)?.length ?? 0) parts.push(tail.from(at))
          expect(Buffer.concat(parts).equals(all.subarray(start))).toBe(true)
        }
      }),
      { numRuns: 30 },
    )
  })
})
