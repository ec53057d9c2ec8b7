import { isRecord } from '#shared/json-members.ts'
import type { BadAnswer } from '#shared/protocols/answers/bad-answer.ts'

/** The error inside a body or a frame of status 200 in the OpenAI protocols. Undefined when there is none. */
export function errorInside(body: Readonly<Record<string, unknown>>): BadAnswer | undefined {
  const { error } = body
  if (error === undefined || error === null || error === '' || error === false) return undefined
  if (!isRecord(error)) return { kind: 'error', status: 502, text: String(error) }
  const { code, status, message } = error
  const named = [code, status].find((value) => typeof value === 'number' && value >= 400 && value <= 599)
  return {
    kind: 'error',
    status: typeof named === 'number' ? named : 502,
    text: typeof message === 'string' ? message : '',
  }
}

/** Finish reasons of OpenAI's chat protocol. */
const FINISH_REASONS: ReadonlySet<string> = new Set(['stop', 'length', 'tool_calls', 'content_filter', 'function_call'])

/** Maps a provider's finish reason to one that OpenAI knows. An unknown one counts as `stop`. */
export function knownFinishReason(reason: unknown): string | null {
  if (typeof reason !== 'string') return null
  return FINISH_REASONS.has(reason) ? reason : 'stop'
}
