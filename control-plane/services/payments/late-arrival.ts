import type { ChainPayment, ChainPaymentRows } from '#control-plane/db/chain-payments.ts'
import { lowerBigint } from '#shared/bigints.ts'
import { PAYMENT_STATES } from './payment-states.ts'

/**
 * Reopens a locked payment that owed nothing or was given up, when the treasury has its money nevertheless: anybody can
 * submit an exact authorization to the chain. The arrived amount is booked as usual, and is the payer's credit. Call it
 * whenever a payment ends without money, and whenever a transfer matches one. True when the payment was reopened.
 */
export async function takeUpArrival(
  payments: Pick<ChainPaymentRows, 'change' | 'findArrival'>,
  { rid, state, came, due, amount }: Pick<ChainPayment, 'rid' | 'state' | 'came' | 'due' | 'amount'>,
): Promise<boolean> {
  const next = PAYMENT_STATES[state].appear
  const arrival = next === null || came !== null ? undefined : await payments.findArrival(rid)
  if (next === null || arrival === undefined) return false
  const { transaction } = arrival
  // A nonce may have been signed for two amounts.
  await payments.change(rid, {
    state: next,
    transaction,
    bookedAt: null,
    due: due ?? lowerBigint(arrival.amount, amount),
  })
  return true
}
