import type { Rail } from '#data-plane/rails/rail.ts'
import { paymentPrice } from '#data-plane/rails/x402/requirement.ts'
import type { ModelRequest } from '#test/sim/model/model-request.ts'
import { violation } from '#test/sim/time/violation.ts'
import type { Watch } from './watched.ts'

/**
 * Wraps a way to pay by wallet. The model learns when a payment is claimed for a call, and whether the desk received
 * the charge. P1: a payment serves one call. P7: an invalid payment serves none, and a payment by MPP serves only the
 * request of its challenge.
 */
export function watchRail<Proof>(rail: Rail<Proof>, { model, ground, fail }: Watch): Rail<Proof> {
  /** A call without an effect, whose release may be missing from a restored ledger along with its claim. */
  const isForgotten = ({ state }: ModelRequest) => state === 'released' && ground.postgres.tables().identity.here > 1
  return {
    ...rail,
    async reserve(payer, proof, quote, raw) {
      const hold = await rail.reserve(payer, proof, quote, raw)
      const request = model.requests.get(hold.rid)
      const payment = request?.payment
      if (request === undefined || payment === undefined) {
        fail(violation('P1', `${hold.rid} is paid by an unknown payment`))
        return hold
      }
      const first = model.requests.get(payment.paidFor ?? '')
      if (first !== undefined && first.rid !== hold.rid && !isForgotten(first)) {
        fail(violation('P1', `${payment.name} pays for ${first.rid}, which is ${first.state}, and for ${hold.rid}`))
      }
      const isCovered = payment.isLower && payment.most >= paymentPrice(quote.wantMicro)
      if (!payment.isGood && !isCovered) {
        fail(violation('P7', `${payment.name} is not good and pays for ${hold.rid}`))
      }
      if (payment.onlyFor !== undefined && payment.onlyFor !== raw.body.toString()) {
        fail(violation('P7', `${payment.name} pays for another request than its challenge is of`))
      }
      payment.paidFor = hold.rid
      request.state = 'running'
      request.heldMicro = hold.grantedMicro
      request.deadline = raw.receivedAt + quote.ttlMs
      return hold
    },
    async settle(hold, charge, event) {
      const settled = await rail.settle(hold, charge, event)
      const request = model.requests.get(hold.rid)
      if (request === undefined) return settled
      request.captured = settled.state === 'final' ? 'accepted' : 'queued'
      // The desk was away and did not take this charge, so only the journal has it.
      if (settled.state !== 'final') request.faults.add('redis_lost')
      return settled
    },
    release(hold, reason, event) {
      const request = model.requests.get(hold.rid)
      if (request?.state === 'running') request.state = 'released'
      if (request !== undefined) request.endEvent ??= event
      return rail.release(hold, reason, event)
    },
  }
}
