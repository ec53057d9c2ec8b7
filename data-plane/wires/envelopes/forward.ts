import type { Envelope } from '#data-plane/wires/wire.ts'
import type { ErrorCode } from '#shared/errors.ts'
import { AppError } from '#shared/errors.ts'
import { openAiEnvelope } from './openai.ts'

const NO_MONEY: ReadonlySet<ErrorCode> = new Set(['insufficient_balance', 'insufficient_allowance'])

/**
 * Refusals of forwarded calls: the same texts as on /v1, but insufficient credit has the code that clients of these
 * paths know, and no challenge ever replaces it.
 */
export const forwardEnvelope: Envelope = (error, requestId) => {
  if (!NO_MONEY.has(error.code)) return openAiEnvelope(error, requestId)
  const { detail, cause } = error
  return openAiEnvelope(new AppError('insufficient_credit', { detail, cause }), requestId)
}

/** Codes that only a provider can cause. */
const OF_PROVIDER: ReadonlySet<ErrorCode> = new Set([
  'upstream_timeout',
  'upstream_rejected',
  'context_length_exceeded',
])

/** Refusals of families of calls. Any failure of a provider is 502 here, with the publishable part of it. */
export const familyEnvelope: Envelope = (error, requestId) => {
  const { code, message, detail } = error
  if (!OF_PROVIDER.has(code) && detail['limit_source'] !== 'provider') return openAiEnvelope(error, requestId)
  const words = code === 'upstream_rejected' ? { message } : {}
  return openAiEnvelope(new AppError('upstream_error', { ...words, cause: error }), requestId)
}
