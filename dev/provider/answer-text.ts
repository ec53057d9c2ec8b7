import { createHash } from 'node:crypto'
import { isRecord } from '#shared/json-members.ts'
import type { SampleChatRequest } from './chat-request.ts'

/** The longest answer that a prompt may request, in words. */
const MAX_ASKED_WORDS = 20_000
const MAX_QUOTE_CHARS = 160
const MAX_SCHEMA_DEPTH = 8

const OPENINGS = [
  'Here is a short answer to',
  'Let us look at',
  'In brief, this is what can be said about',
  'A few points on',
]
const SENTENCES = [
  'The main idea is simpler than it first appears.',
  'Start from what is known, and change one thing at a time.',
  'Each part has one job, and the parts meet in few places.',
  'Measure before you decide, and measure again afterwards.',
  'The common case should be short; the rare case should be safe.',
  'What is written down once does not have to be explained twice.',
  'There are limits to this, and they should be named.',
  'In practice the second attempt is the one that is kept.',
]

/** A number computed from a text, spread over 32 bits. The same text gives the same number. */
function seedOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0)
}

/** Writes a few plausible sentences from the request only. A prompt such as `write 200 words …` sets the length. */
export function composeAnswer(request: SampleChatRequest): string {
  if (request.answerSchema) return JSON.stringify(exampleOf(request.answerSchema, request.question))
  const seed = seedOf(`${request.model}\n${request.question}`)
  const wordCount = Math.min(Number(/\b(\d{1,6}) (?:words|tokens)\b/.exec(request.question)?.[1] ?? 0), MAX_ASKED_WORDS)
  const quote = request.question.trim().slice(0, MAX_QUOTE_CHARS).replace(/\s+/g, ' ')
  const sentences = [`${OPENINGS[seed % OPENINGS.length]} "${quote}".`]
  for (let index = 0; index < 3; index += 1) sentences.push(sentence(seed + index * 3))
  let words = sentences.join(' ').split(' ')
  for (let index = 0; words.length < wordCount; index += 1) words = words.concat(sentence(seed + index).split(' '))
  return (wordCount > 0 ? words.slice(0, wordCount) : words).join(' ')
}

function sentence(seed: number): string {
  return SENTENCES[seed % SENTENCES.length] ?? ''
}

/** The reasoning of a model before its answer. */
export function composeReasoning(request: SampleChatRequest): string {
  const length = request.question.trim().split(/\s+/).length
  return `The user writes ${length} words. I should find what is asked, check it once, and answer briefly.`
}

/**
 * The provider's own tokens: a word with the space before it. Long words are cut. Joined, the tokens are the text
 * again.
 */
export function tokensOf(text: string): readonly string[] {
  return text.match(/\s*[^\s]{1,8}|\s+/gu) ?? []
}

/** A value that fits the types of a JSON schema's properties. */
export function exampleOf(schema: Readonly<Record<string, unknown>>, hint: string, depth = 0): unknown {
  const choices = schema['enum']
  if (Array.isArray(choices)) return choices[0]
  if ('const' in schema) return schema['const']
  const kind = Array.isArray(schema['type']) ? schema['type'][0] : schema['type']
  switch (kind) {
    case 'string':
      return hint.slice(0, 40)
    case 'integer':
    case 'number':
      return typeof schema['minimum'] === 'number' ? schema['minimum'] : 1
    case 'boolean':
      return true
    case 'null':
      return null
    case 'array':
      return isRecord(schema['items']) && depth < MAX_SCHEMA_DEPTH ? [exampleOf(schema['items'], hint, depth + 1)] : []
    default:
      return exampleObject(schema, hint, depth)
  }
}

function exampleObject(schema: Readonly<Record<string, unknown>>, hint: string, depth: number): unknown {
  const properties = schema['properties']
  if (!isRecord(properties) || depth >= MAX_SCHEMA_DEPTH) return {}
  const entries = Object.entries(properties).map(([name, inner]) => [
    name,
    isRecord(inner) ? exampleOf(inner, hint, depth + 1) : hint,
  ])
  return Object.fromEntries(entries)
}
