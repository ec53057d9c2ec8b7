import type { PaymentTerms } from '#shared/contract/chain-payments.ts'
import { LEAST_PAYMENT_MICRO, MOST_PAYMENT_MICRO } from '#shared/contract/chain-payments.ts'
import type { MicroUsd } from '#shared/money.ts'
import { max, microUsd, min } from '#shared/money.ts'

/** A way to pay exactly or up to an amount. */
export type Scheme = 'exact' | 'upto'

/**
 * Seconds that a payer has from its signature to the end of the call: the longest call, the settlement after it, and
 * some slack.
 */
export const MAX_TIMEOUT_SECONDS = 900

/** A demand of x402, version 2, for one way to pay. */
export type Requirement = {
  readonly scheme: Scheme
  readonly network: string
  readonly asset: string
  /** Micro-USD, the token's own units. */
  readonly amount: string
  readonly payTo: string
  readonly maxTimeoutSeconds: number
  readonly extra: Readonly<Record<string, unknown>>
}

/** The demand for a payment under these terms. `quote` is our sealed price; undefined adds none. */
export function requirementFor(
  scheme: Scheme,
  terms: PaymentTerms,
  amountMicro: MicroUsd,
  quote: string | undefined,
): Requirement {
  const { network, asset, assetName: name, assetVersion: version, payTo, facilitator } = terms
  const settledBy = scheme === 'upto' ? { facilitatorAddress: facilitator } : {}
  return {
    scheme,
    network,
    asset,
    amount: amountMicro.toString(),
    payTo,
    maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
    extra: { name, version, ...settledBy, ...(quote === undefined ? {} : { quote }) },
  }
}

/** The price of a call by wallet, which is at least 0.001 and at most 1.00 USD. */
export function paymentPrice(wantMicro: MicroUsd): MicroUsd {
  return min(max(wantMicro, microUsd(LEAST_PAYMENT_MICRO)), microUsd(MOST_PAYMENT_MICRO))
}
