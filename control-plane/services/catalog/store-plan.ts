import { deleteAliases, insertAliases, insertPrices, upsertModels } from '#control-plane/db/catalog.ts'
import type { Trx } from '#control-plane/db/database.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { ChangedBy } from './catalog-history.ts'
import { recordChanges } from './catalog-history.ts'
import { namesOf, storedLines } from './catalog-items.ts'
import type { CatalogPlan } from './catalog-plan.ts'

/** Stores a plan: models with their names, a version of each changed price list, and every changed field. */
export async function storePlan(
  ctx: Pick<Ctx, 'clock' | 'ids'>,
  trx: Trx,
  { models }: Pick<CatalogPlan, 'models'>,
  by: ChangedBy,
) {
  const now = ctx.clock.now()
  const bodies = models.map(({ model }) => model)
  await upsertModels(trx, bodies, now)
  await deleteAliases(
    trx,
    bodies.map(({ id }) => id),
  )
  const names = bodies.flatMap((model) => namesOf(model).map((alias) => ({ alias, model: model.id })))
  const takenNames = await insertAliases(trx, names)
  const changes = models.flatMap(({ change }) => (change === undefined ? [] : [change]))
  const repriced = models.filter(({ change }) => change?.fields.some(({ field }) => field.startsWith('price.')))
  await insertPrices(
    trx,
    repriced.map(({ model, prices }) => ({
      model: model.id,
      ...storedLines(prices),
      version: ctx.ids.ulid(),
      effectiveAt: new Date(by.at),
      source: by.sourceOf(model.id),
    })),
  )
  await recordChanges(ctx, trx, changes, by)
  const added = changes.filter(({ kind }) => kind === 'added').length
  return { models: models.length, added, changed: changes.length - added, repriced: repriced.length, takenNames }
}
