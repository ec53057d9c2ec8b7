import { renewKnownMoves, sumMoves } from '#control-plane/db/treasury-moves.ts'
import type { DepositCtx } from './move-ctx.ts'
import { purseOf, withMoves } from './move-ctx.ts'

/**
 * Looks again at what came from wallets that have signed in since, and shows how many transfers wait for a person.
 */
export async function watchMoves(ctx: DepositCtx): Promise<void> {
  const reading = withMoves(ctx)
  if (reading === undefined) return
  const purse = purseOf(reading.moves)
  await renewKnownMoves(ctx.db, purse)
  const unknown = (await sumMoves(ctx.db, purse)).filter(({ kind }) => kind === 'unknown')
  ctx.metrics.findings(
    'unknown_transfer',
    unknown.reduce((sum, { count }) => sum + count, 0),
  )
}
