import { isGiven, isRecord } from '#shared/json-members.ts'
import { parseJson } from '#shared/parse-json.ts'
import type { BadAnswer } from './bad-answer.ts'
import { readErrorBody } from './error-body.ts'
import { statusOf } from './refusal-causes.ts'

/**
 * Members of which every answer of a provider has one. A body with one of these members is an answer, whatever other
 * members it has.
 */
const ANSWERS = ['choices', 'content', 'data', 'text', 'candidates', 'output', 'images', 'delta', 'usage'] as const

/**
 * The error inside a body or a frame of status 200, in the forms of all providers. Undefined without one. Its text is
 * the error with the members beside it, without the members that belong to an answer.
 */
export function errorInside(body: Readonly<Record<string, unknown>>): BadAnswer | undefined {
  if (!isError(body)) return undefined
  const text = JSON.stringify(errorPart(body))
  const status = statusOf(200, readErrorBody(text))
  return { kind: 'error', status: status < 400 ? 502 : status, text }
}

/** The error in a text that should have been an answer: JSON, an array around it, or an event of a stream. */
export function errorInText(text: string): BadAnswer | undefined {
  const plain = text.trimStart()
  const value = parseJson(/^(?:event|data|id):/.test(plain) ? (/^data: ?(.*)$/m.exec(plain)?.[1] ?? '') : plain)
  const body: unknown = Array.isArray(value) ? value[0] : value
  return isRecord(body) ? errorInside(body) : undefined
}

function isError(body: Readonly<Record<string, unknown>>): boolean {
  const { error, base_resp: base, object, type, detail, errors, message, code, success } = body
  if (isGiven(error) && error !== '' && error !== false) return true
  // MiniMax answers 200 to everything, with an answer without choices.
  if (isRecord(base) && typeof base['status_code'] === 'number' && base['status_code'] !== 0) return true
  if (object === 'error' || type === 'error') return true
  if (ANSWERS.some((name) => isGiven(body[name]))) return false
  if (isGiven(errors) || success === false || (isGiven(detail) && detail !== '')) return true
  return typeof message === 'string' && isGiven(code) && code !== 0 && code !== 200
}

const ERROR_PARTS = [
  'error',
  'errors',
  'detail',
  'base_resp',
  'type',
  'object',
  'code',
  'status',
  'reason',
  'message',
  'msg',
  'param',
  'details',
] as const

function errorPart(body: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(ERROR_PARTS.flatMap((name) => (name in body ? [[name, body[name]]] : [])))
}

/** Finish reasons of OpenAI's chat protocol. */
const FINISH_REASONS: ReadonlySet<string> = new Set(['stop', 'length', 'tool_calls', 'content_filter', 'function_call'])

/** Maps a provider's finish reason to one that OpenAI knows. An unknown one counts as `stop`. */
export function openAiFinishReason(reason: unknown): string | null {
  if (typeof reason !== 'string') return null
  return FINISH_REASONS.has(reason) ? reason : 'stop'
}
