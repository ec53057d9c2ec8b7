import type { ErrorDetail } from '#shared/errors.ts'

/** Advice to a caller about an error, and the variable parts of an example body. */
export type Advice = {
  readonly todo: string
  /**
   * States whether the same request may succeed later: never, after `Retry-After`, or once something else has changed.
   */
  readonly retry: string
  /** The faulty field and the facts in the example. */
  readonly param?: string
  readonly detail?: ErrorDetail
}

const SECONDS = 1_763_000_000
const limit = (source: string, scope: string, facts: ErrorDetail = {}): ErrorDetail => ({
  limit_source: source,
  limit_scope: scope,
  ...facts,
})

/** Advice for the errors of a type that have none of their own in {@link ADVICE}. */
export const ADVICE_BY_TYPE: Readonly<Record<string, Advice>> = {
  invalid_request_error: { todo: 'Change the request: `param` names the wrong member.', retry: 'no' },
  authentication_error: { todo: 'Send a key of the right kind in `Authorization: Bearer`.', retry: 'no' },
  permission_error: { todo: 'Use another key, or give this key the permission.', retry: 'no' },
  insufficient_quota: { todo: 'Add credit or raise the limit.', retry: 'once you can spend more' },
  rate_limit_error: { todo: 'Wait for `Retry-After`.', retry: 'yes' },
  api_error: { todo: 'Try again. If the error stays, report the `request_id`.', retry: 'yes' },
}

