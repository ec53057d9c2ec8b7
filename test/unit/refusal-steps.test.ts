import { specifiedRules } from 'graphql'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { parseDocument, validateDocument } from '#control-plane/api/graphql/limits.ts'
import { schema } from '#control-plane/api/graphql/schema.ts'
import { methodsOf } from '#control-plane/api/rest/door.ts'
import { checkBatch } from '#control-plane/api/trpc/door.ts'
import { splitFloor } from '#data-plane/http/path-floor.ts'
import { createRowIndex } from '#data-plane/http/row-index.ts'
import { readCredential } from '#data-plane/rails/mpp/credential.ts'
import { sentPayment } from '#data-plane/rails/x402/payment-header.ts'
import { bearerOf } from '#data-plane/reads/bearer.ts'
import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { readForm } from '#data-plane/wires/form.ts'
import { readRpc } from '#data-plane/wires/forward/rpc.ts'
import { readJsonBody } from '#data-plane/wires/json-body.ts'
import { isWellFormedKey } from '#shared/api-key.ts'
import { createHeadCheck } from '#shared/http-head.ts'
import { createJsonGauge } from '#shared/json-gauge.ts'
import { createSseReader } from '#shared/protocols/answers/sse.ts'
import { isPlainPath } from '#shared/rules/path-pattern.ts'
import { SURFACE_ROWS } from '#test/support/facts/surface-rows.ts'

const index = createRowIndex(SURFACE_ROWS, { envelope: openAiEnvelope })
const faultOfHead = createHeadCheck()

afterEach(() => vi.restoreAllMocks())

/**
 * Counts the characters and items that a function handles through strings, lists, maps and sets. Time is not measured.
 */
function stepsOf(work: () => void): number {
  let steps = 0
  const count = <Made>(made: Made): Made => {
    const sized = typeof made === 'string' || Array.isArray(made) ? made.length : 0
    steps += 1 + sized
    return made
  }
  const texts = String.prototype
  const { slice, split, indexOf, startsWith, toLowerCase, trim, charCodeAt } = texts
  const { exec } = RegExp.prototype
  const { parse } = JSON
  const { toString: textOf } = Buffer.prototype
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
  vi.spyOn(texts, 'charCodeAt').mockImplementation(function (this: string, at) {
    steps++
    return charCodeAt.call(this, at)
  })
  // The engine calls it for `test`, `match`, `replace` and `split` as well.
  vi.spyOn(RegExp.prototype, 'exec').mockImplementation(function (this: RegExp, text) {
    const from = this.global || this.sticky ? this.lastIndex : 0
    const found = exec.call(this, text)
    // A sticky pattern reads one place alone.
    const end = found === null ? (this.sticky ? from : text.length) : found.index + found[0].length
    steps += 1 + end - from
    return found
  })
  vi.spyOn(JSON, 'parse').mockImplementation((text) => {
    count(text)
    return parse(text)
  })
  vi.spyOn(Buffer.prototype, 'toString').mockImplementation(function (this: Buffer, ...how) {
    return count(textOf.apply(this, how))
  })
  const [maps, sets] = [Map.prototype, Set.prototype]
  const { get, set } = maps
  const { has, add } = sets
  vi.spyOn(maps, 'get').mockImplementation(function (this: Map<unknown, unknown>, key) {
    steps++
    return get.call(this, key)
  })
  vi.spyOn(maps, 'set').mockImplementation(function (this: Map<unknown, unknown>, key, value) {
    steps++
    set.call(this, key, value)
    return this
  })
  vi.spyOn(sets, 'has').mockImplementation(function (this: Set<unknown>, item) {
    steps++
    return has.call(this, item)
  })
  vi.spyOn(sets, 'add').mockImplementation(function (this: Set<unknown>, item) {
    steps++
    add.call(this, item)
    return this
  })
  vi.spyOn(Array.prototype, 'join').mockImplementation(function (this: unknown[], by) {
    return count(join.call(this, by))
  })
  try {
    work()
  } catch {
    // A refusal throws, but its steps count.
  } finally {
    vi.restoreAllMocks()
  }
  return steps
}

