import { HTTPFacilitatorClient } from '@x402/core/http'
import type { Facilitator } from './facilitator.ts'

const TIMEOUT_MS = 15_000
const PENDING = 'settlement_pending'

/** A facilitator of others, behind the standard paths `/verify`, `/settle` and `/supported`. */
export function createRemoteFacilitator(url: string): Facilitator {
  const client = new HTTPFacilitatorClient({ url })
  return {
    async verify({ payload, requirements }) {
      const { isValid, invalidReason, payer } = await within(client.verify(payload, requirements))
      if (isValid && payer !== undefined) return { isValid: true, payer }
      return { isValid: false, reason: invalidReason ?? 'invalid_payload' }
    },
    async settle({ payload, requirements }) {
      try {
        const { success, transaction, errorReason } = await within(client.settle(payload, requirements))
        if (success) return { state: 'mined', transaction }
        if (errorReason === PENDING) return { state: 'pending', transaction: transaction || null, reason: PENDING }
        return { state: 'refused', reason: errorReason ?? 'unexpected_settle_error' }
      } catch {
        // Nobody knows what became of it. It is asked for again.
        return { state: 'pending', transaction: null, reason: PENDING }
      }
    },
    supported: () => within(client.getSupported()),
  }
}

/** Throws when the answer takes too long. The client has no limit of its own. */
function within<Result>(answer: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('the facilitator took too long')), TIMEOUT_MS)
  })
  return Promise.race([answer, late]).finally(() => clearTimeout(timer))
}
