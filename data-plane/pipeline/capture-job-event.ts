import type { Chargeable, Settled } from '#data-plane/payment.ts'
import type { CallMoney } from './call-plane.ts'
import { announce } from './emit-call.ts'

/**
 * Makes the event of a job durable and has it booked. It is written to the journal and settled by its rail. Until the
 * rail is final, the event is on disk before any other process learns of it. Returns the state of the charge. Rejects
 * when neither the rail nor the disk took it.
 */
export async function captureJobEvent(
  money: Pick<CallMoney, 'journal' | 'events'>,
  subject: Pick<Chargeable, 'rid' | 'rail' | 'account'>,
  event: string,
  settle: () => Promise<Settled>,
): Promise<Settled> {
  money.journal.capture(subject, event)
  const settled = await settle()
  const { state, booking } = settled
  if (state === 'pending') await money.journal.sync()
  announce(money, subject, { booking, event })
  return settled
}
