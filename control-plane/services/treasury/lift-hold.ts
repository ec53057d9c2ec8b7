import { failUnsentDraws } from '#control-plane/db/allowance-draws.ts'
import { transact } from '#control-plane/db/database.ts'
import type { MoneyRecord } from '#control-plane/db/money-epoch.ts'
import { liftHold } from '#control-plane/db/money-epoch.ts'
import type { Purse } from '#control-plane/db/treasury-moves.ts'
import { findCursor, listFormerPurses, listUnsettledMoves } from '#control-plane/db/treasury-moves.ts'
import { listUnbookedDepartures } from '#control-plane/db/treasury-transfers.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { HoldReason, HoldWait } from '#control-plane/ports/treasury/hold-reason.ts'
import type { MoveParts } from '#control-plane/ports/treasury/move-parts.ts'
import { headOfKnownChain } from './known-chain.ts'

export type LiftCtx = Pick<Ctx, 'db' | 'ids' | 'log' | 'ledger' | 'metrics' | 'moves' | 'treasury'>
type FindCtx = Pick<LiftCtx, 'db' | 'ids' | 'log' | 'moves' | 'treasury'>
type Held = Pick<MoneyRecord, 'heldAt' | 'joinedAt'>

/**
 * The reason why a draw was given up: restored books do not show whether it was sent. A later draw collects the debt.
 */
const LOST = 'ledger_restored'
/** Most departures of one turn, and most that are named. */
const MOST_LOOKED_UP = 2_000
const MOST_NAMED = 20

/**
 * Lets money leave again once a restored ledger agrees with the journals and the chain. Returns the reason to wait;
 * undefined without a hold.
 */
export async function liftWhenWhole(ctx: LiftCtx): Promise<HoldWait | undefined> {
  const record = await ctx.ledger.readEpoch()
  const { heldAt } = record
  ctx.metrics.findings('departures_held', heldAt === undefined ? 0 : 1)
  if (heldAt === undefined) return undefined
  const reason = await findReason(ctx, record)
  if (reason !== undefined) {
    tellReason(ctx, heldAt, reason)
    return reason.wait
  }
  await transact(ctx.db, async (trx) => {
    if (!(await liftHold(trx, heldAt))) return
    const draws = await failUnsentDraws(trx, LOST)
    ctx.log.warn({ heldAt, draws: Number(draws) }, 'the ledger agrees with the chain: money may leave again')
  })
  return undefined
}

/** Logs the reason of the hold once; as a warning when a person has to act. */
function tellReason({ log, moves }: LiftCtx, heldAt: number, { block, ...reason }: HoldReason): void {
  const facts = { heldAt, ...reason, block: block === null ? null : Number(block) }
  const holdName = `${heldAt} ${reason.wait} ${reason.treasury} ${reason.open.join()}`
  if (moves !== null && moves.memory.loggedHold === holdName) return
  if (moves !== null) moves.memory.loggedHold = holdName
  if (reason.wait === 'treasury') {
    log.warn(facts, 'payouts are held: a former treasury cannot be read, so an operator has to vouch for it')
  } else {
    log.info(facts, 'nothing leaves: the ledger went back in time')
  }
}

/**
 * The code of the event that ends the hold; undefined when it may end now. Throws while the chain does not answer, or
 * is another chain.
 */
export async function findWait(ctx: FindCtx, held: Held): Promise<HoldWait | undefined> {
  return (await findReason(ctx, held))?.wait
}

const NOTHING = { treasury: null, block: null, until: null, open: [] }

/**
 * The event that ends the hold; undefined when it may end now. Money may have left from each treasury that was in use
 * in the lost time, whatever the settings name now. Throws while the chain does not answer, or is another chain.
 */
export async function findReason(ctx: FindCtx, { heldAt, joinedAt }: Held): Promise<HoldReason | undefined> {
  const { db, moves } = ctx
  if (heldAt === undefined) return undefined
  if (joinedAt === undefined) return { ...NOTHING, wait: 'journals' }
  const own = moves && { chainId: moves.chainId, asset: moves.asset, treasury: moves.treasury }
  const reason = moves && own && (await findReasonOf(ctx, moves, own, { heldAt, isFormer: false }))
  if (reason !== null && reason !== undefined) return reason
  for (const purse of await listFormerPurses(db, own)) {
    const unread = { ...NOTHING, wait: 'treasury', treasury: purse.treasury } as const
    if (moves === null || purse.chainId !== moves.chainId) return unread
    const former = await findReasonOf(ctx, moves, purse, { heldAt, isFormer: true }).catch((error: unknown) => {
      ctx.log.debug({ err: error, treasury: purse.treasury }, 'a former treasury cannot be read')
      return unread
    })
    if (former !== undefined) return former
  }
  return undefined
}

type Look = { readonly heldAt: number; readonly isFormer: boolean }

async function findReasonOf(
  ctx: FindCtx,
  { chain }: MoveParts,
  purse: Purse,
  { heldAt, isFormer }: Look,
): Promise<HoldReason | undefined> {
  const { db, treasury: signing } = ctx
  const head = await headOfKnownChain(ctx, chain, purse)
  const cursor = await findCursor(db, purse)
  const until = heldAt + (signing?.validMs ?? 0)
  const { treasury } = purse
  const facts = { treasury, block: cursor?.provenBlock ?? null, until, open: [] }
  const isProven = cursor !== undefined && cursor.provenBlock === cursor.nextBlock - 1n && cursor.provenBlock >= 0n
  if (!isProven || cursor.difference !== 0n) return { ...facts, wait: 'chain' }
  // A chain clock that runs ahead says nothing about blocks that were not read since.
  if (isFormer && cursor.provenAt.getTime() < heldAt) return { ...facts, wait: 'chain' }
  // Signatures of the lost time are valid until then.
  const { at } = await chain.blockAt(cursor.provenBlock)
  if (at < until) return { ...facts, wait: 'chain' }
  const unsettled = await listUnsettledMoves(db, purse, { isFormer, limit: MOST_NAMED })
  const open = unsettled.length > 0 ? unsettled : await listSpent(ctx, chain, purse, head.block)
  return open.length === 0 ? undefined : { ...facts, wait: 'transfers', open }
}

/** Transfers that wait in the books, but have left a treasury. */
async function listSpent(
  { db }: FindCtx,
  chain: MoveParts['chain'],
  { asset, treasury }: Purse,
  block: bigint,
): Promise<readonly string[]> {
  const waiting = await listUnbookedDepartures(db, MOST_LOOKED_UP)
  if (waiting.length === 0) return []
  const nonces = waiting.map(({ nonce }) => nonce)
  const spent = await chain.listSpent({ asset, treasury, nonces }, block)
  return waiting.flatMap(({ id, nonce }) => (spent.has(nonce) ? [id] : [])).slice(0, MOST_NAMED)
}
