import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createKeyMask, isCompressed, maskedText } from '#data-plane/upstream/key-mask.ts'
import type { KeyPattern } from '#data-plane/upstream/key-pattern.ts'
import { createKeyPatterns, pairOf } from '#data-plane/upstream/key-pattern.ts'
import { holdsKey } from '#data-plane/upstream/key-traces.ts'
import { Secret } from '#shared/secret.ts'

const KEY = 'sk-proj-9fK2_mZ+xQ/7vLw3TbYc81HdRaeN'
const patternOf = (key: string, patterns = createKeyPatterns()): KeyPattern => {
  const pattern = patterns.of(new Secret(key), { apiFormat: 'openai' })
  if (pattern === undefined) throw new Error('too short')
  return pattern
}
const PATTERN = patternOf(KEY)

/** The masked bytes of an answer. The answer arrives in pieces of these lengths; the last piece is the rest. */
function passed(bytes: Buffer, pieces: readonly number[] = [], pattern = PATTERN): Buffer {
  const mask = createKeyMask(pattern)
  const out: Buffer[] = []
  let at = 0
  for (const length of [...pieces, bytes.length]) {
    const piece = bytes.subarray(at, at + length)
    const before = Buffer.from(piece)
    out.push(Buffer.from(mask.push(piece)))
    // The bytes that arrived belong to the client.
    expect(piece.equals(before)).toBe(true)
    at += length
  }
  return Buffer.concat([...out, mask.end()])
}

/** The ends of blocks that an automaton finds when it reads every byte, with the first and the last byte to mask. */
function foundByteByByte(bytes: Buffer, pattern: KeyPattern) {
  const least = Buffer.from(bytes)
  const most = Buffer.from(bytes)
  let state = pattern.root
  let open = 0
  for (const [at, byte] of bytes.entries()) {
    state = pattern.step(state, byte)
    if (state === pattern.root) open = at + 1
    else if (state.isFound) {
      least.fill('*', Math.max(open, at + 1 - pattern.leastBytes), at + 1)
      most.fill('*', Math.max(open, at + 1 - pattern.maxBytes), at + 1)
    }
  }
  return { least, most }
}

/** Expects the same blocks. The number of stars before a block depends on the cuts of the answer. */
function expectFound(out: Buffer, bytes: Buffer, pattern: KeyPattern): void {
  const { least, most } = foundByteByByte(bytes, pattern)
  const wrong = [...out.keys()].filter(
    (at) => out[at] !== (least[at] === bytes[at] && out[at] === bytes[at] ? bytes[at] : most[at]),
  )
  expect([out.length, wrong]).toEqual([bytes.length, []])
}

const hex = (text: string) => Buffer.from(text).toString('hex')
const every = (text: string, write: (byte: number) => string) => [...Buffer.from(text)].map(write).join('')
const pair = (byte: number) => byte.toString(16).padStart(2, '0')
const lines = (text: string, end: string) => text.replace(/.{19}/g, (line) => line + end)

