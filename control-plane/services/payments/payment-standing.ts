import type { CarriedCall } from '#control-plane/db/payment-views.ts'
import type { EndedCall, Standing } from '#shared/lookup-record.ts'
import { standingOf } from '#shared/lookup-record.ts'

/** The facts of a payment that decide the standing of its call. */
export type PaymentFacts = Pick<CarriedCall, 'state' | 'transaction' | 'reason' | 'changedAt'>

/**
 * The standing of a call that is over and was paid by wallet. Its charge is settled once its block is deep enough,
 * whether it is booked or not.
 */
export function standingByPayment(call: EndedCall, payment: PaymentFacts): Standing {
  const { state, transaction, reason, changedAt } = payment
  const owed = { ...standingOf(call, null), tx_hash: transaction }
  if (call.charge === 0n) return owed
  switch (state) {
    case 'claimed':
    case 'due':
    case 'mined':
    // A late charge makes a released payment due again.
    case 'released':
      return owed
    case 'confirmed':
      return { ...owed, settlement_status: 'settled', confirmed_at: changedAt.toISOString() }
    case 'written_off':
      return { ...owed, settlement_status: 'failed', settlement_error: reason }
  }
}
