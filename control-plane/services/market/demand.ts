import { z } from 'zod'
import { sumDemand } from '#control-plane/db/demand.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { requireNamedModel } from '#control-plane/services/catalog/named-model.ts'
import { ModelName } from '#control-plane/services/fields.ts'
import { Count, UnixMs } from '#control-plane/services/view-fields.ts'
import { DAY } from '#shared/clock.ts'

/** Calls that are looked at, of all models: a day of a busy market is read in part. */
const NEWEST_CALLS = 20_000

/** `since` in Unix milliseconds. */
export const DemandStepViewSchema = z.object({
  /** Rounded down: 25 for what was served from 25 to below 26 per cent below. */
  discountPct: z.number(),
  calls: Count,
  /** What they would have cost at the reference price, and what was paid; micro-USD. */
  listMicro: z.bigint(),
  paidMicro: z.bigint(),
})
export type DemandStepView = z.infer<typeof DemandStepViewSchema>
export const DemandSchema = z.object({
  model: z.string(),
  since: UnixMs,
  steps: z.array(DemandStepViewSchema).readonly(),
})
export type DemandByDiscount = z.infer<typeof DemandSchema>

/**
 * At which discounts the calls of a model were served in the last day, for everybody: an offer with a larger one would
 * have been asked first for all calls of the smaller steps. Throws `not_found`.
 */
export const marketDemand = defineOperation({
  name: 'market.demand',
  access: 'public',
  input: z.strictObject({ model: ModelName }),
  limit: 'read',
  idempotency: 'none',
  output: DemandSchema,
  run: async (ctx, _actor, { model: name }): Promise<DemandByDiscount> => {
    const model = await requireNamedModel(ctx, name)
    const since = ctx.clock.now() - DAY
    return { model, since, steps: await sumDemand(ctx.db, model, { since, limit: NEWEST_CALLS }) }
  },
})