/** Encodings in which servers repeat what a client sent. */
const WAYS: Readonly<Record<string, (key: string) => string>> = {
  plain: (key) => key,
  'a header': (key) => `authorization: Bearer ${key}\r\n`,
  'small letters': (key) => key.toLowerCase(),
  'capital letters': (key) => key.toUpperCase(),
  JSON: (key) => JSON.stringify({ key: `Bearer ${key}` }),
  'JSON with slashes': (key) => JSON.stringify(key).replaceAll('/', '\\/'),
  'JSON in ASCII': (key) => every(key, (byte) => `\\u00${pair(byte)}`),
  JavaScript: (key) => every(key, (byte) => `\\x${pair(byte).toUpperCase()}`),
  'a URL': encodeURIComponent,
  'percent signs alone': (key) => every(key, (byte) => `%${pair(byte)}`),
  'percent signs twice': (key) => encodeURIComponent(every(key, (byte) => `%${pair(byte)}`)),
  HTML: (key) => every(key, (byte) => `&#${byte};`),
  'HTML in hex': (key) => every(key, (byte) => `&#x${pair(byte)};`),
  'a mixture': (key) => every(key, (byte) => (byte % 2 === 0 ? `%${pair(byte)}` : String.fromCharCode(byte))),
  ...Object.fromEntries(
    [0, 1, 2, 3].flatMap((before) => [
      [`base64 behind ${before}`, (key: string) => Buffer.from('x'.repeat(before) + key).toString('base64')],
      [
        `base64url behind ${before}`,
        (key: string) => Buffer.from(`${'y'.repeat(before)}${key}zz`).toString('base64url'),
      ],
    ]),
  ),
  'base64 of a header': (key) => Buffer.from(JSON.stringify({ authorization: `Basic ${key}` })).toString('base64'),
  'base64 in JSON': (key) => JSON.stringify(Buffer.from(`ab${key}`).toString('base64')).replaceAll('/', '\\/'),
  'base64 in a URL': (key) => encodeURIComponent(Buffer.from(`a${key}`).toString('base64')),
  'base64 in lines': (key) => lines(Buffer.from(`${'x'.repeat(40)}${key}`).toString('base64'), '\r\n'),
  hexadecimal: hex,
  'hexadecimal in capitals': (key) => hex(key).toUpperCase(),
  'hexadecimal with colons': (key) => every(key, (byte) => `${pair(byte)}:`),
  'hexadecimal with spaces': (key) => every(key, (byte) => `${pair(byte)} `),
  'a list of bytes': (key) => JSON.stringify([...Buffer.from(key)]),
  'a buffer of Node': (key) => JSON.stringify(Buffer.from(key)),
  'an event': (key) => `data: {"text":"Bearer ${key}"}\n\n`,
  'UTF-16': (key) => Buffer.from(key, 'utf16le').toString('latin1'),
  'UTF-16 in the other byte order': (key) => Buffer.from(key, 'utf16le').swap16().toString('latin1'),
}

describe('an answer with the credential in it', () => {
  it.each(Object.entries(WAYS))('is relayed without it: %s', (_name, write) => {
    const text = `before {"a":1} ${write(KEY)}, after`
    const bytes = Buffer.from(text, 'latin1')
    const out = passed(bytes)
    expect(out).toHaveLength(bytes.length)
    expect(out.toString('latin1')).toMatch(/^before \{"a":1\} .*, after$/s)
    expect(out.includes('*')).toBe(true)
    expect(holdsKey(out.toString('latin1').replaceAll('\0', ''), KEY)).toBe(false)
    // The search finds the same in pieces.
    for (const size of [1, 2, 3, 7]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, () => size)
      expectFound(passed(bytes, pieces), bytes, PATTERN)
    }
  })

  it('is relayed without a large part of it', () => {
    for (let length = 2 * 16 - 1; length < KEY.length; length++) {
      for (let at = 0; at + length <= KEY.length; at++) {
        expect(passed(Buffer.from(`"${KEY.slice(at, at + length)}"`)).includes('*'.repeat(16))).toBe(true)
      }
    }
  })

  it('is relayed without it in any surroundings, wherever the answer is cut', () => {
    const around = fc.uint8Array({ maxLength: 80 })
    const given = { seed: 31, numRuns: 300 }
    const key = fc.stringMatching(/^[A-Za-z0-9+/_.:-]{8,120}$/)
    const cuts = fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 30 })
    fc.assert(
      fc.property(
        key,
        fc.constantFrom(...Object.values(WAYS)),
        fc.tuple(around, around),
        cuts,
        (text, write, [left, right], at) => {
          const pattern = patternOf(text)
          const bytes = Buffer.concat([left, Buffer.from(`"${write(text)}"`, 'latin1'), right])
          const out = passed(bytes, at, pattern)
          expect(out).toHaveLength(bytes.length)
          expect(out.includes(Buffer.from(write(text), 'latin1'))).toBe(false)
        },
      ),
      given,
    )
  })
})

