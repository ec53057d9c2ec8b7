import { AppError } from './errors.ts'
import {
  BACKSLASH,
  CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  isStructure,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
  SLASH,
} from './json-bytes.ts'
import { MAX_JSON_DEPTH } from './json-members.ts'

/** Shorter data counts as text. */
export const MIN_SPAN_BYTES = 16_384
/** The most bytes of a JSON body besides inlined data. */
export const MAX_JSON_BYTES = 10_485_760
/**
 * The highest weight of these bytes and of the values that JSON.parse builds from them. A byte weighs one. The other
 * weights are measured, so that parsing the heaviest body takes less than fifty milliseconds.
 */
const MAX_WEIGHT = 16_777_216
const MEMBER = 320
const LIST = 64
const ELEMENT = 16
const TEXT = 24
/** A byte outside texts is examined by itself, more than once. */
const BARE_BYTE = 2

/** The place of data in the bytes of a request, from its first byte to the one after its last. */
export type InlinedSpan = { readonly start: number; readonly end: number }

/** Weighs a JSON body while its bytes arrive, before any value is built from them. The body is not validated. */
export type JsonGauge = {
  /**
   * Takes the next bytes. Throws `request_too_large` for a body that weighs too much and `invalid_json` for a deep one.
   */
  add(bytes: Buffer): void
  /** Long base64 texts, by the place where their text begins. */
  readonly spans: ReadonlyMap<number, InlinedSpan>
  /** Received bytes. */
  bytes(): number
  /** The weight of those bytes. */
  weight(): number
}

