import type { RequestHead } from '#data-plane/call.ts'
import type { CaptureOutcome, CreditClaim, Funds, Payer, PayerIdentity, Settled } from '#data-plane/payment.ts'
import { CREDIT_RAIL } from '#shared/contract/rails.ts'
import { AppError } from '#shared/errors.ts'
import type { AnyRail } from './rail.ts'
import { defineRail } from './rail.ts'

/** Finds the payer of a buyer key. */
export type BuyerKeys = {
  /** Throws AppError: `invalid_api_key`, `wrong_key_type`, `service_unavailable`. */
  identify(key: string): Promise<Payer>
}

/** The longest Authorization value that is parsed. */
const MAX_CREDENTIAL_LENGTH = 512
const SCHEME = /^bearer +/i

/** `takesApiKeyHeader` also accepts the key in `x-api-key`. */
type Ports = { readonly funds: Funds; readonly buyerKeys: BuyerKeys; readonly takesApiKeyHeader?: true }

/** Prepaid credit under a buyer key in `Authorization: Bearer`. */
export function creditRail({ funds, buyerKeys, takesApiKeyHeader }: Ports): AnyRail {
  return defineRail<string>({
    name: CREDIT_RAIL,
    recognize({ headers }: RequestHead) {
      const key = bearerKey(headers.authorization)
      return takesApiKeyHeader === true ? eitherKey(key, headers['x-api-key']) : key
    },
    identify: (key) => buyerKeys.identify(key),
    // Only an account can have credit, so a 402 names no price for this rail.
    challenge: null,
    async reserve(payer, _key, quote) {
      const { keyId, wallet, caps } = payer
      const { rid, wantMicro, minMicro, ttlMs } = quote
      const account = accountOf(payer)
      const { grantedMicro, budgets } = await funds.reserve({ rid, account, keyId, wantMicro, minMicro, ttlMs, caps })
      const hold = { rid, rail: CREDIT_RAIL, account, keyId, wallet, record: null, grantedMicro }
      return budgets === undefined ? hold : { ...hold, budgets }
    },
    settle: (hold, charge, event) => funds.capture(claimOf(hold), charge, event).then(settledAs),
    release: (hold, reason, event) => funds.release(claimOf(hold), reason, event),
  })
}

/** Throws `internal_error` for a payer without an account, because such a hold belongs to another rail. */
function accountOf({ account }: PayerIdentity): CreditClaim['account'] {
  if (account === null) throw new AppError('internal_error', { cause: new Error('credit without an account') })
  return account
}

function claimOf(hold: PayerIdentity & Pick<CreditClaim, 'rid' | 'budgets'>): CreditClaim {
  const claim = { rid: hold.rid, account: accountOf(hold), keyId: hold.keyId }
  return hold.budgets === undefined ? claim : { ...claim, budgets: hold.budgets }
}

/** The gate has the event, and the booking finds it there. */
const ACCEPTED: Settled = { state: 'final', booking: 'by-name' }
/** The gate has another amount for the same call. The booking sees both. */
const CONTRADICTED: Settled = { state: 'final', booking: 'by-event' }
/** The gate is out of reach. The journal keeps the capture until the gate is back. */
const QUEUED: Settled = { state: 'pending', booking: 'by-event' }

function settledAs(outcome: CaptureOutcome): Settled {
  switch (outcome) {
    case 'accepted':
      return ACCEPTED
    case 'contradicted':
      return CONTRADICTED
    case 'queued':
      return QUEUED
  }
}

function bearerKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const scheme = SCHEME.exec(header)
  // A header of another scheme belongs to another rail, or to none.
  if (!scheme) return undefined
  return checkedKey(header.slice(scheme[0].length).trim())
}

function checkedKey(key: string): string {
  if (key === '' || key.length > MAX_CREDENTIAL_LENGTH) throw new AppError('invalid_api_key')
  return key
}

/** Takes the key from two headers. Two different keys are refused, because their meaning is ambiguous. */
function eitherKey(bearer: string | undefined, header: string | string[] | undefined): string | undefined {
  if (header === undefined) return bearer
  const key = checkedKey(typeof header === 'string' ? header.trim() : '')
  if (bearer !== undefined && bearer !== key) {
    throw new AppError('invalid_request', {
      message: 'Authorization and x-api-key have different keys. Send one of them.',
    })
  }
  return key
}
