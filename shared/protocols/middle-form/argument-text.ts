import { readJsonObject } from '#shared/json-members.ts'

/** Reads one text argument out of a call's JSON, which arrives in pieces split at any place. */
export type ArgumentText = {
  /** The next part of the text, as far as it is certain. */
  take(piece: string): string
  /** The rest of the text at the end of the call. The whole input where it is no object with the argument. */
  end(): string
}

const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }
/** The longest beginning of an object that is searched again with each piece for its first member. */
const MAX_OPENING_CHARS = 256
/** Characters of `\uXXXX`. */
const UNICODE_CHARS = 6

export function readArgumentText(name: string): ArgumentText {
  const opening = new RegExp(`^\\s*\\{\\s*"${name}"\\s*:\\s*"`)
  let state: 'before' | 'inside' | 'over' = 'before'
  let buffered = ''
  return {
    take(piece) {
      if (state === 'over') return ''
      const mayOpen = buffered.length < MAX_OPENING_CHARS
      buffered += piece
      if (state === 'before') {
        const match = mayOpen ? opening.exec(buffered) : null
        if (match === null) return ''
        state = 'inside'
        buffered = buffered.slice(match[0].length)
      }
      const { text, end, isEnd } = readString(buffered)
      buffered = isEnd ? '' : buffered.slice(end)
      if (isEnd) state = 'over'
      return text
    },
    end() {
      const remainder = state === 'before' ? otherwise(buffered, name) : ''
      state = 'over'
      buffered = ''
      return remainder
    },
  }
}

/**
 * The argument where it is not the first member or no text; the whole input where it is no object with the argument.
 */
function otherwise(buffered: string, name: string): string {
  const value = readJsonObject(buffered)
  if (value === undefined) return buffered
  const argument = value[name]
  if (typeof argument === 'string') return argument
  if (argument !== undefined && argument !== null) return JSON.stringify(argument)
  return Object.keys(value).length === 0 ? '' : buffered
}

type Read = { readonly text: string; readonly end: number; readonly isEnd: boolean }

/** Reads the inside of a JSON string up to its closing quote, or up to an incomplete escape or surrogate pair. */
function readString(json: string): Read {
  let text = ''
  let at = 0
  while (at < json.length) {
    const char = json.charAt(at)
    if (char === '"') return { text, end: at + 1, isEnd: true }
    if (char !== '\\') {
      const stop = runEnd(json, at)
      text += json.slice(at, stop)
      at = stop
      continue
    }
    const size = json.charAt(at + 1) === 'u' ? UNICODE_CHARS : 2
    if (at + size > json.length) break
    text += unescaped(json.slice(at, at + size))
    at += size
  }
  // A high surrogate waits for its low surrogate, because alone it is no character.
  const last = text.charCodeAt(text.length - 1)
  if (last < 0xd800 || last > 0xdbff) return { text, end: at, isEnd: false }
  const size = json.charAt(at - 1) === text.at(-1) ? 1 : UNICODE_CHARS
  return { text: text.slice(0, -1), end: at - size, isEnd: false }
}

function runEnd(json: string, from: number): number {
  for (let at = from; at < json.length; at++) {
    const char = json.charAt(at)
    if (char === '"' || char === '\\') return at
  }
  return json.length
}

function unescaped(json: string): string {
  const word = json.charAt(1)
  if (word !== 'u') return ESCAPES[word] ?? word
  const code = Number.parseInt(json.slice(2), 16)
  return Number.isNaN(code) ? json : String.fromCharCode(code)
}
