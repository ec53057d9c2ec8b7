import { z } from 'zod'
import type { ChainPayment } from '#control-plane/db/chain-payments.ts'
import type { PaymentOnChain } from '#control-plane/ports/chain/chain.ts'
import { MINUTE } from '#shared/clock.ts'

/** What the chain must show is in the requirement that was signed for, whatever the settings are by now. */
const SignedFor = z.object({
  payTo: z.string(),
  extra: z.object({ facilitatorAddress: z.string().nullable().catch(null) }),
})

/** A stored payment as the chain shows it. Throws for a row that no claim has made. */
export function onChain({ asset, payer, nonce, due, requirement }: ChainPayment): PaymentOnChain {
  const { payTo, extra } = SignedFor.parse(requirement)
  return { asset, payer, nonce, payTo, amount: due ?? 0n, settledBy: extra.facilitatorAddress }
}

/** True when a sender is the one that a payment was signed for. */
export function isSettledBy({ requirement }: Pick<ChainPayment, 'requirement'>, sender: string | undefined): boolean {
  return SignedFor.parse(requirement).extra.facilitatorAddress?.toLowerCase() === sender
}

/** True when nobody can take a payment any more. `at` is an instant in Unix milliseconds, best by the chain's own clock. */
export function isOver({ validUntil }: Pick<ChainPayment, 'validUntil'>, at: number): boolean {
  return validUntil.getTime() + MINUTE < at
}
