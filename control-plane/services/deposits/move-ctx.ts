import type { Purse } from '#control-plane/db/treasury-moves.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { MoveParts } from '#control-plane/ports/treasury/move-parts.ts'
import { AppError } from '#shared/errors.ts'

/** The context of money that arrives at the treasury. `moves` is null when the treasury's transfers are not read. */
export type DepositCtx = Pick<
  Ctx,
  'db' | 'clock' | 'ids' | 'log' | 'ledger' | 'gate' | 'metrics' | 'treasury' | 'moves' | 'payments'
>

/** The context of a treasury whose transfers are read. */
export type MoveCtx = Omit<DepositCtx, 'moves'> & { readonly moves: MoveParts }

/** The same context with the reader of the treasury's transfers; undefined without one. */
export function withMoves<Context extends Pick<DepositCtx, 'moves'>>(
  ctx: Context,
): (Context & { readonly moves: MoveParts }) | undefined {
  const { moves } = ctx
  return moves === null ? undefined : { ...ctx, moves }
}

/** Returns the reader of the treasury's transfers. Throws `conflict` without a treasury or a chain. */
export function requireMoves({ moves }: Pick<DepositCtx, 'moves'>): MoveParts {
  if (moves === null) throw new AppError('conflict', { message: 'This market does not take deposits of tokens.' })
  return moves
}

/**
 * Throws `conflict` for the treasury of the settings, and while no hold is set, because then nothing waits for a
 * former treasury.
 */
export async function requireAwaitable(
  { moves, ledger }: Pick<DepositCtx, 'moves' | 'ledger'>,
  treasury: string,
): Promise<void> {
  if (moves?.treasury === treasury) {
    throw new AppError('conflict', { message: 'The settings name this treasury. Give the address of another one.' })
  }
  if ((await ledger.readEpoch()).heldAt === undefined) {
    throw new AppError('conflict', { message: 'No transfers are held, and no treasury change is waiting.' })
  }
}

/** The newest final block below a head. Negative on a chain without such a block yet. */
export function finalBlock({ confirmations }: Pick<MoveParts, 'confirmations'>, head: bigint): bigint {
  return head - BigInt(confirmations) + 1n
}

/** The token and treasury whose transfers are read. */
export function purseOf({ chainId, asset, treasury }: MoveParts): Purse {
  return { chainId, asset, treasury }
}
