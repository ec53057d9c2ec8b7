import type { Chargeable, Settled } from '#data-plane/payment.ts'
import type { CallPlane } from './call-plane.ts'
import { announce } from './emit-call.ts'

/**
 * Makes the event of a job durable and has it booked. It is on the disk before its rail settles it and anybody is told,
 * so whatever dies then, it is booked. Jobs are few, so each may wait for the disk. A disk that takes nothing is no
 * reason to refuse what the rail takes for good. Answers how the charge stands. Rejects when neither took it.
 */
export async function bookJobEvent(
  calls: Pick<CallPlane, 'journal' | 'events'>,
  subject: Pick<Chargeable, 'rid' | 'rail' | 'account'>,
  event: string,
  settle: () => Promise<Settled>,
): Promise<Settled> {
  calls.journal.capture(subject, event)
  const isKept = await calls.journal.sync().then(
    () => true,
    () => false,
  )
  const settled = await settle()
  const { state, booking } = settled
  if (state === 'pending' && !isKept) await calls.journal.sync()
  announce(calls, subject, { booking, event })
  return settled
}
