import { HTTPFacilitatorClient } from '@x402/core/http'
import type { SettleResponse, VerifyResponse } from '@x402/core/types'
import { SettleError, VerifyError } from '@x402/core/types'
import type { Facilitator } from './facilitator.ts'

const TIMEOUT_MS = 15_000
const PENDING = 'settlement_pending'
const HASH = /^0x[0-9a-fA-F]{64}$/
/** Replies of this status and above say nothing about the payment. */
const SERVER_ERROR = 500

/** A hosted facilitator, behind the standard paths `/verify`, `/settle` and `/supported`. */
export function createRemoteFacilitator(url: string): Facilitator {
  const client = new HTTPFacilitatorClient({ url, timeoutMs: TIMEOUT_MS })
  return {
    async verify({ payload, requirements }) {
      const { isValid, invalidReason, payer } = await client.verify(payload, requirements).catch(refusalOfVerify)
      if (isValid && payer !== undefined) return { isValid: true, payer }
      return { isValid: false, reason: invalidReason ?? 'invalid_payload' }
    },
    async settle({ payload, requirements }) {
      try {
        const settled = await client.settle(payload, requirements).catch(refusalOfSettle)
        const { success, transaction, errorReason } = settled
        const hash = HASH.test(transaction) ? transaction.toLowerCase() : null
        // A settlement without a transaction cannot be looked up. It is requested again.
        if (success && hash !== null) return { state: 'mined', transaction: hash }
        if (success || errorReason === PENDING) return { state: 'pending', transaction: hash, reason: PENDING }
        return { state: 'refused', reason: errorReason ?? 'unexpected_settle_error' }
      } catch {
        // The settlement's outcome is unknown. The settlement is requested again.
        return { state: 'pending', transaction: null, reason: PENDING }
      }
    },
    supported: () => client.getSupported(),
  }
}

// Some facilitators refuse with a status of 4xx. The client throws these, with the text of the body.

function refusalOfVerify(error: unknown): Pick<VerifyResponse, 'isValid' | 'invalidReason' | 'payer'> {
  if (!(error instanceof VerifyError) || error.statusCode >= SERVER_ERROR) throw error
  const { invalidReason } = error
  return { isValid: false, ...(invalidReason === undefined ? {} : { invalidReason }) }
}

function refusalOfSettle(error: unknown): Pick<SettleResponse, 'success' | 'transaction' | 'errorReason'> {
  if (!(error instanceof SettleError) || error.statusCode >= SERVER_ERROR) throw error
  const { errorReason } = error
  return { success: false, transaction: '', ...(errorReason === undefined ? {} : { errorReason }) }
}
