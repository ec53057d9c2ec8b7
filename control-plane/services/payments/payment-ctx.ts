import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { PaymentParts } from '#control-plane/ports/facilitator/payment-parts.ts'

/** The context of payments by wallet. */
export type PaymentCtx = Pick<Ctx, 'ledger' | 'gate' | 'clock' | 'ids' | 'log'> & {
  readonly payments: PaymentParts
}

/** The same context in a market with payments by wallet; undefined without them. */
export function withPayments<Context extends Omit<PaymentCtx, 'payments'> & { readonly payments: PaymentParts | null }>(
  ctx: Context,
): (Context & { readonly payments: PaymentParts }) | undefined {
  const { payments } = ctx
  return payments === null ? undefined : { ...ctx, payments }
}
