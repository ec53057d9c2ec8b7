import { parseJson } from '#shared/parse-json.ts'
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
} from './json-bytes.ts'

/** A JSON text that nests deeper is refused before it is parsed. */
export const MAX_JSON_DEPTH = 64

/** A member of a JSON text's top object. Its value is `text.slice(start, end)`. */
export type JsonMember = { readonly key: string; readonly start: number; readonly end: number }

/**
 * Finds the members of the top object without building anything, so that an edit leaves all other values as they are,
 * byte for byte. The text is not validated; JSON.parse does that. Undefined when the text nests deeper than {@link
 * MAX_JSON_DEPTH} or a string does not end.
 */
export function scanMembers(text: string): JsonMember[] | undefined {
  return scanObjects(text, 1)?.[0]
}

/** Finds the members of each object in the top list in one pass. Any other element has none. */
export function scanElements(text: string): JsonMember[][] | undefined {
  return scanObjects(text, 2)
}

/** The members of the objects at a depth. A comma one level above them separates two objects. */
function scanObjects(text: string, level: 1 | 2): JsonMember[][] | undefined {
  let members: JsonMember[] = []
  const objects = [members]
  let depth = 0
  let key = ''
  let valueStart = -1
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    // Most characters are none of these, and a switch tests one after another.
    if (isStructure[char] !== 1) continue
    switch (char) {
      case QUOTE: {
        const end = stringEnd(text, at)
        if (end < 0) return undefined
        if (depth === level && valueStart < 0) key = text.slice(at + 1, end)
        at = end
        break
      }
      case COLON:
        if (depth === level && valueStart < 0) valueStart = at + 1
        break
      case OPEN_OBJECT:
      case OPEN_LIST:
        if (++depth > MAX_JSON_DEPTH) return undefined
        break
      case COMMA:
        if (depth === level && valueStart >= 0) {
          members.push({ key: decodeKey(key), start: valueStart, end: at })
          valueStart = -1
        } else if (depth === level - 1) {
          members = []
          objects.push(members)
        }
        break
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        if (--depth === level - 1 && valueStart >= 0) {
          members.push({ key: decodeKey(key), start: valueStart, end: at })
          valueStart = -1
        }
        break
    }
  }
  return objects
}

/** Characters of a string that are checked one by one: most strings are short, and escapes come in clusters. */
const STRIDE = 64

/** The index of the quote that ends the string beginning at `start`, or -1. */
function stringEnd(text: string, start: number): number {
  let next = start + 1
  while (next < text.length) {
    for (const stop = Math.min(next + STRIDE, text.length); next < stop; next++) {
      const char = text.charCodeAt(next)
      if (char === QUOTE) return next
      if (char === BACKSLASH) next++
    }
    const end = text.indexOf('"', next)
    if (end < 0) return -1
    let before = end - 1
    while (before >= next && text.charCodeAt(before) === BACKSLASH) before--
    // An even number of backslashes before the quote leaves it unescaped.
    if ((end - before) % 2 === 1) return end
    next = end + 1
  }
  return -1
}

/** The texts of a list's elements, unchanged. `text` is a list that JSON.parse has read. */
export function elementTexts(text: string): string[] {
  const elements: string[] = []
  let depth = 0
  let from = -1
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === QUOTE) {
      const end = stringEnd(text, at)
      if (end < 0) return elements
      at = end
    } else if (char === OPEN_OBJECT || char === OPEN_LIST) {
      if (++depth === 1) from = at + 1
    } else if ((char === COMMA && depth === 1) || ((char === CLOSE_OBJECT || char === CLOSE_LIST) && --depth === 0)) {
      elements.push(text.slice(from, at).trim())
      from = at + 1
    }
  }
  return elements
}

function decodeKey(raw: string): string {
  if (!raw.includes('\\')) return raw
  try {
    return String(JSON.parse(`"${raw}"`))
  } catch {
    return raw
  }
}

/** Yields each name once with its last value, as JSON.parse reads duplicates. */
export function* lastMembers(members: readonly JsonMember[]): Iterable<JsonMember> {
  for (let index = 0; index < members.length; index++) {
    const member = members[index]
    if (member === undefined) continue
    if (members.some((other, at) => at > index && other.key === member.key)) continue
    yield member
  }
}

/** The text of the last member of that name, which JSON.parse keeps. Undefined without one. */
export function memberText(text: string, members: readonly JsonMember[], key: string): string | undefined {
  const lastMember = members.findLast((member) => member.key === key)
  return lastMember === undefined ? undefined : text.slice(lastMember.start, lastMember.end).trim()
}

/** The text of a member of a JSON object, from the object's own text. Undefined without one. */
export function memberTextIn(text: string, key: string): string | undefined {
  return memberText(text, scanMembers(text) ?? [], key)
}

/** A parsed JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>

/** A parsed list. Empty for anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** True for a text that is not empty. */
export function hasText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** True for a given member; null counts as absent. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

/** Parses a JSON object. Undefined when the text is anything else or nests too deep. */
export function readJsonObject(text: string): Record<string, unknown> | undefined {
  if (scanMembers(text) === undefined) return undefined
  const value = parseJson(text)
  return isRecord(value) ? value : undefined
}

/** A shorter text cannot nest deep enough to make parsing expensive. */
const DEEP_CHARS = 16_384

/** True when an event of a stream nests deeper than {@link MAX_JSON_DEPTH}. Short events are not checked. */
export function isTooDeep(text: string): boolean {
  return text.length > DEEP_CHARS && scanMembers(text) === undefined
}
