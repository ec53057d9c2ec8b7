import type { Envelope } from '#data-plane/wires/wire.ts'
import type { AppError } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'
import { paymentRequired } from './payment-required.ts'

/** Statuses that name the exceeded limit, its owner and the time at which it lifts. */
const LIMITED: ReadonlySet<number> = new Set([402, 403, 429, 503])
/** The limit that such a refusal names when the error named none. */
const NO_LIMIT = { limit_source: 'service', limit_scope: 'platform', resets_at: null }

/** An error in the form of the /v1 surface. */
export function openAiError(error: AppError, requestId: RequestId): Readonly<Record<string, unknown>> {
  const { code, message, type, param } = error
  const isBare = LIMITED.has(error.status) && error.detail['limit_source'] === undefined
  const detail = isBare ? { ...NO_LIMIT, ...error.detail } : error.detail
  return { ...detail, message, type, param: param ?? null, code, request_id: requestId }
}

/** The body of the /v1 error envelope, also as the payload of a stream's error event. */
export function openAiErrorBody(error: AppError, requestId: RequestId): string {
  return JSON.stringify({ error: openAiError(error, requestId), request_id: requestId })
}

/** Refusals of the OpenAI-shaped surface; without a credential the answer is the x402 document. */
export const openAiEnvelope: Envelope = (error, requestId) => {
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (error.retryAfterSeconds !== undefined)
    headers['retry-after'] = String(Math.max(1, Math.ceil(error.retryAfterSeconds)))
  // Official clients would try again, and a market without such an offer will not have one in a second.
  else if (error.status === 503) headers['x-should-retry'] = 'false'
  if (error.code === 'payment_required') return paymentRequired(error, requestId)
  if (error.status === 401) headers['www-authenticate'] = 'Bearer'
  return { status: error.status, headers, body: openAiErrorBody(error, requestId) }
}
