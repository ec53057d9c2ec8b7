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

/** Refusals of families of calls. Whatever a provider's own failure is, it is 502 here. */
export const familyEnvelope: Envelope = (error, requestId) => {
  const isOfProvider = error.code === 'upstream_timeout' || error.detail['limit_source'] === 'provider'
  return openAiEnvelope(isOfProvider ? new AppError('upstream_error', { cause: error }) : error, requestId)
}
