import { z } from 'zod'
import { MicroUsdText } from './amount.ts'

/**
 * Money set aside for one call, as it stands in Redis under the request id. A hold has exactly one end: captured and
 * then posted, released, or expired; a capture after the last two is booked late, never dropped.
 */
export const HOLD_STATES = ['open', 'captured', 'posted', 'released', 'expired'] as const
export type HoldState = (typeof HOLD_STATES)[number]

/** Why a hold was given back whose process died with its call. */
export const OWNER_DIED = 'owner_died'

export const HoldRecordSchema = z.object({
  epoch: z.number().int().positive(),
  state: z.enum(HOLD_STATES),
  /** Granted at the reserve; the charge never passes it. */
  amount: MicroUsdText,
  /** Charged at the capture. */
  used: MicroUsdText.nullable(),
  account: z.string(),
  keyId: z.string(),
  /** The process that serves the call, by the name under which it takes part in the gate. */
  node: z.string(),
  /** Unix milliseconds by the clock of Redis. */
  openedAt: z.number().int(),
  expiresAt: z.number().int(),
  /** The usage event as one string of bytes, from the end of the call on. */
  event: z.string().nullable(),
  /** Why it was given back, once it was. */
  reason: z.string().nullable(),
  /** Unix milliseconds of the posting, once it is known. */
  postedAt: z.number().int().nullable(),
})
export type HoldRecord = z.infer<typeof HoldRecordSchema>
