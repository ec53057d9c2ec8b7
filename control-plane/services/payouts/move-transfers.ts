import { hasOpenTransfers } from '#control-plane/db/open-work.ts'
import type { Leave } from '#control-plane/ports/facilitator/leave.ts'
import { noticeSpent } from '#control-plane/services/gate/ledger-restores.ts'
import { askForLeave } from '#control-plane/services/gate/may-leave.ts'
import { headOfKnownChain } from '#control-plane/services/treasury/known-chain.ts'
import { purseOfTreasury } from '#control-plane/services/treasury/purse-of-treasury.ts'
import { confirmTransfers, followTransfers } from './follow-transfers.ts'
import { findPayoutStop } from './payout-stops.ts'
import { drainBalances } from './plan-payouts.ts'
import { sendBatches } from './send-transfers.ts'
import { MAX_BATCH, readGround, signBatch } from './sign-transfers.ts'
import { planSweep } from './sweep-treasury.ts'
import type { PayoutCtx, TreasuryCtx } from './treasury-ctx.ts'
import { withTreasury } from './treasury-ctx.ts'

/** Most batches that one turn signs. */
const MAX_BATCHES = 20

export type Moved = {
  readonly planned: number
  readonly sent: number
  readonly moved: number
  readonly confirmed: number
}

/**
 * Moves transfers on: plans due payouts, signs, sends, and reads the chain. A failed step does not stop the others. A
 * stop of payouts stops plans and signatures; signed transfers are followed to their end. Nothing is signed or sent
 * while the ledger is on hold after a restore.
 */
export async function moveTransfers(ctx: PayoutCtx): Promise<Moved> {
  const attempt = async (what: string, work: () => Promise<number | undefined>): Promise<number> => {
    try {
      return (await work()) ?? 0
    } catch (error) {
      ctx.log.warn({ err: error, step: what }, 'the treasury: a step will be tried again')
      return 0
    }
  }
  const treasury = withTreasury(ctx)
  if (treasury === undefined) return { planned: 0, sent: 0, moved: 0, confirmed: 0 }
  const planned = await attempt('plan', () => drainBalances(ctx))
  await attempt('sweep', () => planSweep(treasury))
  await attempt('send-again', () => treasury.treasury.sender.sendAgain(() => askForLeave(ctx)))
  if (!(await hasOpenTransfers(ctx.db))) return { planned, sent: 0, moved: 0, confirmed: 0 }
  await attempt('sign', async () => {
    if ((await findPayoutStop(ctx)) !== undefined) return
    const leave = await askForLeave(ctx)
    if (leave !== undefined) await signAll(treasury, leave)
  })
  // A transaction of another chain says nothing of this chain.
  if ((await attempt('know-chain', () => knowChain(treasury))) === 0)
    return { planned, sent: 0, moved: 0, confirmed: 0 }
  const sentCount = await attempt('send', async () => {
    const leave = await askForLeave(ctx)
    return leave === undefined ? 0 : sendBatches(treasury, leave)
  })
  const moved = await attempt('follow', () => followTransfers(treasury))
  const confirmed = await attempt('confirm', () => confirmTransfers(treasury))
  return { planned, sent: sentCount, moved, confirmed }
}

/** Returns 1 when the chain is the one that was read. */
async function knowChain(ctx: TreasuryCtx): Promise<number> {
  await headOfKnownChain(ctx, ctx.treasury.chain, purseOfTreasury(ctx.treasury))
  return 1
}

async function signAll(ctx: TreasuryCtx, leave: Leave): Promise<void> {
  const ground = await readGround(ctx)
  // A departure that the books do not know shows that they were restored, from whatever time.
  if (ground.spent.size > 0) return noticeSpent(ctx, ground.spent)
  for (let batch = 0; batch < MAX_BATCHES; batch++) {
    if ((await signBatch(ctx, { ground, leave }, ctx.ids.ulid())) < MAX_BATCH) return
  }
}
