import { BACKSLASH, CLOSE_LIST, CLOSE_OBJECT, COLON, COMMA, OPEN_LIST, OPEN_OBJECT, QUOTE } from '#shared/json-bytes.ts'

/** Where data lies in the bytes of a request, from its first byte to the one behind its last. */
export type InlinedSpan = { readonly start: number; readonly end: number }

/** Shorter data is as good as text. */
const MIN_SPAN_BYTES = 16_384
/** Members of a message's part that hold data: `data:` URLs, or base64 without a head. */
const HOLDERS: ReadonlySet<string> = new Set(['url', 'image_url', 'file_data', 'data'])
const MAX_HOLDER_BYTES = 16
/** The head of a `data:` URL, but not of a text's: the messages protocol decodes those. */
const HEAD = /^data:(?!text)(?:[^\\,"]|\\\/)*?;base64,/
const MAX_HEAD_BYTES = 256

const SLASH = 47

const BASE64 = /[A-Za-z0-9+/=_-]/
const isBase64Byte = Uint8Array.from({ length: 256 }, (_, byte) => (BASE64.test(String.fromCharCode(byte)) ? 1 : 0))

type Walk = {
  readonly bytes: Buffer
  readonly member: string
  readonly spans: InlinedSpan[]
  depth: number
  /** True behind the name of the member that is searched, until the next name at the top. */
  isInside: boolean
  /** The string that was read last. */
  last: InlinedSpan
  /** The name whose value comes next; empty where what comes is an element or a name. */
  name: string
}

/**
 * Finds the long base64 texts in one member of the object at the top of a JSON text, each without its quotes and the head
 * of its URL. It does not validate: where the text is JSON a span lies within one string, has no escapes but of slashes,
 * and another base64 text in its place leaves everything around it what it is.
 */
export function findInlinedSpans(bytes: Buffer, member: string): readonly InlinedSpan[] {
  const last = { start: 0, end: 0 }
  const walk: Walk = { bytes, member, spans: [], depth: 0, isInside: false, last, name: '' }
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case QUOTE:
        at = passText(walk, at + 1)
        if (at < 0) return walk.spans
        break
      case COLON:
        walk.name = nameOf(walk)
        if (walk.depth === 1) walk.isInside = walk.name === member
        break
      case OPEN_OBJECT:
      case OPEN_LIST:
        walk.depth++
        walk.name = ''
        break
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        walk.depth--
        walk.name = ''
        break
      case COMMA:
        walk.name = ''
        break
    }
  }
  return walk.spans
}

/** Passes the text that begins at `start`; answers with its closing quote, or -1 where it has none. */
function passText(walk: Walk, start: number): number {
  const { bytes, spans, name } = walk
  const mayHold = walk.isInside && walk.depth > 1 && HOLDERS.has(name)
  const span = mayHold ? dataSpan(bytes, start) : undefined
  if (span !== undefined) spans.push(span)
  const end = span?.end ?? textEnd(bytes, start)
  walk.last = { start, end }
  return end
}

/** The name before a colon; empty for one that is too long to be asked for. */
function nameOf({ bytes, last, member }: Walk): string {
  const length = last.end - last.start
  return length > Math.max(MAX_HOLDER_BYTES, member.length) ? '' : bytes.toString('latin1', last.start, last.end)
}

/** The data in the text that begins at `from`; undefined where it holds anything else, or little. */
function dataSpan(bytes: Buffer, from: number): InlinedSpan | undefined {
  const head = HEAD.exec(bytes.toString('latin1', from, from + MAX_HEAD_BYTES))
  const start = from + (head?.[0].length ?? 0)
  if (bytes[start + MIN_SPAN_BYTES - 1] === undefined) return undefined
  const end = bytes.indexOf(QUOTE, start)
  return end - start >= MIN_SPAN_BYTES && isBase64(bytes, start, end) ? { start, end } : undefined
}

function isBase64(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at] ?? 0
    // Some writers escape every slash.
    if (isBase64Byte[byte] === 0 && !(byte === BACKSLASH && bytes[at + 1] === SLASH)) return false
  }
  return true
}

/** The place of the quote that ends the text which begins at `start`, or -1. */
function textEnd(bytes: Buffer, start: number): number {
  let end = bytes.indexOf(QUOTE, start)
  while (end >= 0) {
    let before = end - 1
    while (bytes[before] === BACKSLASH) before--
    // An even number of backslashes before the quote leaves it unescaped.
    if ((end - before) % 2 === 1) return end
    end = bytes.indexOf(QUOTE, end + 1)
  }
  return -1
}
