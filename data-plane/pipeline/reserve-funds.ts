import type { RawRequest } from '#data-plane/call.ts'
import type { Hold, Payer, Quote } from '#data-plane/payment.ts'
import type { Payment } from '#data-plane/rails/rail.ts'
import { AppError } from '#shared/errors.ts'
import { ZERO } from '#shared/money.ts'
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
  const { payer, raw } = guest
  if (quote.wantMicro === ZERO) return payment.reserve(payer, quote, raw)
  if (!plane.journal.isWritable()) {
    throw new AppError('service_unavailable', {
      detail: { limit_source: 'journal', limit_scope: 'platform', resets_at: null },
      retryAfterSeconds: RETRY_SECONDS,
    })
  }
  refuseSwitchedOff(plane, 'paid_calls')
  return payment.reserve(payer, quote, raw)
}
