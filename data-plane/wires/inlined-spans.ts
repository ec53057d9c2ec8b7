import {
  CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  isStructure,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
} from '#shared/json-bytes.ts'
import type { InlinedSpan } from '#shared/json-gauge.ts'
import { closingQuote } from '#shared/json-gauge.ts'

/** Members of a message's part that hold data: `data:` URLs, or base64 without a head. */
const HOLDERS: ReadonlySet<string> = new Set(['url', 'image_url', 'file_data', 'data'])
/** Members at the top that hold pictures to begin with: texts, objects, or lists of both. */
const SOURCES: ReadonlySet<string> = new Set([
  'image',
  'image_url',
  'images',
  'input_images',
  'input_references',
  'end_image_url',
  'input_reference',
  'reference_images',
])
const MAX_HOLDER_BYTES = 16

/** Long base64 texts, by the place where their text begins. */
export type KnownData = ReadonlyMap<number, InlinedSpan>

type Walk = {
  readonly bytes: Buffer
  readonly knownData: KnownData
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
 * Finds those of the known data that one member of the object at the top of a JSON text holds, each without its quotes and
 * the head of its URL. It does not validate: where the text is JSON a span lies within one string, has no escapes but of
 * slashes, and another base64 text in its place leaves everything around it what it is.
 */
export function findInlinedSpans(bytes: Buffer, member: string, knownData: KnownData): readonly InlinedSpan[] {
  if (knownData.size === 0) return []
  const last = { start: 0, end: 0 }
  const walk: Walk = { bytes, knownData, member, spans: [], depth: 0, isInside: false, last, name: '' }
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (isStructure[byte] === 0) continue
    switch (byte) {
      case QUOTE:
        at = passText(walk, at + 1)
        if (at < 0) return walk.spans
        break
      case COLON:
        walk.name = nameOf(walk)
        if (walk.depth === 1) walk.isInside = member === 'sources' ? SOURCES.has(walk.name) : walk.name === member
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
  const { bytes, knownData, spans } = walk
  const mayHold = walk.isInside && isHolder(walk)
  const span = mayHold ? knownData.get(start) : undefined
  if (span !== undefined) spans.push(span)
  const end = span?.end ?? closingQuote(bytes, start)
  walk.last = { start, end }
  return end
}

/** True where a text may be data. An element of a list has no name. */
function isHolder({ member, depth, name }: Walk): boolean {
  if (member !== 'sources') return depth > 1 && HOLDERS.has(name)
  return name === '' ? depth > 1 : HOLDERS.has(name) || SOURCES.has(name)
}

/** The name before a colon; empty for one that is too long to be asked for. */
function nameOf({ bytes, last, member }: Walk): string {
  const length = last.end - last.start
  return length > Math.max(MAX_HOLDER_BYTES, member.length) ? '' : bytes.toString('latin1', last.start, last.end)
}
