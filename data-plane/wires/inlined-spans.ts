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
/** Top-level members with initial images: texts, objects, or lists of both. */
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
  /** True after the name of the searched member, until the next top-level name. */
  isInside: boolean
  /** The string that was read last. */
  last: InlinedSpan
  /** The name of the next value; empty when an element or a name comes next. */
  name: string
}

/**
 * Finds the known data that a top-level member of a JSON text holds, each without its quotes and the head of its URL.
 * The text is not validated: in valid JSON a span lies within one string, has no escapes other than slashes, and may be
 * replaced by another base64 text without changing anything around it.
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

/** Passes the text that begins at `start`; returns the index of its closing quote, or -1 without one. */
function passText(walk: Walk, start: number): number {
  const { bytes, knownData, spans } = walk
  const mayHold = walk.isInside && isHolder(walk)
  const span = mayHold ? knownData.get(start) : undefined
  if (span !== undefined) spans.push(span)
  const end = span?.end ?? closingQuote(bytes, start)
  walk.last = { start, end }
  return end
}

/** True when a text may be data. An element of a list has no name. */
function isHolder({ member, depth, name }: Walk): boolean {
  if (member !== 'sources') return depth > 1 && HOLDERS.has(name)
  return name === '' ? depth > 1 : HOLDERS.has(name) || SOURCES.has(name)
}

/** The name before a colon; empty for a name that is too long to matter. */
function nameOf({ bytes, last, member }: Walk): string {
  const length = last.end - last.start
  return length > Math.max(MAX_HOLDER_BYTES, member.length) ? '' : bytes.toString('latin1', last.start, last.end)
}