describe('the bytes that the search skips', () => {
  const key = fc.stringMatching(/^[A-Za-z0-9+/_.:-]{8,120}$/)
  /** Parts of a key in all forms, words and random bytes, so that much is nearly a key. */
  const text = (secret: string) =>
    fc
      .array(
        fc.oneof(
          fc
            .tuple(fc.constantFrom(...Object.values(WAYS)), fc.nat(secret.length), fc.nat(secret.length))
            .map(([write, one, other]) =>
              Buffer.from(write(secret.slice(Math.min(one, other), Math.max(one, other))), 'latin1'),
            ),
          fc.constantFrom(...Object.values(WAYS)).map((write) => Buffer.from(write(secret), 'latin1')),
          fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
          fc.string({ maxLength: 40 }).map((words) => Buffer.from(words)),
        ),
        { maxLength: 12 },
      )
      .map((parts) => Buffer.concat(parts))
  const case_ = key.chain((secret) =>
    fc.record({
      secret: fc.constant(secret),
      bytes: text(secret),
      cuts: fc.array(fc.nat(60), { maxLength: 20 }),
    }),
  )

  it('contain nothing that a search of every byte finds', () => {
    fc.assert(
      fc.property(case_, ({ secret, bytes, cuts }) => {
        const pattern = patternOf(secret)
        expectFound(passed(bytes, cuts, pattern), bytes, pattern)
      }),
      { seed: 33, numRuns: 1_000 },
    )
  })

  it('are most bytes of an answer', () => {
    let looked = 0
    const counting = new Proxy(PATTERN.pairs, {
      get: (pairs, name) => {
        looked++
        return Reflect.get(pairs, name)
      },
    })
    let stepped = 0
    const starts = new Proxy(PATTERN.starts, {
      get: (bytes, name) => {
        stepped++
        return Reflect.get(bytes, name)
      },
    })
    const counted: KeyPattern = { ...PATTERN, pairs: counting, starts }
    const words = 'data: {"choices":[{"delta":{"content":" the quick brown fox jumps over the lazy dog"}}]}\n\n'
    const picture = `{"b64_json":"${Buffer.from(fc.sample(fc.uint8Array({ minLength: 30_000, maxLength: 30_000 }), { seed: 34, numRuns: 1 })[0] ?? []).toString('base64')}"}`
    for (const answer of [words.repeat(400), picture]) {
      ;[looked, stepped] = [0, 0]
      const bytes = Buffer.from(answer)
      expect(passed(bytes, [], counted).equals(bytes)).toBe(true)
      expect((looked + stepped) / bytes.length).toBeLessThan(0.4)
    }
    // In the worst case the search reads each byte a few times, whatever the length of the answer.
    const worst = Buffer.from(KEY.slice(0, 15).repeat(4_000))
    ;[looked, stepped] = [0, 0]
    expect(passed(worst, [], counted).equals(worst)).toBe(true)
    expect((looked + stepped) / worst.length).toBeLessThan(4)
    expect(PATTERN.pairs[pairOf(0x73, 0x6b) >> 3]).toBeGreaterThan(0)
  })
})

