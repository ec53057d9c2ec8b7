import { z } from 'zod'
import { sumDemand } from '#control-plane/db/demand.ts'
import { NEWEST_CALLS } from '#control-plane/db/newest-calls.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { requireNamedModel } from '#control-plane/services/catalog/named-model.ts'
import { ModelName } from '#control-plane/services/input-fields.ts'
import { Count, UnixMs } from '#control-plane/services/view-fields.ts'
import { DAY, periodStart } from '#shared/clock.ts'

/** `since` in Unix milliseconds. */
export const DemandStepViewSchema = z.object({
  /** Rounded down: 25 covers 25 to below 26 percent. */
  discountPct: z.number(),
  calls: Count,
  /** The cost at the reference price, and the amount paid; micro-USD. */
  listMicro: z.bigint(),
  paidMicro: z.bigint(),
})
export const DemandSchema = z.object({
  model: z.string(),
  since: UnixMs,
  steps: z.array(DemandStepViewSchema).readonly(),
})
export type DemandByDiscount = z.infer<typeof DemandSchema>

/**
 * Lists the discounts at which a model's calls of the last day were served. An offer with a larger discount would have
 * won all calls at smaller discounts. Throws `not_found`.
 */
export const marketDemand = defineOperation({
  name: 'market.demand',
  summary: 'Get the demand of a model by discount',
  about: 'Calls of the last day by discount, the smallest first.',
  access: 'public',
  input: z.strictObject({ model: ModelName }),
  limit: 'read',
  idempotency: 'none',
  output: DemandSchema,
  run: async (ctx, _actor, { model: name }): Promise<DemandByDiscount> => {
    const model = await requireNamedModel(ctx, name)
    const since = periodStart(ctx.clock.now(), DAY)
    return { model, since, steps: await sumDemand(ctx.db, model, { since, limit: NEWEST_CALLS }) }
  },
})
