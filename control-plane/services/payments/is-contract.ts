import type { PaymentCtx } from './payment-ctx.ts'

/** Says whether a wallet is a contract, which signs in its own way. Null where no chain is known, and while it is silent. */
export function isContract(
  { payments, log }: Pick<PaymentCtx, 'payments' | 'log'>,
  wallet: string,
): Promise<boolean | null> {
  if (payments.chain === null) return Promise.resolve(null)
  return payments.chain.hasCode(wallet).catch((error: unknown) => {
    log.warn({ err: error }, 'the chain does not say whether a wallet is a contract')
    return null
  })
}
