import { z } from 'zod'
import { MicroUsdText } from './micro-usd-text.ts'

/**
 * The states of the money that is set aside for one call, in Redis under the request id. A hold ends once: captured and
 * then posted, or released, or expired. A capture after a release or an expiry is booked late and never dropped.
 */
export const HOLD_STATES = ['open', 'captured', 'posted', 'released', 'expired'] as const
export type HoldState = (typeof HOLD_STATES)[number]

/** The reason of a hold that was released because its process died with the call. */
export const OWNER_DIED = 'owner_died'

export const HoldRecordSchema = z.object({
  epoch: z.number().int().positive(),
  state: z.enum(HOLD_STATES),
  /** The amount granted at the reserve. The charge never exceeds it. */
  amount: MicroUsdText,
  /** The amount charged at the capture. */
  used: MicroUsdText.nullable(),
  account: z.string(),
  keyId: z.string(),
  /** The name under which the serving process takes part in the gate. */
  node: z.string(),
  /** Unix milliseconds by the clock of Redis. */
  openedAt: z.number().int(),
  expiresAt: z.number().int(),
  /** The usage event as one string, from the end of the call on. */
  event: z.string().nullable(),
  /** The reason of its release; null without one. */
  reason: z.string().nullable(),
  /** Unix milliseconds of the posting; null while unknown. */
  postedAt: z.number().int().nullable(),
})
export type HoldRecord = z.infer<typeof HoldRecordSchema>
