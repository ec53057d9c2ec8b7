import { z } from 'zod'
import type { UsageInterval } from '#control-plane/db/buyer-usage.ts'
import { sumUsage, sumUsageByTime } from '#control-plane/db/buyer-usage.ts'
import { readAtOnce } from '#control-plane/db/database.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Count, UnixMs, WholeMicro } from '#control-plane/services/view-fields.ts'
import type { Period } from './usage-window.ts'
import { PERIOD_NAMES, readWindow } from './usage-window.ts'

/** Most models that an answer names. It counts the others. */
const MODELS_SHOWN = 100
/** More buckets than two years of days have, or any named period. */
const MAX_BUCKETS = 1_000

const SavingsPeriod = z.enum([...PERIOD_NAMES, 'daily', 'weekly', 'monthly', 'all'])
type SavingsPeriod = z.infer<typeof SavingsPeriod>

/** The length of the buckets of a period. */
const INTERVAL_OF: Readonly<Record<Period, UsageInterval>> = {
  '24h': 'hour',
  '7d': 'day',
  '30d': 'day',
  '90d': 'day',
  lifetime: 'month',
}

/** The window and the buckets of a period. For clients, `daily` means each day of all time. */
function spanOf(period: SavingsPeriod): { readonly window: Period; readonly interval: UsageInterval } {
  switch (period) {
    case 'daily':
      return { window: 'lifetime', interval: 'day' }
    case 'weekly':
      return spanOf('7d')
    case 'monthly':
      return spanOf('30d')
    case 'all':
      return spanOf('lifetime')
    default:
      return { window: period, interval: INTERVAL_OF[period] }
  }
}

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
  /** As in the request. */
  period: SavingsPeriod,
  /** Unix milliseconds; 0 for a lifetime. */
  since: UnixMs,
  byModel: z
    .array(
      SavingsFiguresSchema.extend({
        model: z.string(),
      }),
    )
    .readonly()
    .describe(`The ${MODELS_SHOWN} models with the highest spend. The sums above are those of all models.`),
  models: Count.describe('The number of models that were called, also of those that `by_model` leaves out.'),
  /** By UTC hour, day or month, oldest first. `bucket` is its beginning. A bucket without calls is left out. */
  buckets: z
    .array(
      SavingsFiguresSchema.extend({
        bucket: UnixMs,
        period: z.string().describe('The same beginning: `YYYY-MM-DD`, with the time for an hour (ISO 8601).'),
      }),
    )
    .readonly(),
}).meta({
  id: 'Savings',
  description: 'The payments of a buyer, the cost of the same calls at list prices, and the difference.',
})
export type Savings = z.infer<typeof SavingsSchema>

/**
 * Sums the caller's savings against the reference prices. A call on a buyer's own key costs nothing here, so it is left
 * out.
 */
export const getSavings = defineOperation({
  name: 'savings.get',
  summary: 'Compare spend with list prices',
  about: 'Sums of the calls’ cost here and at list prices.',
  example: { period: '30d' },
  access: 'buyer',
  input: z.strictObject({ period: SavingsPeriod.default('30d') }),
  limit: 'read',
  idempotency: 'none',
  output: SavingsSchema,
  run: async (ctx, actor, { period }): Promise<Savings> => {
    const span = spanOf(period)
    const window = readWindow({ period: span.window }, ctx.clock.now(), span.window)
    const filter = { account: actor.account, servedBy: 'marketplace' as const, ...window }
    const by = { interval: span.interval, group: undefined, own: undefined, limit: MAX_BUCKETS }
    const { used, times } = await readAtOnce(ctx.db, async (trx) => ({
      used: await sumUsage(trx, filter, MODELS_SHOWN),
      times: await sumUsageByTime(trx, filter, by),
    }))
    const { total, byModel, models } = used
    return {
      period,
      since: window.from,
      ...savingsOf(total ?? NOTHING),
      byModel: byModel.map((row) => ({ model: row.model, ...savingsOf(row) })),
      models,
      buckets: times.map((row) => ({
        bucket: row.at.getTime(),
        period: row.at.toISOString().slice(0, span.interval === 'hour' ? undefined : '2026-01-01'.length),
        ...savingsOf(row),
      })),
    }
  },
})

const NOTHING = { requests: 0n, charge: 0n, listCost: 0n }
type Sums = { readonly requests: bigint; readonly charge: bigint; readonly listCost: bigint }

function savingsOf({ requests, charge, listCost }: Sums): SavingsFigures {
  // When a price changed between two versions, a call may have cost more than its list price. It counts as zero
  // savings.
  const saved = listCost > charge ? listCost - charge : 0n
  return {
    requests: Number(requests),
    spentMicro: Number(charge),
    listMicro: Number(listCost),
    savedMicro: Number(saved),
    savedPct: listCost === 0n ? 0 : Number((saved * 10_000n) / listCost) / 100,
  }
}
