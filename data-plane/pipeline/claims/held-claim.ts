import { z } from 'zod'
import type { Chargeable } from '#data-plane/payment.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import type { HeldClaimText } from '#shared/contract/chain-payments.ts'
import { HeldClaimSchema } from '#shared/contract/chain-payments.ts'

const Kept = z.object({ claim: z.record(z.string(), z.unknown()) })
const Seconds = z.string().transform(Number)
/** The end of an authorization, in Unix seconds. */
const Until = z.union([
  z.object({ authorization: z.object({ validBefore: Seconds }) }).transform((read) => read.authorization.validBefore),
  z
    .object({ permit2Authorization: z.object({ deadline: Seconds }) })
    .transform((read) => read.permit2Authorization.deadline),
])
const Signed = z.object({ payload: z.object({ payload: Until }) })

/** A bound for the difference between the clocks of two machines. */
const CLOCK_MARGIN_MS = MINUTE

/**
 * The claim of a call for its ledger. Undefined for a call without a claim, and for an expired authorization, which
 * no call can claim a second time.
 */
export function claimOf({ rid, rail, account, record }: Chargeable, now: number): HeldClaimText | undefined {
  const kept = Kept.safeParse(record)
  if (!kept.success) return undefined
  const until = Signed.safeParse(kept.data.claim).data?.payload.payload
  if (until === undefined || until * SECOND + CLOCK_MARGIN_MS < now) return undefined
  const claim: unknown = { ...kept.data.claim, rid, rail, account }
  return isClaim(claim) ? claim : undefined
}

function isClaim(claim: unknown): claim is HeldClaimText {
  return HeldClaimSchema.safeParse(claim).success
}
