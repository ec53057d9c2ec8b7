import { isGiven, isRecord } from '#shared/json-members.ts'

/** The members of each piece of a transcript that clients read, and the type of each. */
const PIECES: Readonly<Record<string, Readonly<Record<string, 'number' | 'string'>>>> = {
  segments: { start: 'number', end: 'number', text: 'string' },
  words: { start: 'number', end: 'number', word: 'string' },
  logprobs: { token: 'string', logprob: 'number' },
}
const SECONDS = /^\d{1,7}(?:\.\d{1,16})?$/

/** True for a value that clients can read under this member of a transcript. Each member may be missing. */
export function isTranscriptMember(name: string, value: unknown): boolean {
  if (!isGiven(value)) return true
  const piece = Object.hasOwn(PIECES, name) ? PIECES[name] : undefined
  if (piece !== undefined) return Array.isArray(value) && value.every((element) => isPiece(element, piece))
  // Some providers send the seconds as a text.
  if (name === 'duration') return typeof value === 'number' || (typeof value === 'string' && SECONDS.test(value))
  return typeof value === 'string'
}

function isPiece(element: unknown, piece: Readonly<Record<string, string>>): boolean {
  if (!isRecord(element)) return false
  for (const name in piece) {
    const value = element[name]
    if (isGiven(value) && typeof value !== piece[name]) return false
  }
  return true
}
