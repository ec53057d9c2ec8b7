import type { ErrorCode } from '#shared/errors.ts'

/**
 * Codes of the contract that nothing raises yet, by the work that will raise them. Remove a code here when you raise
 * it: a test requires every code to be raised in product code or listed here.
 */
export const ERRORS_TO_COME: Readonly<Record<string, readonly ErrorCode[]>> = {
  'the provider-key market, its proxy, and the forwarded families': [
    'api_secret_unsupported',
    'pricing_multiplier_unsupported',
  ],
}
