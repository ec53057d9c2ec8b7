import { failUnsentDraws } from '#control-plane/db/allowance-draws.ts'
import { transact } from '#control-plane/db/database.ts'
import type { MoneyRecord } from '#control-plane/db/money-epoch.ts'
import { liftHold } from '#control-plane/db/money-epoch.ts'
import { countUnsettledMoves, findCursor } from '#control-plane/db/treasury-moves.ts'
import { listUnbookedDepartures } from '#control-plane/db/treasury-transfers.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { headOfKnownChain } from './known-chain.ts'

/**
 * What a held ledger waits for. `journals`: the nodes register again what they captured. `chain`: the blocks are read in
 * which what was signed before may still leave, and they leave the balance that the chain says. `transfers`: each transfer
 * of these blocks is in the books.
 */
export const HOLD_WAITS = ['journals', 'chain', 'transfers'] as const
export type HoldWait = (typeof HOLD_WAITS)[number]

export type LiftCtx = Pick<Ctx, 'db' | 'ids' | 'log' | 'ledger' | 'metrics' | 'moves' | 'treasury'>

/** Why a draw was given up: the books went back, and cannot say whether it was sent. What is still owed is drawn anew. */
const LOST = 'ledger_restored'
/** Departures of one look. */
const MOST_LOOKED_UP = 2_000

/**
 * Lets money leave again once a ledger that went back in time agrees with the journals and the chain. Answers what it waits
 * for; undefined while nothing is held.
 */
export async function liftWhenWhole(ctx: LiftCtx): Promise<HoldWait | undefined> {
  const record = await ctx.ledger.readEpoch()
  const { heldAt } = record
  ctx.metrics.findings('departures_held', heldAt === undefined ? 0 : 1)
  if (heldAt === undefined) return undefined
  const wait = await findWait(ctx, record)
  if (wait !== undefined) {
    ctx.log.debug({ heldAt, wait }, 'nothing leaves: the ledger went back in time')
    return wait
  }
  await transact(ctx.db, async (trx) => {
    if (!(await liftHold(trx, heldAt))) return
    const draws = await failUnsentDraws(trx, LOST)
    ctx.log.warn({ heldAt, draws: Number(draws) }, 'the ledger agrees with the chain: money may leave again')
  })
  return undefined
}

/** What a held ledger still waits for. Throws while the chain is silent, or is another one. */
export async function findWait(
  ctx: Pick<LiftCtx, 'db' | 'ids' | 'log' | 'moves' | 'treasury'>,
  { heldAt, joinedAt }: Pick<MoneyRecord, 'heldAt' | 'joinedAt'>,
): Promise<HoldWait | undefined> {
  const { db, moves, treasury } = ctx
  if (heldAt === undefined) return undefined
  if (joinedAt === undefined) return 'journals'
  if (moves === null) return undefined
  const { chain, chainId, asset } = moves
  const purse = { chainId, asset, treasury: moves.treasury }
  const head = await headOfKnownChain(ctx, chain, purse)
  const cursor = await findCursor(db, purse)
  const isProven = cursor !== undefined && cursor.provenBlock === cursor.nextBlock - 1n
  if (!isProven || cursor.difference !== 0n) return 'chain'
  // What was signed in the time that the ledger lost can be used until then.
  const { at } = await chain.blockAt(cursor.provenBlock)
  if (at < heldAt + (treasury?.validMs ?? 0)) return 'chain'
  if ((await countUnsettledMoves(db, purse)) > 0) return 'transfers'
  return (await hasSpent(ctx, purse.treasury, head.block)) ? 'transfers' : undefined
}

/** True while a transfer has left that the books have as waiting. */
async function hasSpent(
  { db, moves }: Pick<LiftCtx, 'db' | 'moves'>,
  treasury: string,
  block: bigint,
): Promise<boolean> {
  if (moves === null) return false
  const nonces = await listUnbookedDepartures(db, MOST_LOOKED_UP)
  if (nonces.length === 0) return false
  return (await moves.chain.listSpent({ asset: moves.asset, treasury, nonces }, block)).size > 0
}
