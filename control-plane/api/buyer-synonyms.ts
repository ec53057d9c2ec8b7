import { z } from 'zod'
import type { PreferencesView } from '#control-plane/services/routing/buyer-policy.ts'
import { PreferencesViewSchema } from '#control-plane/services/routing/buyer-policy.ts'
import type { BuyerMe } from '#control-plane/services/usage/buyer-account.ts'
import { BuyerMeSchema } from '#control-plane/services/usage/buyer-account.ts'
import type { Savings } from '#control-plane/services/usage/savings.ts'
import { SavingsSchema } from '#control-plane/services/usage/savings.ts'
import { Count, MicroDigits, WholeMicro } from '#control-plane/services/view-fields.ts'

/** Answers to buyers with the second names that other clients read. The values are those of the first names. */

const ModelSpending = BuyerMeSchema.shape.modelBreakdown.unwrap().element.extend({
  spent: WholeMicro,
  directSpent: WholeMicro.describe('The cost of the calls at the list prices, in whole micro-USD.'),
  inputTokens: Count,
  outputTokens: Count,
  requests: Count,
})

export const NamedMeSchema = BuyerMeSchema.extend({ modelBreakdown: z.array(ModelSpending) }).meta({
  id: 'Buyer',
  description: 'The account of a buyer: balances, spending by model and recent calls.',
})

export function nameMe(me: BuyerMe): z.infer<typeof NamedMeSchema> {
  const modelBreakdown = me.modelBreakdown.map((row) => ({
    ...row,
    spent: row.totalSpent,
    directSpent: row.totalListCost,
    inputTokens: row.totalInputTokens,
    outputTokens: row.totalOutputTokens,
    requests: row.totalRequests,
  }))
  return { ...me, modelBreakdown }
}

const SavingsTotals = z.object({
  requestCount: Count,
  savingsPct: z.number(),
  totalActualUsdc: MicroDigits,
  totalDirectUsdc: MicroDigits.describe('The same calls at the list prices, in micro-USD.'),
  totalSavedUsdc: MicroDigits,
})

export const NamedSavingsSchema = SavingsSchema.extend({
  ...SavingsTotals.shape,
  averageDiscountPct: z.number().describe('Percent saved against the list prices, over all calls.'),
  summary: SavingsTotals.extend({ period: SavingsSchema.shape.period }),
  breakdown: z.array(
    z.object({
      model: z.string(),
      discount: z.number().describe('Percent saved against the list price.'),
      saved: WholeMicro,
    }),
  ),
  buckets: z.array(SavingsSchema.shape.buckets.unwrap().element.extend(SavingsTotals.shape)),
}).meta({
  id: 'Savings',
  description: 'The payments of a buyer, the cost of the same calls at list prices, and the difference.',
})

export function nameSavings(savings: Savings): z.infer<typeof NamedSavingsSchema> {
  const { period, byModel, buckets } = savings
  return {
    ...savings,
    ...totalsOf(savings),
    averageDiscountPct: savings.savedPct,
    summary: { period, ...totalsOf(savings) },
    breakdown: byModel.map(({ model, savedPct, savedMicro }) => ({ model, discount: savedPct, saved: savedMicro })),
    buckets: buckets.map((bucket) => ({ ...bucket, ...totalsOf(bucket) })),
  }
}

type Figures = Pick<Savings, 'requests' | 'savedPct' | 'spentMicro' | 'listMicro' | 'savedMicro'>

function totalsOf({ requests, savedPct, spentMicro, listMicro, savedMicro }: Figures): z.infer<typeof SavingsTotals> {
  return {
    requestCount: requests,
    savingsPct: savedPct,
    totalActualUsdc: String(spentMicro),
    totalDirectUsdc: String(listMicro),
    totalSavedUsdc: String(savedMicro),
  }
}

export const NamedPreferencesSchema = PreferencesViewSchema.extend({
  preferences: z.object(PreferencesViewSchema.shape),
}).meta({
  id: 'Preferences',
  description: 'The preferences for all calls of an account: discount floor, blocked providers and trust.',
})

export function namePreferences(preferences: PreferencesView): z.infer<typeof NamedPreferencesSchema> {
  return { ...preferences, preferences }
}
