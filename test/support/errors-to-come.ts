import type { ErrorCode } from '#shared/errors.ts'

/**
 * Codes of the contract that nothing raises yet, by the work that will raise them. Remove a code here when you raise
 * it: a test requires every code to be raised in product code or listed here.
 */
export const ERRORS_TO_COME: Readonly<Record<string, readonly ErrorCode[]>> = {
  'the provider-key market, its proxy, and the forwarded families': [
    'api_secret_unsupported',
    'insufficient_credit',
    'invalid_target_url',
    'job_route_required',
    'offers_unhealthy',
    'platform_route_refused',
    'policy_refused',
    'pricing_multiplier_unsupported',
    'provider_unpriceable',
    'seller_cap_reached',
    'trait_unavailable',
    'unexpected_path',
  ],
}
