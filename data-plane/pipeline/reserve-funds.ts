import type { RawRequest } from '#data-plane/call.ts'
import type { Hold, Payer, Quote } from '#data-plane/payment.ts'
import type { Payment } from '#data-plane/rails/rail.ts'
import { AppError } from '#shared/errors.ts'
import { ZERO } from '#shared/money.ts'
import { WORK_UNITS } from '#shared/refused-work.ts'
import type { CallPlane } from './call-plane.ts'
import { refuseSwitchedOff } from './refuse-switched-off.ts'

const RETRY_SECONDS = 5

type Paying = { readonly payer: Payer; readonly raw: RawRequest }

/** Sets the money aside. A process that cannot write to its journal refuses a call that may cost something. */
export function reserveFunds(
  plane: CallPlane,
  payment: Pick<Payment, 'reserve'>,
  guest: Paying,
  quote: Quote,
): Promise<Hold> {
  if (quote.wantMicro === ZERO) return reserve(plane, payment, guest, quote)
  if (!plane.money.journal.isWritable()) {
    throw new AppError('service_unavailable', {
      detail: { limit_source: 'journal', limit_scope: 'platform', resets_at: null },
      retryAfterSeconds: RETRY_SECONDS,
    })
  }
  refuseSwitchedOff(plane, 'paid_calls')
  return reserve(plane, payment, guest, quote)
}

/**
 * While the check of a payment by wallet lasts, it is charged to the network address, so that simultaneous forgeries
 * are bounded, too. A refused payment is charged by its refusal.
 */
async function reserve(
  { refusedWork }: Pick<CallPlane, 'refusedWork'>,
  payment: Pick<Payment, 'reserve'>,
  { payer, raw }: Paying,
  quote: Quote,
): Promise<Hold> {
  if (payer.account !== null) return payment.reserve(payer, quote, raw)
  const address = raw.peer()
  refusedWork.refuseSpent(address)
  refusedWork.charge(address, WORK_UNITS.payment)
  try {
    return await payment.reserve(payer, quote, raw)
  } finally {
    refusedWork.giveBack(address, WORK_UNITS.payment)
  }
}