/** Advice for single errors. */
export const ADVICE: Readonly<Record<string, Advice>> = {
  invalid_request: { todo: 'Change the member in `param`; `message` says how.', retry: 'no', param: 'max_tokens' },
  invalid_json: { todo: 'Send one JSON object in UTF-8, at most 64 levels deep.', retry: 'no' },
  unknown_model: { todo: 'Use a name from `GET /v1/models`.', retry: 'no', param: 'model' },
  unsupported_provider: {
    todo: 'Use names from `supported_providers`, or leave the hint out.',
    retry: 'no',
    param: 'provider',
    detail: { unknown_providers: ['nope'], supported_providers: ['sandbox-a', 'sandbox-b'] },
  },
  invalid_minimum_discount: { todo: 'Send 0 to 100 in plain digits.', retry: 'no', param: 'min_discount_pct' },
  unsupported_parameter: {
    todo: 'Leave the member out, or send a value without an extra cost.',
    retry: 'no',
    param: 'service_tier',
    detail: { surcharge: 'service_tier' },
  },
  model_capability_unsupported: { todo: 'Use a model that lists the capability.', retry: 'no', param: 'messages' },
  context_length_exceeded: {
    todo: 'Shorten the input, lower the output limit, or use a model with a longer context.',
    retry: 'no',
    param: 'messages',
    detail: { input_tokens: 130_000, max_tokens: 4_096, context_length: 128_000 },
  },
  unresolvable_file_reference: { todo: 'Send the file as a URL or inline.', retry: 'no', param: 'messages' },
  too_many_input_images: { todo: 'Send at most 8 images.', retry: 'no' },
  invalid_image_input: { todo: 'Send the image as an https URL or a data: URI.', retry: 'no' },
  image_required: { todo: 'Send the image to edit.', retry: 'no' },
  mask_not_supported: { todo: 'Leave the mask out.', retry: 'no' },
  idempotency_key_required: {
    todo: 'Send your own `Idempotency-Key`, the same on every retry.',
    retry: 'no',
  },
  invalid_base_url: { todo: 'Use a base URL from `GET /v1/providers`.', retry: 'no', param: 'seller_base_url' },
  invalid_target_url: { todo: 'Send a URL on a host of the provider.', retry: 'no', param: 'x-target-url' },
  offer_delisted_by_operator: { todo: 'Ask the operator. Do not create the same offer again.', retry: 'no' },
  unexpected_path: { todo: 'Send the target in `x-target-url`.', retry: 'no' },
  provider_unpriceable: { todo: 'Request something with a price: `GET /v1/prices`.', retry: 'no' },
  job_route_required: { todo: 'Submit the call as a long job, and poll the job.', retry: 'no' },
  api_secret_unsupported: { todo: 'Send only `api_key`.', retry: 'no', param: 'api_secret' },
  pricing_multiplier_unsupported: { todo: 'Send `discount_percent`.', retry: 'no', param: 'cost_multiplier' },
  per_token_pricing_retired: {
    todo: 'Send `discount` or `cost_multiplier`.',
    retry: 'no',
    param: 'price_input_per_1m',
  },
  duplicate_offer_for_credential: { todo: 'Update the existing offer.', retry: 'no' },
  no_resource_offer: { todo: 'Loosen the filters, or use another provider.', retry: 'when the market has changed' },
  trait_unavailable: { todo: 'Require fewer traits.', retry: 'when the market has changed' },
  policy_refused: { todo: 'Use another model or provider: these sellers do not allow such calls.', retry: 'no' },
  platform_route_refused: { todo: 'Use a route of the provider from `GET /v1/resource/capabilities`.', retry: 'no' },
  unsupported_media_type: {
    todo: 'Send `Content-Type: application/json` in UTF-8 without `Content-Encoding`. Send a form for transcriptions.',
    retry: 'no',
  },
  request_too_large: { todo: 'Send a smaller body: the API overview has the limits.', retry: 'no' },
  authentication_required: { todo: 'Send a key in `Authorization: Bearer`.', retry: 'no' },
  invalid_api_key: { todo: 'Check the key: the key is unknown, mistyped or revoked.', retry: 'no' },
  wrong_key_type: { todo: 'Use a buyer key for inference and a seller key for selling.', retry: 'no' },
  invalid_session: { todo: 'Sign in again.', retry: 'no' },
  invalid_signature: { todo: 'Sign the issued message once, with the wallet in the message.', retry: 'no' },
  wallet_required: { todo: 'Link a wallet to the account, on the page under Account.', retry: 'no' },
  forbidden: { todo: 'Use a key with the scope in `message`.', retry: 'no' },
  model_not_allowed: { todo: 'Use a key that may call the model.', retry: 'no', param: 'model' },
  payment_required: { todo: 'Send a key, or pay. The body is the payment document, not this envelope.', retry: 'no' },
  insufficient_balance: {
    todo: 'Add credit, or lower `max_tokens`: a smaller answer reserves less.',
    retry: 'once there is credit',
    detail: limit('balance', 'account', { required_usdc: '4100', available_usdc: '1000', resets_at: null }),
  },
  insufficient_allowance: {
    todo: 'Raise the allowance: `npx market allowance open --usd 20`, or lower `max_tokens`.',
    retry: 'once the wallet allows more',
    detail: limit('allowance', 'account', { required_usdc: '4100', available_usdc: '1000', resets_at: null }),
  },
  key_cap_reached: {
    todo: 'Wait until `resets_at`, raise the cap, or use another key.',
    retry: 'after `resets_at`',
    detail: limit('key_daily_cap', 'key', {
      key_id: 'key_01',
      limit_usdc: '5000000',
      spent_usdc: '4998000',
      required_usdc: '4100',
      resets_at: SECONDS,
    }),
  },
  budget_reached: {
    todo: 'Wait until `resets_at`, or ask an owner or admin of the organisation to raise the budget of `budget_of`.',
    retry: 'after `resets_at`',
    detail: limit('member_budget', 'member', {
      budget_of: 'usr_01',
      limit_usdc: '5000000',
      spent_usdc: '4998000',
      required_usdc: '4100',
      resets_at: SECONDS,
    }),
  },
  cost_ceiling_reached: {
    todo: 'Raise `X-MKT-Max-Cost-Micro`, or shorten the request.',
    retry: 'no',
    detail: limit('max_cost', 'call', {
      limit_usdc: '1',
      spent_usdc: '0',
      required_usdc: '19',
      resets_at: null,
    }),
  },
  not_found: { todo: 'Check the path and the id. Records of others are not found either.', retry: 'no' },
  method_not_allowed: { todo: 'Use a method from `Allow`.', retry: 'no' },
  no_sellers_for_model: {
    todo: 'Use another model, or loosen `provider`. `POST /v1/route/explain` says why each offer is out.',
    retry: 'when the market has changed',
    param: 'model',
  },
  job_not_found: { todo: 'Check the id and the key or `X-Job-Token`. We keep a job for 27 hours.', retry: 'no' },
  gone: { todo: 'Use the replacement in `message`.', retry: 'no' },
  conflict: { todo: 'Read the current state, then decide again.', retry: 'no' },
  idempotency_key_reused: { todo: 'Use a new `Idempotency-Key` for a new request.', retry: 'no' },
  idempotency_in_progress: { todo: 'Wait for the first request, then send the request again.', retry: 'yes' },
  key_limit_reached: { todo: 'Revoke a key that you do not need.', retry: 'no' },
  key_frozen: { todo: 'Unfreeze it on the keys screen, or send another key.', retry: 'once it is unfrozen' },
  workspace_in_use: {
    todo: 'Delete its offers, revoke its keys and pay out its money: `detail` counts them.',
    retry: 'no',
  },
  rate_limited: {
    todo: 'Wait for `Retry-After`. `x-ratelimit-*` has the rest of the key’s limit.',
    retry: 'yes',
    detail: limit('key_rate', 'key', { key_id: 'key_01', limit: 600, spent: 600, resets_at: SECONDS }),
  },
  too_many_in_flight: {
    todo: 'Wait until running calls of this key end.',
    retry: 'yes',
    detail: limit('key_in_flight', 'key', { key_id: 'key_01', limit: 200, spent: 200, resets_at: null }),
  },
  seller_cap_reached: {
    todo: 'Wait until `resets_at`, or allow more sellers.',
    retry: 'after `resets_at`',
    detail: limit('seller_cap', 'offer', { limit_usdc: '10000000', spent_usdc: '10000000', resets_at: SECONDS }),
  },
  no_healthy_sellers: {
    todo: '`limit_source` says why: wait for `Retry-After`, or loosen `providers_blocked`.',
    retry: 'when the market has changed',
    detail: limit('seller_health', 'offer', { resets_at: SECONDS }),
  },
  minimum_discount_not_met: {
    todo: 'Lower the minimum discount to at most `best_discount_pct`.',
    retry: 'when the market has changed',
    detail: limit('min_discount', 'call', { best_discount_pct: 40, min_discount_pct: 90, resets_at: null }),
  },
  offers_unhealthy: { todo: 'Wait for `Retry-After`: the market then tries the offers again.', retry: 'yes' },
  service_unavailable: {
    todo: 'Wait for `Retry-After`. Running streams go on, and jobs are not lost.',
    retry: 'yes',
  },
  overloaded: {
    todo: 'Wait for `Retry-After`. The market has not read the request.',
    retry: 'yes',
    detail: limit('process', 'platform', { resets_at: null }),
  },
  upstream_error: { todo: 'Try again: every provider in reach has failed. You pay nothing.', retry: 'yes' },
  upstream_timeout: { todo: 'Try again, or request a shorter answer. You pay nothing.', retry: 'yes' },
  upstream_rejected: {
    todo: 'Change the request: `message` has the provider’s reason, and `param` the parameter.',
    retry: 'no',
  },
  provider_probe_failed: {
    todo: 'Check the provider key and the model at the provider.',
    retry: 'no',
    detail: { provider: 'sandbox-a', provider_status: 401, reason: 'unauthorized' },
  },
}
