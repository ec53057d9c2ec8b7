import { z } from 'zod'
import {
  deleteAlias,
  findModelByName,
  insertManualAlias,
  listBodiesOf,
  listAliases as listNames,
  upsertModels,
} from '#control-plane/db/catalog.ts'
import { lockCatalog } from '#control-plane/db/catalog-history.ts'
import type { Database, Trx } from '#control-plane/db/database.ts'
import { tenantOf } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { ModelName } from '#control-plane/services/input-fields.ts'
import type { Model } from '#shared/catalog/model.ts'
import { ModelSchema } from '#shared/catalog/model.ts'
import { AppError } from '#shared/errors.ts'
import { recordChanges } from './catalog-history.ts'
import { findNamedModel } from './named-model.ts'

const MAX_LISTED = 5_000
const SOURCE = 'operator'

/** A name of a model. A manual one survives imports. */
export const AliasViewSchema = z.object({
  alias: z.string(),
  model: z.string(),
  isManual: z.boolean(),
})
export type AliasView = z.infer<typeof AliasViewSchema>

/** Lists the exact names of one model or of all. */
export const listAliases = defineOperation({
  name: 'alias.list',
  summary: 'List the exact names of one model, or of all',
  access: 'operator',
  input: z.strictObject({ model: ModelName.optional() }),
  limit: 'read',
  idempotency: 'none',
  output: z.array(AliasViewSchema).readonly(),
  run: async (ctx, _actor, { model }): Promise<readonly AliasView[]> => {
    const id = await findNamedModel(ctx, model)
    return listNames(ctx.db, { model: id, limit: MAX_LISTED })
  },
})

/** Adds a manual name to a model. Throws `conflict` for a name of another model. */
export const putAlias = defineOperation({
  name: 'alias.put',
  summary: 'Add a name to a model',
  about: 'A name of another model is refused.',
  access: 'operator',
  input: z.strictObject({ alias: ModelName, model: ModelName }),
  limit: 'none',
  idempotency: 'none',
  output: AliasViewSchema,
  run: async (ctx, actor, input): Promise<AliasView> => {
    const alias = input.alias.toLowerCase()
    const model = await ctx.change(
      async (trx) => {
        await lockCatalog(trx)
        const before = await requireModel(trx, input.model)
        const holder = await findModelByName(trx, alias)
        if (holder === before.id) return before.id
        if (holder !== undefined) {
          throw new AppError('conflict', {
            message: `The name already belongs to ${holder}.`,
            detail: { model: holder },
          })
        }
        await insertManualAlias(trx, { alias, model: before.id })
        await storeAliases(ctx, trx, { before, aliases: [...before.aliases, alias], actor: tenantOf(actor) })
        return before.id
      },
      (model) => ({ subject: model, before: null, after: { alias } }),
    )
    await ctx.publication.publishSoon(['models'])
    return { alias, model, isManual: true }
  },
})

/**
 * Removes a name. The canonical id and the `lab/model` form cannot be removed. A later import may add its own names
 * again.
 */
export const removeAlias = defineOperation({
  name: 'alias.remove',
  summary: 'Delete a name of a model',
  about: 'A later import may add its own names again.',
  access: 'operator',
  input: z.strictObject({ alias: ModelName }),
  limit: 'none',
  idempotency: 'none',
  output: z.object({
    alias: z.string(),
    model: z.string(),
  }),
  run: async (ctx, actor, input): Promise<{ readonly alias: string; readonly model: string }> => {
    const alias = input.alias.toLowerCase()
    const model = await ctx.change(
      async (trx) => {
        await lockCatalog(trx)
        const before = await requireModel(trx, alias)
        if (!before.aliases.some((name) => name.toLowerCase() === alias)) {
          throw new AppError('conflict', { message: 'The own names of a model cannot be removed.' })
        }
        await deleteAlias(trx, alias)
        const aliases = before.aliases.filter((name) => name.toLowerCase() !== alias)
        await storeAliases(ctx, trx, { before, aliases, actor: tenantOf(actor) })
        return before.id
      },
      (model) => ({ subject: model, before: { alias }, after: null }),
    )
    await ctx.publication.publishSoon(['models'])
    return { alias, model }
  },
})

/** Finds a model by an exact name. Throws `not_found`. */
export async function requireModel(trx: Database | Trx, name: string): Promise<Model> {
  const id = await findModelByName(trx, name)
  const [body] = id === undefined ? [] : await listBodiesOf(trx, [id])
  if (body === undefined) throw new AppError('not_found', { message: `No model is called ${name}.` })
  return ModelSchema.parse(body)
}

type Renaming = { readonly before: Model; readonly aliases: readonly string[]; readonly actor: string }

async function storeAliases(
  ctx: Pick<Ctx, 'clock' | 'ids'>,
  trx: Trx,
  { before, aliases, actor }: Renaming,
): Promise<void> {
  const after = readModel({ ...before, aliases })
  await upsertModels(trx, [after], ctx.clock.now())
  const change = { field: 'aliases', before: before.aliases, after: after.aliases }
  const by = { sourceOf: () => SOURCE, actor, at: ctx.clock.now() }
  await recordChanges(ctx, trx, [{ model: before.id, kind: 'changed', fields: [change] }], by)
}

function readModel(body: unknown): Model {
  const parsed = ModelSchema.safeParse(body)
  if (!parsed.success) throw new AppError('conflict', { message: 'The model has the maximum number of names.' })
  return parsed.data
}