describe('the memory of all patterns', () => {
  it('has a common bound, and keeps everything that a running answer may need', () => {
    const bound = 400_000
    const patterns = createKeyPatterns(bound)
    const keys = fc.sample(fc.stringMatching(/^[A-Za-z0-9+/_.:-]{60,512}$/), { seed: 35, numRuns: 16 })
    const open = keys.map((key) => ({ key, pattern: patternOf(key, patterns) }))
    const masks = open.map(({ key, pattern }) => ({
      mask: createKeyMask(pattern),
      bytes: Buffer.from(
        Object.values(WAYS)
          .map((write) => `${write(key.slice(0, 33)).slice(0, -2)} ${write(key)} `)
          .join(''),
        'latin1',
      ),
      out: [] as Buffer[],
    }))
    let cleared = 0
    let before = 0
    // All answers arrive at once, piece by piece.
    const longest = Math.max(...masks.map(({ bytes }) => bytes.length))
    for (let at = 0; at < longest; at += 50) {
      for (const { mask, bytes, out } of masks) {
        out.push(Buffer.from(mask.push(bytes.subarray(at, at + 50))))
        const { states, bytes: kept } = patterns.figures()
        expect(kept).toBeLessThanOrEqual(bound)
        expect(states * 2_048).toBeLessThanOrEqual(kept)
        if (kept < before) cleared++
        before = kept
      }
    }
    expect(cleared).toBeGreaterThan(3)
    for (const [at, { mask, bytes, out }] of masks.entries()) {
      expectFound(Buffer.concat([...out, mask.end()]), bytes, patternOf(keys[at] ?? ''))
    }
  })
})

describe('an answer without the credential', () => {
  it('is relayed unchanged and without delay', () => {
    const given = { seed: 32, numRuns: 300 }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2_000 }), fc.array(fc.integer({ min: 1, max: 99 })), (bytes, pieces) => {
        expect(passed(Buffer.from(bytes), pieces).equals(Buffer.from(bytes))).toBe(true)
      }),
      given,
    )
    const mask = createKeyMask(PATTERN)
    const event = Buffer.from('data: {"choices":[{"delta":{"content":"sk-pro"}}]}\n\n')
    expect(mask.push(event)).toBe(event)
  })

  it('may contain words that begin like keys', () => {
    for (const text of ['sk-proj-', 'sk-proj-9fK2', 'a key of the form sk-proj-…', hex('sk-proj-')]) {
      expect(passed(Buffer.from(text)).toString()).toBe(text)
    }
    expect(createKeyPatterns().of(new Secret('short'), { apiFormat: 'openai' })).toBeUndefined()
  })
})

describe('the search', () => {
  it('is read once a byte, with at most one block held back and few states', () => {
    let steps = 0
    const counted: KeyPattern = {
      ...PATTERN,
      step(state, byte) {
        steps++
        return PATTERN.step(state, byte)
      },
    }
    // The beginnings of all encodings, repeated, which never become a key.
    const bytes = Buffer.from(
      Object.values(WAYS)
        .map((write) => write(KEY).slice(0, 15))
        .join('')
        .repeat(2_000),
      'latin1',
    )
    const mask = createKeyMask(counted)
    let out = 0
    for (let at = 0; at < bytes.length; at += 64) {
      out += mask.push(bytes.subarray(at, at + 64)).length
      expect(at + 64 - out).toBeLessThanOrEqual(PATTERN.maxBytes + 64)
    }
    expect(out + mask.end().length).toBe(bytes.length)
    // A state is made once and found again.
    expect(steps).toBeLessThan(20_000)
    expect(PATTERN.maxBytes).toBeLessThan(256)
  })
})

describe('a short text', () => {
  it('loses the credential and nothing else', () => {
    expect(maskedText(PATTERN, `attachment; filename="${KEY}.txt"`)).toBe(
      `attachment; filename="${'*'.repeat(KEY.length)}.txt"`,
    )
    expect(maskedText(PATTERN, 'text/plain')).toBe('text/plain')
  })
})

describe('compressed data', () => {
  it.each([
    ['gzip', '1f8b0800', true],
    ['zlib', '789c4bcb', true],
    ['zstd', '28b52ffd', true],
    ['xz', 'fd377a585a00', true],
    ['the beginning of it', '1f', undefined],
    ['nothing', '', undefined],
    ['JSON', '7b22', false],
    ['a text', '7874', false],
    ['one letter of a text', '78', undefined],
    ['a longer text', '787420617320', false],
  ])('is recognised by its first bytes: %s', (_name, opening, verdict) => {
    expect(isCompressed(Buffer.from(opening, 'hex'))).toBe(verdict)
  })
})
