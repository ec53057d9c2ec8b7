import type { Payer } from '#data-plane/payment.ts'

/** The wallet that a payment names, and the number of the payment. */
type Named = { readonly wallet: string; readonly nonce: string }

const NOBODY = '0x0000000000000000000000000000000000000000'

/**
 * The payer of a payment that nobody has verified yet. It has no account and no preferences, and buys of trusted sellers.
 * Each payment is counted by itself: a name that anybody can write down must not spend its owner's rate.
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
