import type { AllowanceDraw } from '#control-plane/db/allowance-draws.ts'
import { changeDraw, listOpenDraws, lockDraw } from '#control-plane/db/allowance-draws.ts'
import { changeLine, lockLine } from '#control-plane/db/allowances.ts'
import { transact } from '#control-plane/db/database.ts'
import { listPayoutHolds } from '#control-plane/db/payout-holds.ts'
import type { Leave } from '#control-plane/ports/facilitator/leave.ts'
import { takeCallOf } from '#control-plane/ports/treasury/permit.ts'
import { askForLeave } from '#control-plane/services/gate/may-leave.ts'
import { headOfKnownChain } from '#control-plane/services/treasury/known-chain.ts'
import { crashPoint } from '#shared/crash-point.ts'
import type { AllowanceLineCtx } from './allowance-ctx.ts'
import { drawRef } from './land-draw.ts'
import { isOfTreasury, retryAfter } from './tend-lines.ts'
import { bindingOf, owedOf, STOPS } from './weigh-line.ts'

/** Most draws of one turn. */
const MAX_A_TURN = 200

const NOT_OWED = 'not_owed'

/**
 * Moves draws on: reviews planned draws, sends approved draws, and ends draws that the token refused. Returns the
 * number of sent transactions. Reviews and signatures wait while the ledger is in doubt.
 */
export async function sendDraws(ctx: AllowanceLineCtx): Promise<number> {
  const draws = await listOpenDraws(ctx.db, MAX_A_TURN)
  if (draws.length === 0) return 0
  await headOfKnownChain(ctx, ctx.treasury.chain, ctx.purse)
  const isStopped = (await listPayoutHolds(ctx.db, true, 1)).length > 0
  const leave = isStopped ? undefined : await askForLeave(ctx)
  let sentCount = 0
  for (const draw of draws) {
    try {
      if (await bringOn(ctx, draw, leave)) sentCount += 1
    } catch (error) {
      ctx.log.warn({ err: error, id: draw.id }, 'a draw will be tried again')
    }
  }
  return sentCount
}

/** Moves one draw on. True when its transaction was sent now. */
async function bringOn(ctx: AllowanceLineCtx, draw: AllowanceDraw, leave: Leave | undefined): Promise<boolean> {
  const { id, state } = draw
  const signedTransactions = await ctx.treasury.store.list(drawRef(id))
  if (signedTransactions.some(({ isReverted }) => isReverted !== true)) return false
  if (signedTransactions.length > 0) {
    await fail(ctx, draw, STOPS.reverted)
    return false
  }
  if (leave === undefined) return false
  if (state === 'planned' && !(await approve(ctx, draw))) return false
  crashPoint('draw_approved')
  return send(ctx, draw, leave)
}

/**
 * Reviews a draw against the ledger before it is signed: the account owes that amount, the line belongs to this
 * wallet, and the tokens go to this treasury. A draw whose amount a deposit has covered meanwhile ends.
 */
async function approve(ctx: AllowanceLineCtx, { id, account }: AllowanceDraw): Promise<boolean> {
  return transact(ctx.db, async (trx) => {
    const line = await lockLine(trx, account)
    const draw = await lockDraw(trx, id)
    if (draw?.state !== 'planned') return false
    const isOwed = line !== undefined && line.wallet === draw.wallet && draw.amount <= owedOf(line)
    const isSound = isOwed && isOfTreasury(ctx, draw)
    await changeDraw(trx, draw.id, isSound ? { state: 'approved' } : { state: 'failed', reason: NOT_OWED })
    return isSound
  })
}

/** Sends the transaction of an approved draw, if the wallet can still pay it and this treasury may still take it. */
async function send(ctx: AllowanceLineCtx, draw: AllowanceDraw, leave: Leave): Promise<boolean> {
  const { id, wallet, amount } = draw
  const { chain, asset, address, sender } = ctx.treasury
  const reading = (await chain.readAllowances({ asset, spender: address, wallets: [wallet] })).get(wallet)
  if (reading === undefined) return false
  if (!isOfTreasury(ctx, draw)) {
    await fail(ctx, draw, STOPS.treasury)
    return false
  }
  if (reading.balance < amount || reading.allowance < amount) {
    await fail(ctx, draw, STOPS[bindingOf(reading)])
    return false
  }
  const call = takeCallOf({ from: wallet, to: address, amount })
  await sender.send(drawRef(id), { address: `0x${asset.slice(2)}`, ...call }, leave)
  return true
}

/** Ends a draw that moved no money, and stops its line. A later draw collects the debt. */
async function fail(ctx: AllowanceLineCtx, { id, account }: AllowanceDraw, reason: string): Promise<void> {
  await transact(ctx.db, async (trx) => {
    const line = await lockLine(trx, account)
    const draw = await lockDraw(trx, id)
    if (line === undefined || draw === undefined || draw.state === 'settled' || draw.state === 'failed') return
    await changeDraw(trx, draw.id, { state: 'failed', reason })
    const { failures, state } = line
    const stop = state === 'closed' ? {} : { state: 'stopped' as const, reason }
    const retryAt = new Date(ctx.clock.now() + retryAfter(failures))
    await changeLine(trx, account, { ...stop, failures: failures + 1, retryAt, readAt: null })
    ctx.log.warn({ id, account, reason }, 'a draw moved no money: its line is stopped')
  })
}
