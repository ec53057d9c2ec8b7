import { isGiven, isRecord } from '#shared/json-members.ts'
import { isReason, isText } from '#shared/protocols/answers/chat-choice.ts'

/** Why a choice can have ended on this wire. */
const REASONS: ReadonlySet<unknown> = new Set(['stop', 'length', 'content_filter'])

/** A choice of a provider's answer as far as it may pass. */
export type NativeChoice = {
  readonly index: number
  readonly text: string
  /** JSON text. */
  readonly logprobs: string
  readonly reason: string | null
}

/** Reads a choice, whole or a piece of it. Undefined when nobody can read it. */
export function readChoice(choice: unknown): NativeChoice | undefined {
  if (!isRecord(choice)) return undefined
  const { text, logprobs, finish_reason: reason } = choice
  const index = choice['index'] ?? 0
  if (typeof index !== 'number' || !Number.isInteger(index) || index < 0) return undefined
  if (!isText(text) || !isReason(reason) || (isGiven(logprobs) && !isRecord(logprobs))) return undefined
  return {
    index,
    text: typeof text === 'string' ? text : '',
    logprobs: isRecord(logprobs) ? JSON.stringify(logprobs) : 'null',
    reason: typeof reason === 'string' ? (REASONS.has(reason) ? reason : 'stop') : null,
  }
}
