import { z } from 'zod'
import { sumByRecipient } from '#control-plane/db/earnings.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { accountOf, WorkspaceField } from '#control-plane/services/organizations/workspaces.ts'
import { PayoutHoldViewSchema } from '#control-plane/services/sellers/earnings.ts'
import { MicroDigits } from '#control-plane/services/view-fields.ts'
import { findPayoutHold, readBalance } from './earnings.ts'

/** What a payout has to come to, in micro-USD. */
const THRESHOLD_MICRO = 1_000_000n

/** Where a seller stands with payouts. Amounts are micro-USD as plain digits. */
export const PayoutPositionSchema = z.object({
  /** On the account, and nowhere under way. */
  availableUsdc: MicroDigits,
  inFlightUsdc: MicroDigits,
  paidUsdc: MicroDigits,
  thresholdUsdc: MicroDigits,
  /** What the offers of each recipient have earned; the wallet itself stands for offers that name none. */
  recipients: z
    .array(
      z.object({
        recipient: z.string(),
        earnedUsdc: MicroDigits,
      }),
    )
    .readonly(),
  /** Payouts that were carried out: none yet. */
  payouts: z.array(z.never()).readonly(),
  payoutHold: PayoutHoldViewSchema.optional(),
})
export type PayoutPosition = z.infer<typeof PayoutPositionSchema>

/** The payout position of the caller, or of a workspace. There are no payouts yet: what was earned stands on the account. */
export const getPayoutPosition = defineOperation({
  name: 'payout.position',
  access: 'seller',
  input: z.object({ workspaceId: WorkspaceField }),
  limit: 'read',
  idempotency: 'none',
  output: PayoutPositionSchema,
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
