import { z } from 'zod'
import type { DemandStep } from '#control-plane/db/demand.ts'
import { sumDemand } from '#control-plane/db/demand.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { requireNamedModel } from '#control-plane/services/catalog/named-model.ts'
import { ModelName } from '#control-plane/services/fields.ts'
import { DAY } from '#shared/clock.ts'

/** Calls that are looked at, of all models: a day of a busy market is read in part. */
const NEWEST_CALLS = 20_000

/** `since` in Unix milliseconds. */
export type Demand = { readonly model: string; readonly since: number; readonly steps: readonly DemandStep[] }

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
  run: async (ctx, _actor, { model: name }): Promise<Demand> => {
    const model = await requireNamedModel(ctx, name)
    const since = ctx.clock.now() - DAY
    return { model, since, steps: await sumDemand(ctx.db, model, { since, limit: NEWEST_CALLS }) }
  },
})
