import type { JsonObject } from '#shared/json-members.ts'
import { isGiven } from '#shared/json-members.ts'
import { mustBe } from './fields.ts'
import { ROUTING_FIELDS } from './hints.ts'

const MAX_PROMPT_CHARS = 32_768

/** The words for a picture, a film or music. */
export function readPrompt(prompt: unknown): string {
  if (typeof prompt === 'string' && prompt.trim() !== '' && prompt.length <= MAX_PROMPT_CHARS) return prompt
  throw mustBe('prompt', `a text of 1 to ${MAX_PROMPT_CHARS} characters`)
}

/** The members that nobody read. Each goes to a provider that knows it, or is named as left out. */
export function extrasOf(body: JsonObject, read: ReadonlySet<string>): JsonObject {
  const extras: Record<string, unknown> = {}
  for (const name in body) {
    if (!read.has(name) && !ROUTING_FIELDS.has(name) && isGiven(body[name])) extras[name] = body[name]
  }
  return extras
}