/** The head of a `data:` URL, but not of a text's: the messages protocol decodes those. */
const HEAD = /^data:(?!text)(?:[^\\,"]|\\\/)*?;base64,/
const MAX_HEAD_BYTES = 256
const BASE64 = /[A-Za-z0-9+/=_-]/
const BASE64_TEXT = /^(?:[A-Za-z0-9+/=_-]|\\\/)*\\?$/
const isBase64Byte = Uint8Array.from({ length: 256 }, (_, byte) => (BASE64.test(String.fromCharCode(byte)) ? 1 : 0))

type State = {
  readonly spans: Map<number, InlinedSpan>
  /** Bytes besides data. */
  size: number
  /** The weight of the values of those bytes. */
  weight: number
  depth: number
  /** Bytes before the present ones. */
  passed: number
  isInText: boolean
  /** True when the last byte was a backslash that escapes the next one. */
  isEscaped: boolean
  /** The place of the first byte of the present text. */
  textStart: number
  /** False once the text is known not to be data. */
  mayBeData: boolean
  /** The first bytes of the text, until they suffice to find the head of a URL in them. */
  head: string
  /** The place after the head; -1 while it is unknown. */
  dataStart: number
  /** Receives decoded bytes for their check. No two bodies share it. */
  decoded: Buffer | undefined
}

export function createJsonGauge(): JsonGauge {
  const state: State = {
    spans: new Map(),
    size: 0,
    weight: 0,
    depth: 0,
    passed: 0,
    isInText: false,
    isEscaped: false,
    textStart: 0,
    mayBeData: false,
    head: '',
    dataStart: -1,
    decoded: undefined,
  }
  return {
    spans: state.spans,
    bytes: () => state.passed,
    weight: () => state.size + state.weight,
    add(bytes) {
      weigh(state, bytes)
      state.passed += bytes.length
      if (state.size > MAX_JSON_BYTES || state.size + state.weight > MAX_WEIGHT) throw tooHeavy()
    },
  }
}

/** The refusal of a body with too many texts and values. */
export function tooHeavy(): AppError {
  return new AppError('request_too_large', {
    message: `The request body has too many parts, or more than ${MAX_JSON_BYTES} bytes beside inlined data.`,
  })
}

function weigh(state: State, bytes: Buffer): void {
  let at = state.isInText ? passText(state, bytes, 0) : 0
  let weight = 0
  let bare = 0
  let texts = 0
  while (at < bytes.length) {
    const byte = bytes[at++] ?? 0
    bare++
    if (isStructure[byte] === 0) continue
    switch (byte) {
      case QUOTE: {
        weight += TEXT
        const end = endNearby(bytes, at)
        if (end >= 0) {
          texts += end - at
          at = end + 1
          break
        }
        state.textStart = state.passed + at
        state.mayBeData = true
        state.head = ''
        state.dataStart = -1
        at = passText(state, bytes, at)
        break
      }
      case COLON:
        weight += MEMBER
        break
      case COMMA:
        weight += ELEMENT
        break
      case OPEN_OBJECT:
      case OPEN_LIST:
        weight += LIST
        if (++state.depth > MAX_JSON_DEPTH) throw tooDeep()
        break
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        state.depth--
        break
    }
  }
  state.weight += weight + bare * BARE_BYTE
  state.size += bare + texts
}

/** The refusal of a body whose parsing would take a deep recursion. */
export function tooDeep(): AppError {
  return new AppError('invalid_json', { message: `The request body is cut or nests deeper than ${MAX_JSON_DEPTH}.` })
}

/** Passes the part of a text that begins at `from`. Returns the place after its quote, or the end of the bytes. */
function passText(state: State, bytes: Buffer, from: number): number {
  const wasEscaped = state.isEscaped
  const quote = closingQuote(bytes, wasEscaped ? from + 1 : from)
  const end = quote < 0 ? bytes.length : quote
  state.isInText = quote < 0
  state.isEscaped = quote < 0 && endsEscaped(bytes, wasEscaped ? from + 1 : from)
  const isShort = quote >= 0 && end - from < MIN_SPAN_BYTES && state.textStart === state.passed + from
  if (isShort) state.size += end - from
  else weighLong(state, bytes, { from, end, wasEscaped })
  if (quote < 0) return end
  if (!isShort && state.mayBeData) endData(state, state.passed + end)
  return quote + 1
}

type Part = { readonly from: number; readonly end: number; readonly wasEscaped: boolean }

/** Weighs a part of a long text. A text that may be data weighs nothing until it ends. */
function weighLong(state: State, bytes: Buffer, { from, end, wasEscaped }: Part): void {
  if (!state.mayBeData) {
    state.size += end - from
    return
  }
  let at = from
  let isEscaped = wasEscaped
  if (state.dataStart < 0) {
    at = Math.min(end, from + MAX_HEAD_BYTES - state.head.length)
    state.head += bytes.toString('latin1', from, at)
    isEscaped = state.head.endsWith('\\')
    if (state.head.length < MAX_HEAD_BYTES) return
    const headLength = HEAD.exec(state.head)?.[0].length ?? 0
    state.dataStart = state.textStart + headLength
    state.mayBeData = BASE64_TEXT.test(state.head.slice(headLength))
  }
  if (state.mayBeData && isBase64(state, bytes, { from: at, end, wasEscaped: isEscaped })) return
  state.mayBeData = false
  state.size += state.passed + end - state.textStart
}

/** Ends a text that is base64 from `dataStart` on. It weighs as a text when it is short. */
function endData(state: State, end: number): void {
  const { textStart, dataStart } = state
  if (dataStart < 0 || end - dataStart < MIN_SPAN_BYTES) state.size += end - textStart
  else {
    state.size += dataStart - textStart
    state.spans.set(textStart, { start: dataStart, end })
  }
}

/** True when these bytes are base64. A backslash may precede them. */
function isBase64(state: State, bytes: Buffer, { from, end, wasEscaped }: Part): boolean {
  if (wasEscaped && from < end && bytes[from] !== SLASH) return false
  const decoded = passDecodable(state, bytes, { from, end })
  let pairedFrom = decoded
  for (let at = decoded; at < end; at++) {
    if (at >= pairedFrom) {
      at = passPairs(bytes, at, end)
      pairedFrom = at + STRIDE
      if (at === end) return true
    }
    const byte = bytes[at] ?? 0
    if (isBase64Byte[byte] === 1) continue
    // Some serialisers escape every slash. At the end of the bytes the next ones show the escaped character.
    if (byte !== BACKSLASH || (at + 1 < bytes.length && bytes[at + 1] !== SLASH)) return false
  }
  return true
}

/** Bytes that are decoded together. Four of them are three. */
const DECODED_BYTES = 16_384

/**
 * The place after the base64 that the runtime's decoder recognises, which is the fastest way of all. It skips other
 * characters, so its output has the expected length only when everything is base64.
 */
function passDecodable(state: State, bytes: Buffer, { from, end }: Omit<Part, 'wasEscaped'>): number {
  let at = from
  for (let next = at + DECODED_BYTES; next <= end; next += DECODED_BYTES) {
    state.decoded ??= Buffer.allocUnsafeSlow((DECODED_BYTES / 4) * 3)
    if (state.decoded.write(bytes.toString('latin1', at, next), 'base64') < state.decoded.length) break
    at = next
  }
  return at
}

/** For each pair of bytes, as one number of either byte order: whether one of them is not base64. */
const isOtherPair = Uint8Array.from({ length: 65_536 }, (_, pair) =>
  isBase64Byte[pair & 0xff] === 1 && isBase64Byte[pair >> 8] === 1 ? 0 : 1,
)
/** Pairs that are checked together. */
const PAIRS = 8

/**
 * The place after the base64 that pairs of bytes show, which is many times as fast as byte by byte. The byte at that
 * place needs a check by itself: it may be an escape, or one of the last bytes.
 */
function passPairs(bytes: Buffer, from: number, end: number): number {
  // Pairs are at even addresses of the memory.
  const isOdd = (bytes.byteOffset + from) % 2 === 1
  if (isOdd && isBase64Byte[bytes[from] ?? 0] !== 1) return from
  const first = isOdd ? from + 1 : from
  const pairs = new Uint16Array(bytes.buffer, bytes.byteOffset + first, (end - first) >> 1)
  let at = 0
  for (const last = pairs.length - PAIRS; at <= last; at += PAIRS) {
    const others =
      other(pairs[at]) |
      other(pairs[at + 1]) |
      other(pairs[at + 2]) |
      other(pairs[at + 3]) |
      other(pairs[at + 4]) |
      other(pairs[at + 5]) |
      other(pairs[at + 6]) |
      other(pairs[at + 7])
    if (others !== 0) break
  }
  return first + at * 2
}

function other(pair: number | undefined): number {
  return isOtherPair[pair ?? 0] ?? 1
}

/** Bytes of a text that are checked one by one: most texts are short, and escapes come in clusters. */
const STRIDE = 64

/** The place of the quote that ends the text from `from` when it is near, else -1. */
function endNearby(bytes: Buffer, from: number): number {
  const stop = Math.min(from + STRIDE, bytes.length)
  for (let at = from; at < stop; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) return at
    if (byte === BACKSLASH) at++
  }
  return -1
}

/** The place of the quote that ends the text around `from`, or -1. */
export function closingQuote(bytes: Buffer, from: number): number {
  let scanned = from
  while (scanned < bytes.length) {
    for (const stop = Math.min(scanned + STRIDE, bytes.length); scanned < stop; scanned++) {
      const byte = bytes[scanned]
      if (byte === QUOTE) return scanned
      if (byte === BACKSLASH) scanned++
    }
    const quote = bytes.indexOf(QUOTE, scanned)
    if (quote < 0) return -1
    let before = quote - 1
    while (before >= scanned && bytes[before] === BACKSLASH) before--
    // An even number of backslashes before the quote leaves it unescaped.
    if ((quote - before) % 2 === 1) return quote
    scanned = quote + 1
  }
  return -1
}

function endsEscaped(bytes: Buffer, from: number): boolean {
  let before = bytes.length - 1
  while (before >= from && bytes[before] === BACKSLASH) before--
  return (bytes.length - 1 - before) % 2 === 1
}
