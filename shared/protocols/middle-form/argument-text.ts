import { readJsonObject } from '#shared/json-members.ts'

/** Reads one text argument of a call out of the call's JSON, which comes in pieces cut anywhere. */
export type ArgumentText = {
  /** The next part of the text, as far as it is certain. */
  take(piece: string): string
  /** The rest of the text when the call is over. All that came, where it is no object with the argument. */
  end(): string
}

const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }
/** The longest beginning of an object in which its first member is looked for again and again. */
const MAX_OPENING_CHARS = 256
/** Characters of `\uXXXX`. */
const UNICODE_CHARS = 6

export function readArgumentText(name: string): ArgumentText {
  const opening = new RegExp(`^\\s*\\{\\s*"${name}"\\s*:\\s*"`)
  let state: 'before' | 'inside' | 'over' = 'before'
  let held = ''
  return {
    take(piece) {
      if (state === 'over') return ''
      const mayOpen = held.length < MAX_OPENING_CHARS
      held += piece
      if (state === 'before') {
        const found = mayOpen ? opening.exec(held) : null
        if (found === null) return ''
        state = 'inside'
        held = held.slice(found[0].length)
      }
      const { text, taken, isEnd } = readString(held)
      held = isEnd ? '' : held.slice(taken)
      if (isEnd) state = 'over'
      return text
    },
    end() {
      const left = state === 'before' ? otherwise(held, name) : ''
      state = 'over'
      held = ''
      return left
    },
  }
}

/** The argument where it is not the first or no text, or the whole where it is no object with the argument. */
function otherwise(held: string, name: string): string {
  const value = readJsonObject(held)
  if (value === undefined) return held
  const given = value[name]
  if (typeof given === 'string') return given
  if (given !== undefined && given !== null) return JSON.stringify(given)
  return Object.keys(value).length === 0 ? '' : held
}

type Read = { readonly text: string; readonly taken: number; readonly isEnd: boolean }

/** Reads the inside of a JSON text up to its quote, or up to an escape or a pair of characters that is not complete. */
function readString(given: string): Read {
  let text = ''
  let at = 0
  while (at < given.length) {
    const char = given.charAt(at)
    if (char === '"') return { text, taken: at + 1, isEnd: true }
    if (char !== '\\') {
      const stop = runEnd(given, at)
      text += given.slice(at, stop)
      at = stop
      continue
    }
    const size = given.charAt(at + 1) === 'u' ? UNICODE_CHARS : 2
    if (at + size > given.length) break
    text += unescaped(given.slice(at, at + size))
    at += size
  }
  // The first half of a pair waits for the second: alone it is no character.
  const last = text.charCodeAt(text.length - 1)
  if (last < 0xd800 || last > 0xdbff) return { text, taken: at, isEnd: false }
  const size = given.charAt(at - 1) === text.at(-1) ? 1 : UNICODE_CHARS
  return { text: text.slice(0, -1), taken: at - size, isEnd: false }
}

function runEnd(given: string, from: number): number {
  for (let at = from; at < given.length; at++) {
    const char = given.charAt(at)
    if (char === '"' || char === '\\') return at
  }
  return given.length
}

function unescaped(given: string): string {
  const word = given.charAt(1)
  if (word !== 'u') return ESCAPES[word] ?? word
  const code = Number.parseInt(given.slice(2), 16)
  return Number.isNaN(code) ? given : String.fromCharCode(code)
}
