import { z } from 'zod'
import { sumUsage } from '#control-plane/db/buyer-usage.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { PERIOD_NAMES, readWindow } from '#control-plane/services/usage-window.ts'
import { Count, UnixMs, WholeMicro } from '#control-plane/services/view-fields.ts'

const MODELS_SHOWN = 100

/** Spending and savings against the reference price, in whole micro-USD. `savedPct` has two decimals. */
export const SavingsFiguresSchema = z.object({
  requests: Count,
  spentMicro: WholeMicro,
  listMicro: WholeMicro,
  savedMicro: WholeMicro,
  savedPct: z.number(),
})
export type SavingsFigures = z.infer<typeof SavingsFiguresSchema>
export const SavingsSchema = SavingsFiguresSchema.extend({
  period: z.enum(PERIOD_NAMES),
  /** Unix milliseconds; 0 for a lifetime. */
  since: UnixMs,
  byModel: z
    .array(
      SavingsFiguresSchema.extend({
        model: z.string(),
      }),
    )
    .readonly(),
}).meta({ id: 'Savings' })
export type Savings = z.infer<typeof SavingsSchema>

/**
 * Sums the caller's savings against the reference prices. A call on a key of the buyer's own costs nothing here, so it
 * is left out.
 */
export const getSavings = defineOperation({
  name: 'savings.get',
  access: 'buyer',
  input: z.strictObject({ period: z.enum(PERIOD_NAMES).default('30d') }),
  limit: 'read',
  idempotency: 'none',
  output: SavingsSchema,
  run: async (ctx, actor, { period }): Promise<Savings> => {
    const window = readWindow({ period }, ctx.clock.now(), period)
    const filter = { account: actor.account, servedBy: 'marketplace' as const, ...window }
    const { total, byModel } = await sumUsage(ctx.db, filter, MODELS_SHOWN)
    return {
      period,
      since: window.from,
      ...savingsOf(total ?? NOTHING),
      byModel: byModel.map((row) => ({ model: row.model, ...savingsOf(row) })),
    }
  },
})

const NOTHING = { requests: 0n, charge: 0n, listCost: 0n }
type Sums = { readonly requests: bigint; readonly charge: bigint; readonly listCost: bigint }

function savingsOf({ requests, charge, listCost }: Sums): SavingsFigures {
  // When a price changed between two versions, a call may have cost more than its list price. It counts as no saving.
  const saved = listCost > charge ? listCost - charge : 0n
  return {
    requests: Number(requests),
    spentMicro: Number(charge),
    listMicro: Number(listCost),
    savedMicro: Number(saved),
    savedPct: listCost === 0n ? 0 : Number((saved * 10_000n) / listCost) / 100,
  }
}
