import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { TreasuryParts } from '#control-plane/ports/treasury/treasury-parts.ts'

/** The context of payouts. `treasury` is undefined without a signer. */
export type PayoutCtx = Pick<
  Ctx,
  'db' | 'clock' | 'ids' | 'log' | 'settings' | 'controls' | 'treasury' | 'wake' | 'ledger' | 'gate'
>

/** The context of money that leaves the treasury. */
export type TreasuryCtx = Omit<PayoutCtx, 'treasury'> & { readonly treasury: TreasuryParts }

/** The same context with a signer of the treasury; undefined without one. */
export function withTreasury<Context extends PayoutCtx>(
  ctx: Context,
): (Context & { readonly treasury: TreasuryParts }) | undefined {
  const { treasury } = ctx
  return treasury === null ? undefined : { ...ctx, treasury }
}
