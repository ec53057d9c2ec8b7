import type { Purse } from '#control-plane/db/treasury-moves.ts'
import type { AllowanceSettings, Ctx } from '#control-plane/operation/ctx.ts'
import type { MoveParts } from '#control-plane/ports/treasury/move-parts.ts'
import type { TreasuryParts } from '#control-plane/ports/treasury/treasury-parts.ts'
import type { DebitCtx } from '#control-plane/services/ledger/ledger-debits.ts'
import { purseOfTreasury } from '#control-plane/services/treasury/purse-of-treasury.ts'
import { AppError } from '#shared/errors.ts'

/** The context of accounts that pay from their wallets. `moves` is undefined in a market that takes no such payment. */
export type AllowanceCtx = DebitCtx &
  Pick<Ctx, 'controls' | 'metrics' | 'treasury' | 'moves'> & { readonly settings: Of }
type Of = Pick<Ctx['settings'], 'allowances'>

/** The context of a market whose treasury draws from wallets. */
export type AllowanceLineCtx = Omit<AllowanceCtx, 'treasury'> & {
  readonly treasury: TreasuryParts
  readonly purse: Purse
}

/**
 * The same context with the treasury's reader and signer. Undefined unless both exist: a draw is credited from the
 * transfers that the reader finds.
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

/**
 * Returns the reader of the treasury's transfers, which finds draws, too. Throws `conflict` in a market that draws from
 * no wallet.
 */
export function requireTaker({ moves }: Pick<AllowanceCtx, 'moves'>): MoveParts {
  if (moves === null) throw notOffered()
  return moves
}

/** As `requireTaker`, for a market in which accounts may still open an allowance line. */
export function requireOffer({ moves, settings }: Pick<AllowanceCtx, 'moves' | 'settings'>): MoveParts {
  if (!isOffered(settings.allowances)) throw notOffered()
  return requireTaker({ moves })
}

const notOffered = () =>
  new AppError('conflict', { message: 'This market does not take payments from wallets by allowance.' })

export const isOffered = ({ lineMicro }: AllowanceSettings): boolean => lineMicro > 0n
