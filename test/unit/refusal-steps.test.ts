import { afterEach, describe, expect, it, vi } from 'vitest'
import { methodsOf } from '#control-plane/api/rest/door.ts'
import { splitFloor } from '#data-plane/http/path-floor.ts'
import { createRowIndex } from '#data-plane/http/row-index.ts'
import { surfaceRows } from '#data-plane/routes.ts'
import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { readForm } from '#data-plane/wires/form.ts'
import { createHeadCheck } from '#shared/http-head.ts'
import { createSseReader } from '#shared/protocols/answers/sse.ts'
import { isPlainPath } from '#shared/rules/path-pattern.ts'

// Rows need no rails to say where they are mounted.
const rail = {} as never
const ROWS = surfaceRows({ credit: rail, creditByEitherHeader: rail, x402: [rail], x402Exact: [rail], mpp: [rail] })
const index = createRowIndex(ROWS, { envelope: openAiEnvelope })
const faultOfHead = createHeadCheck()

afterEach(() => vi.restoreAllMocks())

/** Counts the characters and items that a work handles by the functions of texts and lists. Time is not looked at. */
function stepsOf(work: () => void): number {
  let steps = 0
  const count = <Made>(made: Made): Made => {
    const sized = typeof made === 'string' || Array.isArray(made) ? made.length : 0
    steps += 1 + sized
    return made
  }
  const texts = String.prototype
  const { slice, split, indexOf, startsWith, toLowerCase, trim } = texts
  const { join } = Array.prototype
  vi.spyOn(texts, 'slice').mockImplementation(function (this: string, ...range) {
    return count(slice.apply(this, range))
  })
  vi.spyOn(texts, 'split').mockImplementation(function (this: string, ...by: unknown[]) {
    return count(Reflect.apply(split, this, by))
  })
  vi.spyOn(texts, 'indexOf').mockImplementation(function (this: string, ...what) {
    const [, from = 0] = what
    const at = indexOf.apply(this, what)
    steps += 1 + (at < 0 ? this.length : at) - from
    return at
  })
  vi.spyOn(texts, 'startsWith').mockImplementation(function (this: string, ...what) {
    steps += 1 + what[0].length
    return startsWith.apply(this, what)
  })
  vi.spyOn(texts, 'toLowerCase').mockImplementation(function (this: string) {
    return count(toLowerCase.apply(this))
  })
  vi.spyOn(texts, 'trim').mockImplementation(function (this: string) {
    return count(trim.apply(this))
  })
  vi.spyOn(Array.prototype, 'join').mockImplementation(function (this: unknown[], by) {
    return count(join.call(this, by))
  })
  try {
    work()
  } catch {
    // A refusal is what is counted.
  } finally {
    vi.restoreAllMocks()
  }
  return steps
}

const BOUNDARY = 'multipart/form-data; boundary=b'
const part = '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n'

/** Works of a refusal by the size of what is refused. */
const WORKS: Readonly<Record<string, (size: number) => () => void>> = {
  'the voice of a path of slashes': (size) => {
    const path = '/'.repeat(size)
    return () => index.familyOf(path)
  },
  'the voice of a path below a row': (size) => {
    const path = `/v1/chat/completions${'/a'.repeat(size / 2)}`
    return () => index.familyOf(path)
  },
  'the rows of a path of slashes': (size) => {
    const path = '/'.repeat(size)
    return () => index.find(path)
  },
  'the rows of a path of floors': (size) => {
    const path = '/min5'.repeat(size / 5)
    return () => index.find(path)
  },
  'a floor that does not end': (size) => {
    const path = `/min${'5'.repeat(size)}`
    return () => splitFloor(path, '')
  },
  'the methods of a path of slashes on the control plane': (size) => {
    const path = '/'.repeat(size)
    return () => methodsOf(path)
  },
  'a path of a lent key': (size) => {
    const path = '/a'.repeat(size / 2)
    return () => isPlainPath(path)
  },
  'many headers of one length': (size) => {
    const rawHeaders = Array.from({ length: Math.min(200, size / 8) }, () => 'x'.repeat(13))
    return () => faultOfHead({ rawHeaders, headers: { host: 'a' }, url: '/' })
  },
  'a long host': (size) => {
    const host = 'a.'.repeat(size / 2)
    return () => faultOfHead({ rawHeaders: [], headers: { host }, url: '/' })
  },
  'a form of many parts': (size) => {
    const body = Buffer.from(part.repeat(size / 64))
    return () => readForm(BOUNDARY, body)
  },
  'a form whose parts do not end': (size) => {
    const body = Buffer.from(`${part}--b\r\n${'\r\n-'.repeat(size / 3)}`)
    return () => readForm(BOUNDARY, body)
  },
  'an event of a provider that comes letter by letter': (size) => {
    const letter = Buffer.from('d')
    return () => {
      const reader = createSseReader(() => true)
      for (let at = 0; at < size; at++) reader.push(letter)
      reader.end()
    }
  },
  'an event of many lines': (size) => {
    const lines = Buffer.from('data: x\n'.repeat(size / 8))
    return () => createSseReader(() => true).push(lines)
  },
}

const SIZE = 1_024

describe('the steps of a refusal', () => {
  it.each(Object.entries(WORKS))('grow no faster than what is refused: %s', (_what, workOf) => {
    const [small, large] = [stepsOf(workOf(SIZE)), stepsOf(workOf(8 * SIZE))]
    // Eight times the bytes are at most eight times the steps, and a constant part of each.
    expect(large).toBeLessThanOrEqual(9 * small + 1_000)
    // A refused byte costs few steps, whatever is refused.
    expect(large).toBeLessThanOrEqual(24 * 8 * SIZE)
  })
})
