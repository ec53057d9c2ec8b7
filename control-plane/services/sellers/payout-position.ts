import { z } from 'zod'
import { sumByRecipient } from '#control-plane/db/earnings.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { accountOf, WorkspaceField } from '#control-plane/services/organizations/workspaces.ts'
import type { PayoutHoldView } from './earnings.ts'
import { findPayoutHold, readBalance } from './earnings.ts'

/** What a payout has to come to, in micro-USD. */
const THRESHOLD_MICRO = 1_000_000n

/** Where a seller stands with payouts. Amounts are micro-USD as plain digits. */
export type PayoutPosition = {
  /** On the account, and nowhere under way. */
  readonly availableUsdc: string
  readonly inFlightUsdc: string
  readonly paidUsdc: string
  readonly thresholdUsdc: string
  /** What the offers of each recipient have earned; the wallet itself stands for offers that name none. */
  readonly recipients: readonly { readonly recipient: string; readonly earnedUsdc: string }[]
  /** Payouts that were carried out: none yet. */
  readonly payouts: readonly never[]
  readonly payoutHold?: PayoutHoldView
}

/** The payout position of the caller, or of a workspace. There are no payouts yet: what was earned stands on the account. */
export const getPayoutPosition = defineOperation({
  name: 'payout.position',
  access: 'seller',
  input: z.object({ workspaceId: WorkspaceField }),
  limit: 'read',
  idempotency: 'none',
  run: async (ctx, actor, { workspaceId }): Promise<PayoutPosition> => {
    const seller = await accountOf(ctx, actor, workspaceId)
    const [balance, sums, hold] = await Promise.all([
      readBalance(ctx, seller),
      sumByRecipient(ctx.db, seller),
      findPayoutHold(ctx),
    ])
    const earned = new Map<string, bigint>()
    for (const { recipient, earned: amount } of sums) {
      const to = recipient ?? actor.wallet
      earned.set(to, (earned.get(to) ?? 0n) + amount)
    }
    return {
      availableUsdc: balance.toString(),
      inFlightUsdc: '0',
      paidUsdc: '0',
      thresholdUsdc: THRESHOLD_MICRO.toString(),
      recipients: [...earned].map(([recipient, amount]) => ({ recipient, earnedUsdc: amount.toString() })),
      payouts: [],
      ...(hold === undefined ? {} : { payoutHold: hold }),
    }
  },
})
