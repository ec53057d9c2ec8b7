import { renewKnownMoves, sumMoves } from '#control-plane/db/treasury-moves.ts'
import { isChainStrange } from '#control-plane/services/treasury/known-chain.ts'
import type { DepositCtx } from './move-ctx.ts'
import { purseOf, withMoves } from './move-ctx.ts'

/**
 * Judges moves again whose wallets have signed in since, and sets the metrics: transfers that wait for a person, and
 * whether the chain is the one that was read.
 */
export async function watchMoves(ctx: DepositCtx): Promise<void> {
  const reading = withMoves(ctx)
  if (reading === undefined) return
  const purse = purseOf(reading.moves)
  ctx.metrics.findings('strange_chain', (await isChainStrange(ctx.db, purse)) ? 1 : 0)
  await renewKnownMoves(ctx.db, purse)
  const unknown = (await sumMoves(ctx.db, purse)).filter(({ kind }) => kind === 'unknown')
  ctx.metrics.findings(
    'unknown_transfer',
    unknown.reduce((sum, { count }) => sum + count, 0),
  )
}
