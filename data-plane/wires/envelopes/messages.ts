import type { Envelope } from '#data-plane/wires/wire.ts'
import type { AppError, ErrorCode } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'

/** The error types of the messages wire. */
type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found_error'
  | 'request_too_large'
  | 'rate_limit_error'
  | 'api_error'
  | 'timeout_error'
  | 'overloaded_error'

type Row = readonly [status: number, type: ErrorType]

const INVALID: Row = [400, 'invalid_request_error']
const AUTH: Row = [401, 'authentication_error']
const PERMISSION: Row = [403, 'permission_error']
const MISSING: Row = [404, 'not_found_error']
const CONFLICT: Row = [409, 'invalid_request_error']
const RATE: Row = [429, 'rate_limit_error']
const API: Row = [502, 'api_error']
const OVERLOADED: Row = [503, 'overloaded_error']

/**
 * Status and type of every error on this wire. It knows no 402: a call that cannot be paid for is an invalid request.
 */
const TABLE: Readonly<Record<ErrorCode, Row>> = {
  invalid_request: INVALID,
  invalid_json: INVALID,
  unknown_model: MISSING,
  unsupported_provider: INVALID,
  invalid_minimum_discount: INVALID,
  unsupported_parameter: INVALID,
  model_capability_unsupported: INVALID,
  context_length_exceeded: INVALID,
  unresolvable_file_reference: INVALID,
  too_many_input_images: INVALID,
  invalid_image_input: INVALID,
  image_required: INVALID,
  mask_not_supported: INVALID,
  idempotency_key_required: INVALID,
  invalid_base_url: INVALID,
  invalid_target_url: INVALID,
  offer_delisted_by_operator: INVALID,
  unexpected_path: INVALID,
  provider_unpriceable: INVALID,
  job_route_required: INVALID,
  api_secret_unsupported: INVALID,
  pricing_multiplier_unsupported: INVALID,
  per_token_pricing_retired: INVALID,
  unsupported_media_type: [415, 'invalid_request_error'],
  request_too_large: [413, 'request_too_large'],
  authentication_required: AUTH,
  invalid_api_key: AUTH,
  wrong_key_type: AUTH,
  invalid_session: AUTH,
  invalid_signature: AUTH,
  forbidden: PERMISSION,
  wallet_required: PERMISSION,
  key_frozen: PERMISSION,
  model_not_allowed: PERMISSION,
  platform_route_refused: PERMISSION,
  policy_refused: PERMISSION,
  payment_required: AUTH,
  insufficient_balance: INVALID,
  insufficient_allowance: INVALID,
  insufficient_credit: INVALID,
  key_cap_reached: INVALID,
  budget_reached: INVALID,
  cost_ceiling_reached: INVALID,
  not_found: MISSING,
  method_not_allowed: [405, 'invalid_request_error'],
  no_sellers_for_model: MISSING,
  no_resource_offer: MISSING,
  trait_unavailable: MISSING,
  job_not_found: MISSING,
  gone: [410, 'not_found_error'],
  conflict: CONFLICT,
  duplicate_offer_for_credential: CONFLICT,
  idempotency_key_reused: CONFLICT,
  idempotency_in_progress: CONFLICT,
  key_limit_reached: CONFLICT,
  workspace_in_use: CONFLICT,
  rate_limited: RATE,
  too_many_in_flight: RATE,
  seller_cap_reached: RATE,
  no_healthy_sellers: OVERLOADED,
  minimum_discount_not_met: MISSING,
  offers_unhealthy: OVERLOADED,
  service_unavailable: OVERLOADED,
  overloaded: OVERLOADED,
  upstream_error: API,
  upstream_timeout: [504, 'timeout_error'],
  upstream_rejected: INVALID,
  provider_probe_failed: API,
  internal_error: [500, 'api_error'],
}

/** The body of the /compat error envelope, also as the payload of a stream's error event. */
export function messagesErrorBody(error: AppError, requestId: RequestId): string {
  const { code, message, param, detail } = error
  const [, type] = TABLE[code]
  const named = param === undefined ? {} : { param }
  // The code and the facts of a limit follow the two members that every client reads.
  return JSON.stringify({ type: 'error', error: { type, message, code, ...named, ...detail }, request_id: requestId })
}

/** Refusals of the messages wire. */
export const messagesEnvelope: Envelope = (error, requestId) => {
  const [status] = TABLE[error.code]
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (error.retryAfterSeconds !== undefined) {
    headers['retry-after'] = String(Math.max(1, Math.ceil(error.retryAfterSeconds)))
  }
  // Official clients would try again, and a market without such an offer will not have one in a second.
  else if (status === 503 || status === 409) headers['x-should-retry'] = 'false'
  if (status === 401) headers['www-authenticate'] = 'Bearer'
  return { status, headers, body: messagesErrorBody(error, requestId) }
}
