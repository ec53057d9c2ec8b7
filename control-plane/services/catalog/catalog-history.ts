import { z } from 'zod'
import type { CatalogChange } from '#control-plane/db/catalog-history.ts'
import { insertCatalogChanges, listCatalogChanges } from '#control-plane/db/catalog-history.ts'
import type { Trx } from '#control-plane/db/database.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { ModelName, PageSize } from '#control-plane/services/input-fields.ts'
import { PageToken, pagesById, signedPageSchema } from '#control-plane/services/page.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import type { ModelChange } from './catalog-diff.ts'

/** The author of a change, the source of a model's values, and the Unix milliseconds from which its prices apply. */
export type ChangedBy = {
  readonly sourceOf: (model: string) => string
  readonly actor: string
  readonly at: number
}

/** Writes one row for each changed field. Prices apply from `by.at`, everything else at once. */
export async function recordChanges(
  ctx: Pick<Ctx, 'ids' | 'clock'>,
  trx: Trx,
  changes: readonly ModelChange[],
  by: ChangedBy,
): Promise<void> {
  const now = new Date(ctx.clock.now())
  const rows = changes.flatMap(({ model, fields }) =>
    fields.map((change) => ({
      ...change,
      id: ctx.ids.ulid(),
      at: now,
      effectiveAt: change.field.startsWith('price.') ? new Date(by.at) : now,
      model,
      source: by.sourceOf(model),
      actor: by.actor,
    })),
  )
  await insertCatalogChanges(trx, rows)
}

/** A change for operators. Times are Unix milliseconds, prices pico-USD of one unit. */
export const ChangeViewSchema = z.object({
  id: z.string(),
  at: UnixMs,
  effectiveAt: UnixMs,
  model: z.string(),
  field: z.string(),
  before: z.unknown(),
  after: z.unknown(),
  source: z.string(),
  actor: z.string(),
})
export type ChangeView = z.infer<typeof ChangeViewSchema>

/** Lists changes of the catalogue, newest first: every field of every model with its source. */
export const listCatalogHistory = defineOperation({
  name: 'catalog.history',
  summary: 'List changes of the catalogue, newest first',
  access: 'operator',
  input: z.strictObject({
    model: ModelName.optional(),
    limit: PageSize,
    /** The `nextToken` of the preceding page. */
    nextToken: PageToken.optional(),
  }),
  limit: 'read',
  idempotency: 'none',
  output: signedPageSchema(ChangeViewSchema),
  run: async (ctx, _actor, { model, limit, nextToken }) => {
    const pages = pagesById(ctx, { list: 'catalog.history', tenant: 'operator', filters: [model] })
    const rows = await listCatalogChanges(ctx.db, { model, below: pages.idIn(nextToken), limit: limit + 1 })
    const view = (row: CatalogChange): ChangeView => ({
      ...row,
      at: row.at.getTime(),
      effectiveAt: row.effectiveAt.getTime(),
    })
    return pages.pageOf(rows, limit, view)
  },
})
