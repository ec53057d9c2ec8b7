import { z } from 'zod'
import type { ChainPayment } from '#control-plane/db/chain-payments.ts'
import type { PaymentOnChain } from '#control-plane/ports/chain/chain.ts'
import { HOUR, MINUTE } from '#shared/clock.ts'
import { ulidTime } from '#shared/ids.ts'

/**
 * The requirement that was signed for names the transfer that the chain must show, whatever the settings are by now.
 */
const SignedFor = z.object({
  payTo: z.string(),
  extra: z.object({ facilitatorAddress: z.string().nullable().catch(null) }),
})

/** Milliseconds by which the clock of a chain may be behind that of a node. */
const MOST_BEHIND_MS = HOUR

/** A stored payment as the chain shows it. Throws for a row that no claim has made. */
export function onChain({ rid, asset, payer, nonce, due, requirement }: ChainPayment): PaymentOnChain {
  const { payTo, extra } = SignedFor.parse(requirement)
  // A payment is verified when its call comes, so its authorization was not used before.
  const since = ulidTime(rid) - MOST_BEHIND_MS
  return { asset, payer, nonce, payTo, amount: due ?? 0n, settledBy: extra.facilitatorAddress, since }
}

/** The only sender that a payment was signed for, in lower case; null where anybody can bring it. */
export function settlerOf({ requirement }: Pick<ChainPayment, 'requirement'>): string | null {
  return SignedFor.parse(requirement).extra.facilitatorAddress?.toLowerCase() ?? null
}

/** True when nobody can take a payment any more. `at` is an instant in Unix milliseconds, best by the chain's own clock. */
export function isOver({ validUntil }: Pick<ChainPayment, 'validUntil'>, at: number): boolean {
  return validUntil.getTime() + MINUTE < at
}
