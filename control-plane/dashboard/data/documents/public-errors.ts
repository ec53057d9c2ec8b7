/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
/** Every code that `extensions.code` of an error of ours may have; the same at every door. */
export type ErrorCode =
  | 'api_secret_unsupported'
  | 'authentication_required'
  | 'conflict'
  | 'context_length_exceeded'
  | 'cost_ceiling_reached'
  | 'duplicate_offer_for_credential'
  | 'forbidden'
  | 'gone'
  | 'idempotency_in_progress'
  | 'idempotency_key_required'
  | 'idempotency_key_reused'
  | 'image_required'
  | 'insufficient_allowance'
  | 'insufficient_balance'
  | 'insufficient_credit'
  | 'internal_error'
  | 'invalid_api_key'
  | 'invalid_base_url'
  | 'invalid_image_input'
  | 'invalid_json'
  | 'invalid_minimum_discount'
  | 'invalid_request'
  | 'invalid_session'
  | 'invalid_signature'
  | 'invalid_target_url'
  | 'job_not_found'
  | 'job_route_required'
  | 'key_cap_reached'
  | 'key_limit_reached'
  | 'mask_not_supported'
  | 'method_not_allowed'
  | 'minimum_discount_not_met'
  | 'model_capability_unsupported'
  | 'model_not_allowed'
  | 'no_healthy_sellers'
  | 'no_resource_offer'
  | 'no_sellers_for_model'
  | 'not_found'
  | 'offer_delisted_by_operator'
  | 'offers_unhealthy'
  | 'overloaded'
  | 'payment_required'
  | 'per_token_pricing_retired'
  | 'platform_route_refused'
  | 'policy_refused'
  | 'pricing_multiplier_unsupported'
  | 'provider_probe_failed'
  | 'provider_unpriceable'
  | 'rate_limited'
  | 'request_too_large'
  | 'seller_cap_reached'
  | 'service_unavailable'
  | 'too_many_in_flight'
  | 'too_many_input_images'
  | 'trait_unavailable'
  | 'unexpected_path'
  | 'unknown_model'
  | 'unresolvable_file_reference'
  | 'unsupported_media_type'
  | 'unsupported_provider'
  | 'upstream_error'
  | 'upstream_rejected'
  | 'upstream_timeout'
  | 'workspace_in_use'
  | 'wrong_key_type';

export type PublicErrorsQueryVariables = Exact<{ [key: string]: never; }>;


export type PublicErrorsQuery = { readonly errorKinds: ReadonlyArray<{ readonly code: ErrorCode, readonly status: number, readonly message: string }> | null };


export const PublicErrorsDocument = /* @__PURE__ */ new TypedDocumentString(`
    query PublicErrors {
  errorKinds {
    code
    status
    message
  }
}
    `) as unknown as TypedDocumentString<PublicErrorsQuery, PublicErrorsQueryVariables>;