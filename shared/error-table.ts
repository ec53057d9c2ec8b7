type Row = { readonly status: number; readonly type: string; readonly message: string }

const invalid = 'invalid_request_error'
const auth = 'authentication_error'
const permission = 'permission_error'
const quota = 'insufficient_quota'
const rate = 'rate_limit_error'
const api = 'api_error'

function row(status: number, type: string, message: string): Row {
  return { status, type, message }
}

/** Every error of the service: code, HTTP status, OpenAI's `type`, and the sentence for the caller. */
export const ERRORS = {
  // The shape of the request
  invalid_request: row(400, invalid, 'The request is not valid.'),
  invalid_json: row(400, invalid, 'The request body is not valid JSON.'),
  unknown_model: row(400, invalid, 'The model does not exist.'),
  unsupported_provider: row(400, invalid, 'No provider has that name. GET /v1/providers lists them.'),
  invalid_minimum_discount: row(
    400,
    invalid,
    'A minimum discount must be a whole number from 0 to 100 without leading zeros.',
  ),
  unsupported_parameter: row(400, invalid, 'No offer has a price for an option of this request. Remove the option.'),
  model_capability_unsupported: row(
    400,
    invalid,
    'The model does not support an option of this request. Choose another model.',
  ),
  context_length_exceeded: row(
    400,
    invalid,
    'The input plus max_tokens is longer than the context of the model. Shorten the input or lower max_tokens.',
  ),
  unresolvable_file_reference: row(400, invalid, 'An image cannot be read by its file id. Send it as a URL or inline.'),
  too_many_input_images: row(400, invalid, 'Send at most 8 source images.'),
  invalid_image_input: row(400, invalid, 'Send each source image as an https URL or a data: URI.'),
  image_required: row(400, invalid, 'An edit needs a source image.'),
  mask_not_supported: row(400, invalid, 'Masks are not supported. Leave the mask out.'),
  idempotency_key_required: row(400, invalid, 'Add an Idempotency-Key header.'),
  invalid_base_url: row(400, invalid, 'The base URL is not on the list of providers. GET /v1/providers lists them.'),
  invalid_target_url: row(400, invalid, 'The target URL is not on a host of this provider.'),
  offer_delisted_by_operator: row(400, invalid, 'The offer was delisted by the operator and cannot be activated.'),
  unexpected_path: row(400, invalid, 'Send the target of this provider in x-target-url, not in the path.'),
  provider_unpriceable: row(400, invalid, 'This request has no price. GET /v1/prices lists prices.'),
  job_route_required: row(400, invalid, 'This model runs for minutes. Submit the call to the queue of the provider.'),
  api_secret_unsupported: row(400, invalid, 'Send api_key only.'),
  pricing_multiplier_unsupported: row(400, invalid, 'Set the price with discount_percent only.'),
  per_token_pricing_retired: row(400, invalid, 'Set the price with discount or cost_multiplier, not per token.'),
  unsupported_media_type: row(415, invalid, 'This path does not accept this content type.'),
  request_too_large: row(413, invalid, 'The request body is too large. Send a smaller one.'),
  // The caller
  authentication_required: row(401, auth, 'This endpoint needs a key.'),
  invalid_api_key: row(401, auth, 'The API key is unknown, mistyped or revoked.'),
  wrong_key_type: row(401, auth, 'This endpoint does not accept a key of this type.'),
  invalid_session: row(401, auth, 'The session has ended. Sign in again.'),
  invalid_signature: row(401, auth, 'The signed message is not valid.'),
  forbidden: row(403, permission, 'This key does not have permission to do that.'),
  wallet_required: row(403, permission, 'This action needs a wallet. Link a wallet to your account first.'),
  key_frozen: row(403, permission, 'This key is frozen. Unfreeze it, or use another key.'),
  model_not_allowed: row(403, permission, 'This key is not allowed to use this model.'),
  platform_route_refused: row(403, permission, 'The market does not sell this route of the provider.'),
  policy_refused: row(403, permission, 'Offers exist, but the rules of their sellers do not allow this call.'),
  // Money
  payment_required: row(402, quota, 'Add an API key, or pay for this call from a wallet.'),
  insufficient_balance: row(402, quota, 'Not enough credit for this call. Add credit.'),
  insufficient_allowance: row(402, quota, 'The wallet allows too little for this call. Raise its allowance.'),
  insufficient_credit: row(402, quota, 'Not enough credit. Nothing was reserved. Add credit.'),
  key_cap_reached: row(403, quota, 'This key has used up its budget.'),
  budget_reached: row(403, quota, 'The budget for this month is used up. Ask an owner or admin to raise the budget.'),
  cost_ceiling_reached: row(
    402,
    quota,
    'This call could cost more than its limit. Raise the limit or lower max_tokens.',
  ),
  // Things that are missing
  not_found: row(404, invalid, 'There is nothing here.'),
  method_not_allowed: row(405, invalid, 'This path does not accept this method. The Allow header names the methods.'),
  no_sellers_for_model: row(404, invalid, 'No seller offers this model right now.'),
  no_resource_offer: row(404, invalid, 'No lent key of this provider matches this call.'),
  trait_unavailable: row(404, invalid, 'No lent key has all the required traits.'),
  job_not_found: row(404, invalid, 'The job does not exist, is not yours, or has expired.'),
  gone: row(410, invalid, 'This endpoint has been retired.'),
  conflict: row(409, invalid, 'The request conflicts with the current state. Read the state and try again.'),
  duplicate_offer_for_credential: row(
    409,
    invalid,
    'An active offer with this key, base URL and model already exists.',
  ),
  idempotency_key_reused: row(409, invalid, 'The Idempotency-Key was used with another request. Use a new key.'),
  idempotency_in_progress: row(409, invalid, 'A request with this Idempotency-Key is still running.'),
  key_limit_reached: row(409, invalid, 'The account has 25 active keys. Revoke one first.'),
  workspace_in_use: row(409, invalid, 'The workspace still has offers, keys or a balance. Remove them first.'),
  // Limits
  rate_limited: row(429, rate, 'Too many requests.'),
  too_many_in_flight: row(429, rate, 'Too many calls of this key are running. Wait until some end.'),
  seller_cap_reached: row(429, rate, 'All matching offers have reached their daily cap.'),
  // The market
  no_healthy_sellers: row(503, api, 'No seller is healthy right now. Try again.'),
  minimum_discount_not_met: row(503, api, 'No offer meets the minimum discount.'),
  offers_unhealthy: row(503, api, 'All matching offers are failing right now. Try again.'),
  service_unavailable: row(503, api, 'The service is unavailable for a moment. Try again.'),
  overloaded: row(503, api, 'The service is at capacity. Try again.'),
  upstream_error: row(502, api, 'The provider failed.'),
  upstream_timeout: row(504, api, 'The provider did not answer in time.'),
  upstream_rejected: row(400, invalid, 'The provider rejected the request.'),
  provider_probe_failed: row(502, api, 'The provider did not accept the test call.'),
  internal_error: row(500, api, 'Something went wrong on our side.'),
} as const satisfies Record<string, Row>
