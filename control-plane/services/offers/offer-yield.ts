import { z } from 'zod'
import { NEWEST_CALLS } from '#control-plane/db/newest-calls.ts'
import { sumOfferYield } from '#control-plane/db/offer-yield.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Count, UnixMs, WholeMicro } from '#control-plane/services/view-fields.ts'
import { DAY, periodStart } from '#shared/clock.ts'
import { keptToPercent } from '#shared/discount.ts'
import { keptBps } from '#shared/money.ts'

/** Most models of one answer, of the thousands that a seller may list: those with the most money. */
export const MAX_YIELD_MODELS = 100

/** A model of the caller's offers in the calls of the last day. Amounts are micro-USD. */
export const ModelYieldSchema = z.object({
  model: z.string(),
  /** Offers of the caller that are active. */
  offers: Count,
  /** The largest discount of those offers, in percent. Null without an active offer. */
  bestDiscountPct: z.number().nullable(),
  /** Charged calls that the caller's offers served, and their earnings. */
  won: Count,
  earnedMicro: WholeMicro,
  /** Charged calls that offers of others served, and the payments for them. */
  passed: Count,
  passedMicro: WholeMicro,
})
export const OfferYieldSchema = z.object({
  since: UnixMs,
  /** All models that the caller has on sale or sold. At most 100 of them are listed. */
  total: Count,
  models: z.array(ModelYieldSchema).readonly(),
})
export type OfferYieldView = z.infer<typeof OfferYieldSchema>

/**
 * Returns which of the caller's models brought the most money in the last day, to the caller or to others. Models with
 * the most money come first.
 */
export const getOfferYield = defineOperation({
  name: 'offer.yield',
  summary: 'Get the yield of your models in the last day',
  about: 'Calls won and lost, from the newest 20,000 calls of the market.',
  access: 'seller',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: OfferYieldSchema,
  run: async (ctx, actor): Promise<OfferYieldView> => {
    const since = periodStart(ctx.clock.now(), DAY)
    const rows = await sumOfferYield(ctx.db, actor.account, { since, limit: NEWEST_CALLS }, MAX_YIELD_MODELS)
    return {
      since,
      total: rows[0]?.total ?? 0,
      models: rows.map(({ total: _total, bestKeptBps, earnedMicro, passedMicro, ...row }) => ({
        ...row,
        earnedMicro: Number(earnedMicro),
        passedMicro: Number(passedMicro),
        bestDiscountPct: bestKeptBps === null ? null : keptToPercent(keptBps(bestKeptBps)),
      })),
    }
  },
})
