import { listModelBodies } from '#control-plane/db/catalog.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { ModelSchema } from '#shared/catalog/model.ts'
import { createResolver } from '#shared/catalog/resolve.ts'
import { unknownName } from './unknown-name.ts'

/**
 * Throws `invalid_request` for a name that means no model of the catalogue, with the nearest name as a suggestion.
 * Names are read as calls name models.
 */
export async function requireKnownModels(
  ctx: Pick<Ctx, 'db'>,
  names: readonly string[] | null | undefined,
  param: string,
): Promise<void> {
  if (names == null || names.length === 0) return
  const models = (await listModelBodies(ctx.db)).map((body) => ModelSchema.parse(body))
  const resolve = createResolver(models)
  const unknown = names.find((name) => resolve(name) === undefined)
  if (unknown === undefined) return
  throw unknownName({ noun: 'model', name: unknown, ids: models.map(({ id }) => id), param })
}
