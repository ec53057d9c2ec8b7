import type { Funds, Payer } from '#data-plane/call.ts'
import { AppError } from '#shared/errors.ts'
import type { AnyRail } from './rail.ts'
import { defineRail } from './rail.ts'

/** Where buyers' keys are looked up. */
export type BuyerKeys = {
  /** Throws AppError: `invalid_api_key`, `wrong_key_type`, `service_unavailable`. */
  identify(key: string): Promise<Payer>
}

/** The longest Authorization value that is looked at. */
const MAX_CREDENTIAL_LENGTH = 512
const SCHEME = /^bearer +/i

/** What the rail reaches for; `takesApiKeyHeader` lets the key stand in `x-api-key` as well. */
type Ports = { readonly funds: Funds; readonly buyerKeys: BuyerKeys; readonly takesApiKeyHeader?: true }

/** Prepaid credit under a buyer key in `Authorization: Bearer`. */
export function creditRail({ funds, buyerKeys, takesApiKeyHeader }: Ports): AnyRail {
  return defineRail<string>({
    name: 'credit',
    recognize(raw) {
      const key = bearerKey(raw.headers.authorization)
      return takesApiKeyHeader === true ? eitherKey(key, raw.headers['x-api-key']) : key
    },
    identify: (key) => buyerKeys.identify(key),
    // Credit is opened by an account, not by a payment: there is nothing to ask for in a 402.
    challenge: () => undefined,
    reserve: (payer, _key, quote) =>
      funds.reserve({
        rid: quote.rid,
        account: payer.account,
        keyId: payer.keyId,
        wantMicro: quote.wantMicro,
        minMicro: quote.minMicro,
        ttlMs: quote.ttlMs,
        caps: payer.caps,
      }),
    settle: (hold, charge, event) => funds.capture(hold, charge, event),
    release: (hold, reason, event) => funds.release(hold, reason, event),
  })
}

function bearerKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const scheme = SCHEME.exec(header)
  // Another scheme is another rail's, or nobody's.
  if (!scheme) return undefined
  return checkedKey(header.slice(scheme[0].length).trim())
}

function checkedKey(key: string): string {
  if (key === '' || key.length > MAX_CREDENTIAL_LENGTH) throw new AppError('invalid_api_key')
  return key
}

/** The key of two headers. Two different ones could be read in two ways. */
function eitherKey(bearer: string | undefined, header: string | string[] | undefined): string | undefined {
  if (header === undefined) return bearer
  const key = checkedKey(typeof header === 'string' ? header.trim() : '')
  if (bearer !== undefined && bearer !== key) {
    throw new AppError('invalid_request', { message: 'Authorization and x-api-key hold different keys.' })
  }
  return key
}
