import { z } from 'zod'
import type { ImpactRow } from '#control-plane/db/catalog-impact.ts'
import { countImpact } from '#control-plane/db/catalog-impact.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { Count } from '#control-plane/services/view-fields.ts'
import { DAY, periodStart } from '#shared/clock.ts'

/** Time for which a buyer counts as affected after a call of the model. */
const RECENT_MS = 30 * DAY

/** The offers, sellers and buyers that a change of a model affects. */
export const ImpactSchema = z
  .object({
    model: z.string(),
    offers: Count.describe('Active offers of the model.'),
    sellers: Count.describe('Sellers of these offers.'),
    buyers: Count.describe(
      'Accounts with a charged call of the model in the last 30 UTC days, of the newest 200,000 calls.',
    ),
  })
  .meta({ id: 'CatalogImpact', description: 'How many offers, sellers and buyers a change of a model affects.' })

/** Counts the offers, sellers and buyers that a change of the models affects, by model. */
export async function readImpact(ctx: Pick<Ctx, 'db' | 'clock'>, models: readonly string[]): Promise<ImpactRow[]> {
  return models.length === 0 ? [] : countImpact(ctx.db, models, periodStart(ctx.clock.now(), RECENT_MS))
}
