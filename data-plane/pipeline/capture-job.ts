import type { CaptureOutcome, Chargeable } from '#data-plane/call.ts'
import type { CallPlane } from './call-plane.ts'

/**
 * Makes the event of a job last and has it booked: written to the journal, captured by the gate, and where the gate is
 * away, on the disk before anybody is told. What the gate has is booked from there by its name, like a call. Rejects
 * when neither the gate nor the disk took it.
 */
export async function captureJob(
  { journal, events }: CallPlane,
  subject: Pick<Chargeable, 'rid' | 'account'>,
  event: string,
  capture: () => Promise<CaptureOutcome>,
): Promise<void> {
  journal.capture(subject, event)
  const captured = await capture()
  if (captured === 'accepted') {
    events.captured(subject)
    return
  }
  if (captured === 'queued') await journal.sync()
  events.usage(event)
}
