import { findModelByName } from '#control-plane/db/catalog.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { AppError } from '#shared/errors.ts'

/** Returns the canonical id of a model by any of its names. Throws `not_found`. */
export async function requireNamedModel(ctx: Pick<Ctx, 'db'>, name: string): Promise<string> {
  const model = await findModelByName(ctx.db, name)
  if (model === undefined) throw new AppError('not_found')
  return model
}

/**
 * Returns the canonical id of the model in a list's filter, if there is one. Throws `not_found` for an unknown name.
 */
export async function findNamedModel(ctx: Pick<Ctx, 'db'>, name: string | undefined): Promise<string | undefined> {
  return name === undefined ? undefined : requireNamedModel(ctx, name)
}
