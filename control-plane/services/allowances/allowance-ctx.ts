import type { Purse } from '#control-plane/db/treasury-moves.ts'
import type { AllowanceSettings, Ctx } from '#control-plane/operation/ctx.ts'
import type { MoveParts } from '#control-plane/ports/treasury/move-parts.ts'
import type { TreasuryParts } from '#control-plane/ports/treasury/treasury-parts.ts'
import type { DebitCtx } from '#control-plane/services/ledger/ledger-debits.ts'
import { purseOfTreasury } from '#control-plane/services/treasury/purse-of-treasury.ts'
import { AppError } from '#shared/errors.ts'

/** The context of accounts that pay from their wallets, whether this market takes that or not. */
export type AllowanceCtx = DebitCtx &
  Pick<Ctx, 'controls' | 'metrics' | 'treasury' | 'moves'> & { readonly settings: Of }
type Of = Pick<Ctx['settings'], 'allowances'>

/** The same where the treasury takes from wallets. */
export type AllowanceLineCtx = Omit<AllowanceCtx, 'treasury'> & {
  readonly treasury: TreasuryParts
  readonly purse: Purse
}

/**
 * The same context where the treasury takes from wallets: somebody signs for it, and its transfers are read, because what
 * it takes is credited from there.
 */
export function withAllowances<Context extends Pick<AllowanceCtx, 'treasury' | 'moves'>>(
  ctx: Context,
): (Context & Pick<AllowanceLineCtx, 'treasury' | 'purse'>) | undefined {
  const { treasury, moves } = ctx
  if (treasury === null || moves === null) return undefined
  return { ...ctx, treasury, purse: purseOfTreasury(treasury) }
}

/** The token and the treasury that takes it. */
export type Taker = Pick<MoveParts, 'chainId' | 'asset' | 'assetName' | 'assetVersion' | 'treasury'>

/** Where the treasury's transfers are read, and so those of wallets. Throws `conflict` where nothing is taken from wallets. */
export function requireTaker({ moves }: Pick<AllowanceCtx, 'moves'>): MoveParts {
  if (moves === null) throw notOffered()
  return moves
}

/** The same where accounts may begin to pay from their wallets. */
export function requireOffer({ moves, settings }: Pick<AllowanceCtx, 'moves' | 'settings'>): MoveParts {
  if (!isOffered(settings.allowances)) throw notOffered()
  return requireTaker({ moves })
}

const notOffered = () => new AppError('conflict', { message: 'This market takes nothing from wallets by allowance.' })

export const isOffered = ({ lineMicro }: AllowanceSettings): boolean => lineMicro > 0n
