import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSseReader, MAX_EVENT_CHARS } from '#shared/protocols/answers/sse.ts'

/** Reads bytes in pieces that end at the given places. */
function read(bytes: Buffer, cuts: readonly number[] = []): string[] {
  const events: string[] = []
  const reader = createSseReader((data) => {
    events.push(data)
    return true
  })
  let from = 0
  for (const cut of [...cuts].sort((left, right) => left - right)) {
    reader.push(bytes.subarray(from, cut))
    from = cut
  }
  reader.push(bytes.subarray(from))
  reader.end()
  return events
}

const STREAM = Buffer.from(
  '\uFEFF: a comment\r\ndata: {"a":"Grüße 🌍"}\r\n\r\ndata:no space\n\nevent: evil\nid: 7\nretry: 0\ndata: one\ndata: two\n\n' +
    ': more\n\ndata\n\ndata: bare\rdata: cr\r\rdatabase: not data\n\ndata: the last one has no blank line',
)
const EVENTS = ['{"a":"Grüße 🌍"}', 'no space', 'one\ntwo', '', 'bare\ncr', 'the last one has no blank line']

describe('the reader of server-sent events', () => {
  it('returns the data of each event and nothing else', () => {
    expect(read(STREAM)).toEqual(EVENTS)
  })

  it('returns the same wherever the bytes are cut in two', () => {
    for (let cut = 1; cut < STREAM.length; cut++) expect(read(STREAM, [cut]), `cut at ${cut}`).toEqual(EVENTS)
  })

  it('returns the same byte by byte', () => {
    expect(
      read(
        STREAM,
        Array.from({ length: STREAM.length }, (_, at) => at),
      ),
    ).toEqual(EVENTS)
  })

  it('returns the same for lines of any text, however they are cut', () => {
    const line = fc.oneof(
      fc.constantFrom('data: x', 'data:', ': c', '', 'event: e', 'data: ü🌍'),
      fc.string({ maxLength: 6 }),
    )
    const end = fc.constantFrom('\n', '\r\n', '\r')
    const text = fc.array(fc.tuple(line, end)).map((lines) => Buffer.from(lines.map((pair) => pair.join('')).join('')))
    fc.assert(
      fc.property(text, fc.array(fc.nat({ max: 200 }), { maxLength: 8 }), (bytes, cuts) => {
        const inside = cuts.filter((cut) => cut < bytes.length)
        expect(read(bytes, inside)).toEqual(read(bytes))
      }),
    )
  })

  it('stops where the reader says so, and reads nothing further', () => {
    const events: string[] = []
    const reader = createSseReader((data) => {
      events.push(data)
      return data !== '[DONE]'
    })
    reader.push(Buffer.from('data: 1\n\ndata: [DONE]\n\ndata: 2\n\n'))
    reader.push(Buffer.from('data: 3\n\n'))
    reader.end()
    expect(events).toEqual(['1', '[DONE]'])
  })

  it('refuses an event that is too long, in one piece or in many', () => {
    const whole = createSseReader(() => true)
    whole.push(Buffer.from(`data: ${'x'.repeat(MAX_EVENT_CHARS + 1)}`))
    expect(whole.isTooLong()).toBe(true)
    const pieces = createSseReader(() => true)
    pieces.push(Buffer.from('data: '))
    for (let at = 0; at < 40; at++) pieces.push(Buffer.alloc(32_768, 'x'))
    expect(pieces.isTooLong()).toBe(true)
  })
})
