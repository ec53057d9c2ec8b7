import { isRecord } from '#shared/json-members.ts'

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

/** Reads a choice, whole or a piece of it; undefined where it is none of those that were asked for. */
export function readChoice(choice: unknown, count: number): NativeChoice | undefined {
  if (!isRecord(choice)) return undefined
  const { index = 0, text = '', logprobs, finish_reason: reason } = choice
  if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= count) return undefined
  if (typeof text !== 'string') return undefined
  return {
    index,
    text,
    logprobs: isRecord(logprobs) ? JSON.stringify(logprobs) : 'null',
    reason: typeof reason === 'string' ? (REASONS.has(reason) ? reason : 'stop') : null,
  }
}
