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

/** Every error of the service: code, HTTP status, OpenAI's `type`, and the sentence that the caller reads. */
export const ERRORS = {
  // The shape of the request
  invalid_request: row(400, invalid, 'The request is not valid.'),
  invalid_json: row(400, invalid, 'The request body is not valid JSON.'),
  unknown_model: row(400, invalid, 'The model does not exist.'),
  unsupported_provider: row(400, invalid, 'None of the named providers is known.'),
  invalid_minimum_discount: row(
    400,
    invalid,
    'A minimum discount is a whole number from 0 to 100 without leading zeros.',
  ),
  unsupported_parameter: row(400, invalid, 'No seller sells what a member of the request asks for at a known price.'),
  model_capability_unsupported: row(400, invalid, 'The model does not support what the request asks for.'),
  context_length_exceeded: row(
    400,
    invalid,
    'The input and max_tokens together are longer than the context of the model.',
  ),
  unresolvable_file_reference: row(
    400,
    invalid,
    'An image that is referenced only by a file id cannot be resolved here.',
  ),
  too_many_input_images: row(400, invalid, 'At most 8 source images are accepted.'),
  invalid_image_input: row(400, invalid, 'A source image is an https URL or a data: URI.'),
  image_required: row(400, invalid, 'An edit needs a source image.'),
  mask_not_supported: row(400, invalid, 'Masks are not supported.'),
  idempotency_key_required: row(400, invalid, 'This operation needs an Idempotency-Key header.'),
  invalid_base_url: row(400, invalid, 'The base URL is not that of a provider on the allow-list.'),
  invalid_target_url: row(400, invalid, 'The target URL is not on a host of that provider.'),
  offer_delisted_by_operator: row(400, invalid, 'The offer was delisted by the operator and cannot be activated.'),
  unexpected_path: row(400, invalid, 'This provider takes its target in x-target-url, not in the path.'),
  provider_unpriceable: row(400, invalid, 'The request cannot be priced.'),
  job_route_required: row(400, invalid, 'This model can run for minutes: submit it to the queue of the provider.'),
  api_secret_unsupported: row(400, invalid, 'Key listings take api_key only.'),
  pricing_multiplier_unsupported: row(400, invalid, 'Key listings are priced by discount_percent only.'),
  per_token_pricing_retired: row(400, invalid, 'An offer is priced by discount or cost_multiplier, not by the token.'),
  unsupported_media_type: row(415, invalid, 'The content type of the body is not accepted here.'),
  request_too_large: row(413, invalid, 'The request body is larger than accepted here.'),
  // The caller
  authentication_required: row(401, auth, 'This endpoint needs a key.'),
  invalid_api_key: row(401, auth, 'The API key is not valid.'),
  wrong_key_type: row(401, auth, 'A key of this type is not accepted here.'),
  invalid_session: row(401, auth, 'The session is not valid.'),
  invalid_signature: row(401, auth, 'The signed message is not valid.'),
  forbidden: row(403, permission, 'This key may not do that.'),
  wallet_required: row(403, permission, 'This operation needs a wallet, and the account has none: link one first.'),
  model_not_allowed: row(403, permission, 'This key may not use that model.'),
  platform_route_refused: row(403, permission, 'This route of the provider is not reachable.'),
  policy_refused: row(403, permission, 'Offers exist, but the rules of their sellers refuse the call.'),
  // Money
  payment_required: row(402, quota, 'This call needs a key or a payment.'),
  insufficient_balance: row(402, quota, 'The balance does not cover this call.'),
  insufficient_allowance: row(402, quota, 'The allowance of the wallet does not cover this call.'),
  insufficient_credit: row(402, quota, 'Add prepaid credit: nothing was reserved.'),
  key_cap_reached: row(403, quota, 'The spending cap of this key is reached.'),
  cost_ceiling_reached: row(402, quota, 'The cost ceiling of this call is below its cost.'),
  // Things that are missing
  not_found: row(404, invalid, 'There is nothing here.'),
  method_not_allowed: row(405, invalid, 'The method is not allowed here.'),
  no_sellers_for_model: row(404, invalid, 'No seller is available for the model.'),
  no_resource_offer: row(404, invalid, 'No offer for this provider qualifies.'),
  trait_unavailable: row(404, invalid, 'No offer claims all required traits.'),
  job_not_found: row(404, invalid, 'The job does not exist, is not yours, or its binding has expired.'),
  gone: row(410, invalid, 'This endpoint has been retired.'),
  conflict: row(409, invalid, 'The request conflicts with the present state.'),
  duplicate_offer_for_credential: row(409, invalid, 'An active offer for this credential, base URL and model exists.'),
  idempotency_key_reused: row(409, invalid, 'The Idempotency-Key was used with another request.'),
  idempotency_in_progress: row(409, invalid, 'A request with this Idempotency-Key is still running.'),
  key_limit_reached: row(409, invalid, 'The wallet has its 25 active keys: revoke one first.'),
  workspace_in_use: row(409, invalid, 'The workspace has offers, keys or a balance: end them first.'),
  // Limits
  rate_limited: row(429, rate, 'Too many requests.'),
  too_many_in_flight: row(429, rate, 'Too many calls of this key are running.'),
  seller_cap_reached: row(429, rate, 'Every capable offer has spent its daily cap.'),
  // The market
  no_healthy_sellers: row(503, api, 'No healthy seller is available.'),
  minimum_discount_not_met: row(503, api, 'No offer meets the minimum discount.'),
  offers_unhealthy: row(503, api, 'Every capable offer is backed off.'),
  service_unavailable: row(503, api, 'The service is briefly unavailable.'),
  overloaded: row(503, api, 'The service is at its limit.'),
  upstream_error: row(502, api, 'The provider failed.'),
  upstream_timeout: row(504, api, 'The provider did not answer in time.'),
  upstream_rejected: row(400, invalid, 'The provider rejected the request.'),
  provider_probe_failed: row(502, api, 'The provider did not accept the probe.'),
  internal_error: row(500, api, 'Something went wrong on our side.'),
} as const satisfies Record<string, Row>
