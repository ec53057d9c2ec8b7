import { isRecord } from '#shared/json-members.ts'
import type { BadAnswer } from '#shared/protocols/answers/bad-answer.ts'

/** The refusal of a prompt. The provider has made nothing, and says so with status 200. */
export function blockedPrompt(feedback: unknown): BadAnswer | undefined {
  const reason = isRecord(feedback) ? feedback['blockReason'] : undefined
  if (typeof reason !== 'string' || /UNSPECIFIED$/.test(reason)) return undefined
  const message = `The prompt was blocked: ${reason}.`
  return { kind: 'error', status: 400, text: JSON.stringify({ error: { code: 'content_filter', message } }) }
}