/** A header of about this many characters, whose value is refused in each of these ways. */
const HEADERS: Readonly<Record<string, (size: number) => string>> = {
  spaces: (size) => `Bearer${' '.repeat(size)}`,
  'spaces and a word': (size) => `Bearer${' '.repeat(size)}x x`,
  'words that do not end': (size) => `Bearer ${'x '.repeat(size / 2)}`,
  'a long key': (size) => `Bearer inf_${'x'.repeat(size)}`,
  'a credential of Payment': (size) => `Payment ${'A'.repeat(size)}`,
  'a credential of Payment that is JSON': (size) =>
    `Payment ${Buffer.from(JSON.stringify({ challenge: { id: 'x'.repeat(size) } })).toString('base64')}`,
  'Payment and spaces': (size) => `Payment${' '.repeat(size)}=`,
}

/** The parts of such a header that both planes read. */
function readHeader(authorization: string): void {
  const key = /^bearer +/i.test(authorization) ? authorization.slice('Bearer '.length) : ''
  isWellFormedKey(key)
  readCredential(authorization)
  sentPayment({ headers: { 'payment-signature': authorization, authorization } })
  sentPayment({ headers: { 'payment-signature': authorization.slice('Payment '.length) } })
  bearerOf(authorization)
}

/** Bodies of JSON that are refused. */
const BODIES: Readonly<Record<string, (size: number) => string>> = {
  lists: (size) => '['.repeat(size),
  objects: (size) => '{"a":'.repeat(size / 5),
  'a string without end': (size) => `{"a":"${'x'.repeat(size)}`,
  escapes: (size) => `{"a":"${'\\"'.repeat(size / 2)}"}`,
  'an escape without end': (size) => `{"a":"${'\\\\'.repeat(size / 2)}`,
  'many members': (size) => `{${Array.from({ length: size / 8 }, (_, at) => `"m${at}":1`).join()}}`,
  'one member many times': (size) => `{${'"a":1,'.repeat(size / 6)}"a":1}`,
  spaces: (size) => `${' '.repeat(size)}x`,
  'spaces between members': (size) => `{"a":1${' '.repeat(size)}`,
  'many elements': (size) => `{"model":"m","messages":[${'0,'.repeat(size / 2)}`,
  'malformed numbers': (size) => `{"a":${'1'.repeat(size)}x}`,
}

/** Batches of JSON-RPC that are refused. */
const BATCHES: Readonly<Record<string, (size: number) => string>> = {
  'many requests': (size) => `[${'{},'.repeat(size / 3)}{}]`,
  'many malformed requests': (size) => `[${'1,'.repeat(size / 2)}1]`,
  'lists of lists': (size) => `[${'[],'.repeat(size / 3)}[]]`,
  'one request of many members': (size) =>
    `[{"jsonrpc":"2.0",${Array.from({ length: size / 8 }, (_, at) => `"m${at}":1`).join()}}]`,
  'a request with a long id': (size) => `[{"jsonrpc":"2.0","method":"m","id":"${'x'.repeat(size)}"}]`,
  'a request with a long method': (size) => `{"jsonrpc":"2.0","method":"${'x'.repeat(size)}"}`,
  'a batch without end': (size) => `[${'{"jsonrpc":"2.0"},'.repeat(size / 18)}`,
}

/** A function for each of these texts. */
function worksOf(
  what: string,
  texts: Readonly<Record<string, (size: number) => string>>,
  work: (text: string) => void,
): Readonly<Record<string, (size: number) => () => void>> {
  return Object.fromEntries(
    Object.entries(texts).map(([name, textOf]) => [
      `${what}: ${name}`,
      (size: number) => {
        const text = textOf(size)
        return () => work(text)
      },
    ]),
  )
}

