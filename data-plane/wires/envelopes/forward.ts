import type { Envelope } from '#data-plane/wires/wire.ts'
import type { ErrorCode } from '#shared/errors.ts'
import { AppError } from '#shared/errors.ts'
import { openAiEnvelope } from './openai.ts'

const NO_MONEY: ReadonlySet<ErrorCode> = new Set(['insufficient_balance', 'insufficient_allowance'])

/**
 * Refusals of forwarded calls: the same words as on /v1, but credit that does not suffice has the name that clients of
 * these paths know, and no challenge ever stands in its place.
 */
export const forwardEnvelope: Envelope = (error, requestId) => {
  if (!NO_MONEY.has(error.code)) return openAiEnvelope(error, requestId)
  const { detail, cause } = error
  return openAiEnvelope(new AppError('insufficient_credit', { detail, cause }), requestId)
}

/** Codes of which only a provider can be the cause. */
const OF_PROVIDER: ReadonlySet<ErrorCode> = new Set([
  'upstream_timeout',
  'upstream_rejected',
  'context_length_exceeded',
])

/** Refusals of families of calls. Whatever a provider's own failure is, it is 502 here, with what may be told of it. */
export const familyEnvelope: Envelope = (error, requestId) => {
  const { code, message, detail } = error
  if (!OF_PROVIDER.has(code) && detail['limit_source'] !== 'provider') return openAiEnvelope(error, requestId)
  const words = code === 'upstream_rejected' ? { message } : {}
  return openAiEnvelope(new AppError('upstream_error', { ...words, cause: error }), requestId)
}
