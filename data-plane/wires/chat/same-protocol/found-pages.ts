import type { JsonObject } from '#shared/json-members.ts'

/** Members of an answer with the pages that its provider found: of Perplexity and xAI. */
const FOUND = ['citations', 'search_results', 'related_questions', 'images'] as const
/** Longer members are left out. */
const MAX_CHARS = 262_144

/** The members of an answer with found pages, after others, as JSON text. */
export function foundMembers(body: JsonObject): string {
  let text = ''
  for (const name of FOUND) {
    const value = body[name]
    if (!Array.isArray(value) || value.length === 0) continue
    const json = JSON.stringify(value)
    if (json.length <= MAX_CHARS) text += `,"${name}":${json}`
  }
  return text
}
