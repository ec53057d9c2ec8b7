import { z } from 'zod'
import type { Provider } from '#shared/catalog/providers.ts'
import { hostOf, ProviderSchema } from '#shared/catalog/providers.ts'
import { offersDocumentName } from '#shared/contract/snapshot.ts'
import { AppError } from '#shared/errors.ts'
import { checkOutboundUrl } from '#shared/outbound-guard.ts'
import type { PriceRow } from '../db/catalog.ts'
import {
  deleteAliases,
  findProvider,
  insertAliases,
  insertPrices,
  listPricesAt,
  upsertModels,
  upsertProvider,
} from '../db/catalog.ts'
import { refusalOf, transact } from '../db/database.ts'
import { listModelsOfProvider } from '../db/offers.ts'
import type { Ctx } from '../operation.ts'
import { defineOperation } from '../operation.ts'
import type { CatalogItem as Item } from './catalog-items.ts'
import { CatalogItem, modelOf, namesOf, unitPricesOf } from './catalog-items.ts'
import { Label } from './fields.ts'
import { publishSoon } from './snapshot.ts'

const MAX_ITEMS = 5_000

const ImportInput = z.object({
  /** Where the prices come from; stands beside every version of them. */
  source: z.string().min(1).max(500),
  models: z.array(CatalogItem).min(1).max(MAX_ITEMS),
  /** Unix milliseconds from which new prices count; now when left out. */
  effectiveAt: z.number().int().positive().optional(),
})

/** What an import did. */
export type ImportReport = {
  readonly models: number
  /** Models that got a new version of their prices. */
  readonly repriced: number
  /** Names that another model holds already. */
  readonly takenNames: readonly string[]
}

/**
 * Adds or replaces models by their canonical id. A model whose prices differ from those that count gets a new version;
 * old versions stay. Models that are not named are left alone.
 */
export const importCatalog = defineOperation({
  name: 'catalog.import',
  access: 'operator',
  input: ImportInput,
  limit: 'none',
  idempotency: 'none',
  run: async (ctx, _actor, input): Promise<ImportReport> => {
    const now = ctx.clock.now()
    const models = input.models.map(modelOf)
    const ids = models.map((model) => model.id)
    if (new Set(ids).size !== ids.length) {
      throw new AppError('invalid_request', { message: 'A canonical id appears twice.', param: 'models' })
    }
    const report = await transact(ctx.db, async (trx) => {
      await upsertModels(trx, models, now)
      await deleteAliases(trx, ids)
      const names = models.flatMap((model) => namesOf(model).map((alias) => ({ alias, model: model.id })))
      const takenNames = await insertAliases(trx, names)
      const current = await listPricesAt(trx, now, ids)
      const fresh = newPrices(ctx, input.models, { current, source: input.source, at: input.effectiveAt ?? now })
      await insertPrices(trx, fresh)
      return { models: models.length, repriced: fresh.length, takenNames }
    })
    ctx.note({ subject: 'catalog', before: null, after: { ...report, source: input.source } })
    await publishSoon(ctx, ['models', 'prices', 'markets'])
    return report
  },
})

type Pricing = { readonly current: readonly PriceRow[]; readonly source: string; readonly at: number }

function newPrices(ctx: Pick<Ctx, 'ids'>, items: readonly Item[], pricing: Pricing): PriceRow[] {
  const counting = new Map(pricing.current.map((price) => [price.model, canonical(price.unitPrices)]))
  return items
    .map((item) => ({ model: item.canonical, unitPrices: unitPricesOf(item) }))
    .filter(({ model, unitPrices }) => counting.get(model) !== canonical(unitPrices))
    .map((price) => ({
      ...price,
      version: ctx.ids.ulid(),
      effectiveAt: new Date(pricing.at),
      source: pricing.source,
    }))
}

function canonical(prices: unknown): string {
  const read = z.record(z.string(), z.string()).parse(prices)
  return JSON.stringify(Object.entries(read).sort(([left], [right]) => (left < right ? -1 : 1)))
}

const PutProviderInput = z.object({
  id: ProviderSchema.shape.id,
  name: Label,
  baseUrl: z.string().max(2_048),
  isTrusted: z.boolean(),
  costReferenceUrl: z.url().max(2_048).nullable().default(null),
})

/** Adds or replaces an entry of the allow-list. The host of one with active offers stays: their keys are bound to it. */
export const putProvider = defineOperation({
  name: 'provider.put',
  access: 'operator',
  input: PutProviderInput,
  limit: 'none',
  idempotency: 'none',
  run: async (ctx, _actor, input): Promise<Provider> => {
    const host = hostOf(input.baseUrl)
    const url = host === undefined ? undefined : checkOutboundUrl(input.baseUrl, new Set([host]), ctx.settings.outbound)
    if (host === undefined || url === undefined) throw new AppError('invalid_base_url', { param: 'baseUrl' })
    const provider: Provider = { ...input, host, baseUrl: url.href.replace(/\/+$/, '') }
    const before = await findProvider(ctx.db, provider.id)
    const models = await listModelsOfProvider(ctx.db, provider.id)
    if (before !== undefined && before.host !== host && models.length > 0) {
      throw new AppError('conflict', { message: 'Active offers are bound to the host of this provider.' })
    }
    try {
      await upsertProvider(ctx.db, provider, ctx.clock.now())
    } catch (error) {
      if (refusalOf(error)?.constraint !== 'provider_one_host') throw error
      throw new AppError('conflict', { message: 'Another provider has this host.', cause: error })
    }
    ctx.note({ subject: provider.id, before: before ?? null, after: provider })
    await publishSoon(ctx, ['providers', ...models.map(offersDocumentName)])
    return provider
  },
})
