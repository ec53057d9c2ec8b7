import { z } from 'zod'
import type { ChainPayment } from '#control-plane/db/chain-payments.ts'
import type { PaymentOnChain } from '#control-plane/ports/chain/chain.ts'
import { HOUR, MINUTE } from '#shared/clock.ts'
import { ulidTime } from '#shared/ids.ts'

/**
 * The requirement that the payer signed names the transfer that the chain must show, even if the settings have changed
 * since.
 */
const SignedFor = z.object({
  payTo: z.string(),
  extra: z.object({ facilitatorAddress: z.string().nullable().catch(null) }),
})

/** Milliseconds by which the clock of a chain may lag behind that of a node. */
const MOST_BEHIND_MS = HOUR

/** A stored payment as the chain shows it. Throws for a row without a claim. */
export function onChain({ rid, asset, payer, nonce, due, requirement }: ChainPayment): PaymentOnChain {
  const { payTo, extra } = SignedFor.parse(requirement)
  // A payment is verified when its call arrives, so its authorization was unused before.
  const since = ulidTime(rid) - MOST_BEHIND_MS
  return { asset, payer, nonce, payTo, amount: due ?? 0n, settledBy: extra.facilitatorAddress, since }
}

/** The only sender that a payment was signed for, in lower case; null when anybody can submit it. */
export function settlerOf({ requirement }: Pick<ChainPayment, 'requirement'>): string | null {
  return SignedFor.parse(requirement).extra.facilitatorAddress?.toLowerCase() ?? null
}

/**
 * True when a payment can no longer be taken. `at` is an instant in Unix milliseconds, preferably by the chain's own
 * clock.
 */
export function isOver({ validUntil }: Pick<ChainPayment, 'validUntil'>, at: number): boolean {
  return validUntil.getTime() + MINUTE < at
}
