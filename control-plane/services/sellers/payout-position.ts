import { z } from 'zod'
import { sumByRecipient } from '#control-plane/db/earnings.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { accountOf, WorkspaceField } from '#control-plane/services/organizations/workspaces.ts'
import { PayoutHoldViewSchema } from '#control-plane/services/sellers/earnings.ts'
import { MicroDigits } from '#control-plane/services/view-fields.ts'
import { findPayoutHold, readBalance } from './earnings.ts'

/** Smallest payout, in micro-USD. */
const THRESHOLD_MICRO = 1_000_000n

/** A seller's payout position. Amounts are micro-USD as plain digits. */
export const PayoutPositionSchema = z
  .object({
    /** The part of the account that no payout has in flight. */
    availableUsdc: MicroDigits,
    inFlightUsdc: MicroDigits,
    paidUsdc: MicroDigits,
    thresholdUsdc: MicroDigits,
    /** The earnings of the offers of each recipient. The wallet itself receives for offers that name no recipient. */
    recipients: z
      .array(
        z.object({
          recipient: z.string(),
          earnedUsdc: MicroDigits,
        }),
      )
      .readonly(),
    /** Completed payouts. There are none yet, so their shape is open. */
    payouts: z.array(z.unknown()).readonly(),
    payoutHold: PayoutHoldViewSchema.optional(),
  })
  .meta({ id: 'PayoutPosition' })
export type PayoutPosition = z.infer<typeof PayoutPositionSchema>

/**
 * Reads the payout position of the caller, or of a workspace. Payouts do not exist yet, so earnings stay on the
 * account.
 */
export const getPayoutPosition = defineOperation({
  name: 'payout.position',
  access: 'seller',
  input: z.strictObject({ workspaceId: WorkspaceField }),
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
