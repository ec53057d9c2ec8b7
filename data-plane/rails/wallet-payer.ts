import type { Payer } from '#data-plane/payment.ts'

/** The wallet in a payment, and the payment's number. */
type Named = { readonly wallet: string; readonly nonce: string }

const NOBODY = '0x0000000000000000000000000000000000000000'

/**
 * The payer of an unverified payment. It has no account and no preferences, and buys from trusted sellers. Each payment
 * is counted by itself: a name that any client can claim must not use up its owner's rate.
 */
export function walletPayer(names: Named | undefined): Payer {
  const { wallet, nonce } = names ?? { wallet: NOBODY, nonce: '' }
  return {
    account: null,
    keyId: null,
    wallet,
    countedAs: `${wallet} ${nonce}`,
    floorPercents: [],
    providersBlocked: [],
    allowsUntrusted: undefined,
    modelsAllowed: null,
    caps: { dailyMicro: null, monthlyMicro: null },
    ratePerMinute: null,
  }
}
