import type { PaymentCtx } from './payment-ctx.ts'
import type { ReadPayment } from './signed-payment.ts'

/**
 * Tells whether a wallet is a contract, which signs in its own way. Null without a chain, and while the chain does not
 * answer.
 */
export function isContract(
  { payments, log }: Pick<PaymentCtx, 'payments' | 'log'>,
  wallet: string,
): Promise<boolean | null> {
  if (payments.chain === null) return Promise.resolve(null)
  return payments.chain.hasCode(wallet).catch((error: unknown) => {
    log.warn({ err: error }, 'the chain did not report whether a wallet is a contract')
    return null
  })
}

/**
 * True for a payer whose contract code checks its signatures, deployed or not. Null while the chain does not answer.
 */
export function isOfContract(
  ctx: Pick<PaymentCtx, 'payments' | 'log'>,
  { payer, isOfKey }: Pick<ReadPayment, 'payer' | 'isOfKey'>,
): Promise<boolean | null> {
  if (!isOfKey) return Promise.resolve(true)
  return ctx.payments.chain === null ? Promise.resolve(false) : isContract(ctx, payer)
}
