import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AppError } from '#shared/errors.ts'
import { createJsonGauge, MAX_JSON_BYTES, MIN_SPAN_BYTES } from '#shared/json-gauge.ts'
import { MAX_JSON_DEPTH } from '#shared/json-members.ts'

/** The bytes in parts that end at these places. */
function partsOf(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((left, right) => left - right)
  return [...ends, bytes.length].map((end, at) => bytes.subarray(ends[at - 1] ?? 0, end))
}

function weigh(parts: readonly Buffer[]) {
  const gauge = createJsonGauge()
  for (const part of parts) gauge.add(part)
  return gauge
}

/**
 * The code of the refusal, and the number of bytes until the refusal, when the body arrives in parts as from a socket.
 */
function refusalOf(body: string): { readonly code: string; readonly bytes: number } | undefined {
  const gauge = createJsonGauge()
  const bytes = Buffer.from(body)
  for (let at = 0; at < bytes.length; at += 65_536) {
    try {
      gauge.add(bytes.subarray(at, at + 65_536))
    } catch (thrown) {
      if (thrown instanceof AppError) return { code: thrown.code, bytes: gauge.bytes() }
      throw thrown
    }
  }
  return undefined
}

const MEGABYTE = 1_048_576
/** More bytes than the gauge judges in one step. */
const LONG_BYTES = 3 * MIN_SPAN_BYTES
const list = (count: number, element: string) => `[${Array.from({ length: count }, () => element).join()}]`
const names = (count: number) => Array.from({ length: count }, (_, at) => `"k${at}":1`).join()

describe('the gauge of JSON bodies', () => {
  it.each([
    ['many tools', `{"tools":${list(500_000, '{"type":"function"}')}}`],
    ['many messages', `{"messages":${list(1_000_000, '{"role":"user"}')}}`],
    ['many small lists', list(3_000_000, '[]')],
    ['many numbers', list(3_000_000, '1')],
    ['many empty texts', list(3_000_000, '""')],
    ['many members', `{${names(1_000_000)}}`],
    ['many blanks', `{${' '.repeat(12 * MEGABYTE)}}`],
    ['one long number', `[${'1'.repeat(12 * MEGABYTE)}]`],
    ['one giant text', `{"a":"${'a '.repeat(6 * MEGABYTE)}"}`],
    ['escapes', `{"a":"${'\\"'.repeat(6 * MEGABYTE)}"}`],
  ])('refuses %s before the whole body has arrived', (_name, body) => {
    const refusal = refusalOf(body)
    expect(refusal?.code).toBe('request_too_large')
    expect(refusal?.bytes).toBeLessThan(Math.min(body.length, MAX_JSON_BYTES + 2 * 65_536))
  })

  it('refuses deep nesting at the first byte that is too deep', () => {
    expect(refusalOf('['.repeat(12 * MEGABYTE))).toEqual({ code: 'invalid_json', bytes: 0 })
    expect(refusalOf('['.repeat(MAX_JSON_DEPTH) + ']'.repeat(MAX_JSON_DEPTH))).toBeUndefined()
  })

  it('accepts real bodies: long conversations, many inputs, and thirty megabytes of images', () => {
    const turn = (text: string) => `{"role": "user", "content": [{"type": "text", "text": "${text}"}]}`
    expect(refusalOf(`{"messages":${list(5_000, turn('x'.repeat(900)))}}`)).toBeUndefined()
    expect(refusalOf(`{"input":${list(300_000, '50256')}}`)).toBeUndefined()
    const image = `{"url":"data:image/png;base64,${'iVBORw0KGgo'.repeat(900_000)}"}`
    expect(refusalOf(`{"messages":${list(3, image)}}`)).toBeUndefined()
  })

  it('finds the same data and the same weight, wherever the body is cut', () => {
    const data = fc
      .tuple(
        fc.constantFrom('', 'data:image/png;base64,', 'data:text/plain;base64,', 'data:,', 'data:a,b;base64,'),
        fc.constantFrom('A', 'x\\/+', '\\/', '\\n', 'a b', '\\\\', 'ü', '\\"'),
        fc.integer({ min: 1, max: 5 }).map((tenths) => Math.floor((MIN_SPAN_BYTES * tenths) / 4)),
      )
      .map(([head, letters, length]) => `"${head}${letters.repeat(Math.ceil(length / letters.length))}"`)
    const text = fc.string({ unit: 'binary' }).map((value) => JSON.stringify(value))
    const body = fc.array(fc.oneof(data, text), { maxLength: 5 }).map((values) => `{"a":[${values.join(' , ')}]}`)
    fc.assert(
      fc.property(body, fc.array(fc.nat(40_000), { maxLength: 8 }), (json, places) => {
        const bytes = Buffer.from(json)
        const whole = weigh([bytes])
        const inParts = weigh(partsOf(bytes, places))
        expect([...inParts.spans]).toEqual([...whole.spans])
        expect(inParts.weight()).toBe(whole.weight())
        for (const [start, span] of whole.spans) {
          expect(bytes[start - 1]).toBe(34)
          expect(bytes[span.end]).toBe(34)
          expect(/^(?:[\w+/=-]|\\\/)*$/.test(bytes.toString('latin1', span.start, span.end))).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('finds no data when any byte differs, wherever the data URL and the text begin', () => {
    const other = fc.constantFrom(...'*:.,!@\u0000\u007f\u00e9 \t')
    fc.assert(
      fc.property(fc.nat(LONG_BYTES - 1), fc.nat(40), other, fc.nat(LONG_BYTES), (at, before, byte, cut) => {
        const data = 'Ab+/-_09'.repeat(LONG_BYTES / 8)
        const text = (value: string) => Buffer.from(`{"${'a'.repeat(before)}":"${value}"}`)
        const spans = (value: string) => weigh(partsOf(text(value), [cut])).spans.size
        expect([spans(data), spans(data.slice(0, at) + byte + data.slice(at + 1))]).toEqual([1, 0])
      }),
      { numRuns: 200 },
    )
  })
})