/** Documents of GraphQL that are refused, or that are valid and expensive to check. */
const DOCUMENTS: Readonly<Record<string, (size: number) => string>> = {
  'unknown fields': (size) => `{${Array.from({ length: size / 8 }, (_, at) => `market${at}`).join(' ')}}`,
  'one field many times': (size) => `{${'viewer{kind}'.repeat(size / 12)}}`,
  'one field as often as tokens allow': (size) => `{${'viewer{kind}'.repeat(Math.min(size / 12, 240))}}`,
  aliases: (size) => `{${Array.from({ length: size / 16 }, (_, at) => `a${at}:viewer{kind}`).join(' ')}}`,
  depth: (size) => '{viewer'.repeat(size / 7),
  'fragments in a chain': (size) =>
    `{...f0}${Array.from({ length: size / 32 }, (_, at) => `fragment f${at} on Query{...f${at + 1}}`).join('')}`,
  'fragments that spread each other': (size) =>
    `{...f0}${Array.from({ length: size / 32 }, (_, at) => `fragment f${at} on Query{...f0 ...f1}`).join('')}`,
  'spreads of one fragment': (size) => `{${'...f '.repeat(size / 5)}}fragment f on Query{viewer{kind}}`,
  'inline fragments': (size) => `{${'...{viewer{kind}}'.repeat(size / 17)}}`,
  'variables without a use': (size) =>
    `query(${Array.from({ length: size / 12 }, (_, at) => `$v${at}:Int`).join()}){viewer{kind}}`,
  'unknown arguments': (size) =>
    `{trades(${Array.from({ length: size / 8 }, (_, at) => `limi${at}:1`).join()}){model}}`,
  'one argument many times': (size) => `{trades(${'limit:1 '.repeat(size / 8)}){model}}`,
  directives: (size) => `{viewer ${'@include(if:true)'.repeat(size / 17)}{kind}}`,
  'operations of one name': (size) => 'query a{viewer{kind}}'.repeat(size / 21),
  'a list without end': (size) => `{trades(limit:${'['.repeat(size)}`,
  'a string without end': (size) => `{market(model:"${'x'.repeat(size)}`,
  'a block text': (size) => `{market(model:"""${' x\n'.repeat(size / 3)}"""){id}}`,
  comments: (size) => `${'#\n'.repeat(size / 2)}{viewer{kind}}`,
  'commas and spaces': (size) => `${', '.repeat(size / 2)}{viewer{kind}}`,
  'an enum with a long name': (size) => `{markets(first:1,sort:${'A'.repeat(size)}){edges{cursor}}}`,
}

function checkDocument(text: string): void {
  validateDocument(schema, parseDocument(text), specifiedRules)
}

const BOUNDARY = 'multipart/form-data; boundary=b'
const part = '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n'

/** Functions that refuse an input of a given size. */
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
  'a floor without end': (size) => {
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
  'a form whose parts have no end': (size) => {
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
  ...worksOf('an Authorization header', HEADERS, readHeader),
  ...worksOf('a body of JSON', BODIES, (text) => void readJsonBody({ body: Buffer.from(text) })),
  ...worksOf('a GraphQL document', DOCUMENTS, checkDocument),
  ...worksOf('a batch of JSON-RPC', BATCHES, (text) => void readRpc({ rpc: undefined } as never, Buffer.from(text))),
  'a body that is weighed letter by letter': (size) => {
    const letters = Buffer.from(`{"a":"data:image/png;base64,${'A'.repeat(size)}`)
    return () => {
      const gauge = createJsonGauge()
      for (let at = 0; at < letters.length; at++) gauge.add(letters.subarray(at, at + 1))
    }
  },
  'a batch of tRPC': (size) => {
    const url = `/trpc/${'a,'.repeat(size / 2)}?batch=1`
    return () => checkBatch({ url, method: 'GET' })
  },
  'a batch of tRPC of encoded commas': (size) => {
    const url = `/trpc/${'%2C'.repeat(size / 3)}`
    return () => checkBatch({ url, method: 'POST' })
  },
  'a batch of tRPC without the mark in its query': (size) => {
    const url = `/trpc/a,b?${'batch=1x&'.repeat(size / 9)}`
    return () => checkBatch({ url, method: 'GET' })
  },
  'an event of many lines': (size) => {
    const lines = Buffer.from('data: x\n'.repeat(size / 8))
    return () => createSseReader(() => true).push(lines)
  },
}

const SIZE = 1_024

describe('the steps of a refusal', () => {
  it.each(Object.entries(WORKS))('grow linearly with the refused input: %s', (_what, workOf) => {
    const [small, large] = [stepsOf(workOf(SIZE)), stepsOf(workOf(8 * SIZE))]
    // Eight times the bytes take at most eight times the steps, beside a constant.
    expect(large).toBeLessThanOrEqual(9 * small + 1_000)
    // A refused byte takes few steps, for any input.
    expect(large).toBeLessThanOrEqual(24 * 8 * SIZE)
  })
})
