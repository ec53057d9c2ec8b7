import type { AttemptPlan, BadAnswer, Decoder } from '#data-plane/call.ts'
import { isRecord } from '#data-plane/dialects/json-members.ts'
import type { AppError } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'
import { streamDecoder } from './stream.ts'
import { wholeDecoder } from './whole.ts'

export type DecoderOptions = {
  readonly isStreamed: boolean
  readonly plan: AttemptPlan
  /** The buyer wire's error body, for a stream that breaks. */
  readonly errorBody: (error: AppError, requestId: RequestId) => string
}

/** Reads a seller's answer in the OpenAI protocol and writes it for a buyer of the same. */
export function chatDecoder(options: DecoderOptions): Decoder {
  return options.isStreamed ? streamDecoder(options) : wholeDecoder(options)
}

/** The error that a body or a frame of status 200 holds; undefined when it holds none. */
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

/** Finish reasons that the chat wire knows. */
const FINISH_REASONS: ReadonlySet<string> = new Set(['stop', 'length', 'tool_calls', 'content_filter', 'function_call'])

/** A provider's finish reason as one the wire knows: a stranger means that it simply stopped. */
export function knownFinishReason(reason: unknown): string | null {
  if (typeof reason !== 'string') return null
  return FINISH_REASONS.has(reason) ? reason : 'stop'
}
