import type { Refusal } from '#data-plane/wires/wire.ts'
import { X402_VERSION } from '#shared/chain-terms.ts'
import type { AppError } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'

/**
 * The 402 of a call without a credential (x402, version 2): `detail` carries `accepts`, the requested `resource`, and
 * headers and extensions that rails add. `payment_error` is the reason why a payment was refused. The document is in
 * the body and, as base64, in the header.
 */
export function paymentRequired(error: AppError, requestId: RequestId): Refusal {
  const { accepts = [], resource, headers, extensions = {}, payment_error: reason, ...details } = error.detail
  const document = JSON.stringify({
    x402Version: X402_VERSION,
    error: reason ?? 'payment_required',
    accepts,
    resource,
    ...(isEmpty(extensions) ? {} : { extensions }),
    ...details,
    request_id: requestId,
  })
  const encoded = Buffer.from(document, 'utf8').toString('base64')
  return {
    status: 402,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'payment-required': encoded,
      'x-payment-required': encoded,
      ...ownHeaders(headers),
    },
    body: document,
  }
}

function isEmpty(extensions: unknown): boolean {
  return typeof extensions !== 'object' || extensions === null || Object.keys(extensions).length === 0
}

function ownHeaders(headers: unknown): Record<string, string> {
  if (typeof headers !== 'object' || headers === null) return {}
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}
