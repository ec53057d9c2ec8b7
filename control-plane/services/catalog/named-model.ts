import { findModelByName } from '#control-plane/db/catalog.ts'
import type { Ctx } from '#control-plane/operation.ts'
import { AppError } from '#shared/errors.ts'

/** The canonical id of the model that a list is narrowed to, if any. Throws `not_found` for a name that is no model's. */
export async function findNamedModel(ctx: Pick<Ctx, 'db'>, name: string | undefined): Promise<string | undefined> {
  if (name === undefined) return undefined
  const model = await findModelByName(ctx.db, name)
  if (model === undefined) throw new AppError('not_found')
  return model
}
