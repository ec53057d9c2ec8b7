import { z } from 'zod'
import { deleteProvider, findProvider, listProviders as listAll, upsertProvider } from '#control-plane/db/catalog.ts'
import { refusalOf } from '#control-plane/db/database.ts'
import { listModelsOfProvider } from '#control-plane/db/listed-offers.ts'
import { countOffersByProvider } from '#control-plane/db/operator-offers.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import type { Provider } from '#shared/catalog/providers.ts'
import { ProviderSchema } from '#shared/catalog/providers.ts'
import { offersDocumentName } from '#shared/contract/snapshot.ts'
import { AppError } from '#shared/errors.ts'
import { oneLine } from '#shared/texts.ts'
import { readKeptProviders } from './kept/kept-providers.ts'

const Id = ProviderSchema.shape.id
const Reason = oneLine(500).trim().min(1)

/** A provider of the allow-list with the number of its active offers. */
export const ProviderViewSchema = ProviderSchema.extend({
  activeOffers: z.number(),
})
export type ProviderView = z.infer<typeof ProviderViewSchema>

/** Lists the providers of the allow-list, by id. */
export const listProviders = defineOperation({
  name: 'provider.list',
  summary: 'List the providers of the allow-list',
  access: 'operator',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: z.array(ProviderViewSchema).readonly(),
  run: async (ctx): Promise<readonly ProviderView[]> => {
    const [providers, counts] = await Promise.all([listAll(ctx.db), countOffersByProvider(ctx.db)])
    const active = new Map(counts.map(({ provider, count }) => [provider, count]))
    return providers.map((provider) => ({ ...provider, activeOffers: active.get(provider.id) ?? 0 }))
  },
})

/** A provider that this release knows, and the state of its entry in the allow-list. */
export const KnownProviderSchema = z.object({
  provider: ProviderSchema,
  /** `own` marks an entry that an operator changed. */
  state: z.enum(['missing', 'same', 'own']),
  /** The fields of an own entry that differ. */
  differs: z.array(z.string()).readonly(),
})
export type KnownProvider = z.infer<typeof KnownProviderSchema>

/** Compares the allow-list with the providers that this release knows, by id. */
export const compareProviders = defineOperation({
  name: 'provider.compare',
  summary: 'Compare the allow-list with the data of this release',
  access: 'operator',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: z.array(KnownProviderSchema).readonly(),
  run: async (ctx): Promise<readonly KnownProvider[]> => {
    const providersById = new Map((await listAll(ctx.db)).map((provider) => [provider.id, provider]))
    return readKeptProviders().map((provider) => {
      const knownProvider = providersById.get(provider.id)
      if (knownProvider === undefined) return { provider, state: 'missing', differs: [] }
      const differs = ProviderSchema.keyof().options.filter(
        (field) => JSON.stringify(knownProvider[field]) !== JSON.stringify(provider[field]),
      )
      return { provider, state: differs.length === 0 ? 'same' : 'own', differs }
    })
  },
})

/** Sets whether default routing may use a provider. Its offers follow at once. */
export const trustProvider = defineOperation({
  name: 'provider.trust',
  summary: 'Trust or distrust a provider',
  about: 'Its offers follow at once.',
  access: 'operator',
  input: z.strictObject({ id: Id, isTrusted: z.boolean(), reason: Reason }),
  limit: 'none',
  idempotency: 'none',
  output: ProviderSchema,
  run: async (ctx, _actor, { id, isTrusted, reason }): Promise<Provider> => {
    const before = await requireProvider(ctx, id)
    const after = { ...before, isTrusted }
    await ctx.change(
      (trx) => upsertProvider(trx, after, ctx.clock.now()),
      () => ({ subject: id, before: { isTrusted: before.isTrusted }, after: { isTrusted, reason } }),
    )
    const models = await listModelsOfProvider(ctx.db, id)
    await ctx.publication.publishSoon(['providers', ...models.map(offersDocumentName)])
    return after
  },
})

/**
 * Removes a provider from the allow-list. A provider that has or had offers stays, because it is part of their history.
 */
export const removeProvider = defineOperation({
  name: 'provider.remove',
  summary: 'Remove a provider from the allow-list',
  about: 'A provider that has or had offers stays.',
  access: 'operator',
  input: z.strictObject({ id: Id, reason: Reason }),
  limit: 'none',
  idempotency: 'none',
  output: z.object({
    id: z.string(),
  }),
  run: async (ctx, _actor, { id, reason }): Promise<{ readonly id: string }> => {
    const before = await requireProvider(ctx, id)
    try {
      await ctx.change(
        (trx) => deleteProvider(trx, id),
        () => ({ subject: id, before, after: { removed: true, reason } }),
      )
    } catch (error) {
      if (refusalOf(error) === undefined) throw error
      throw new AppError('conflict', { message: 'Offers or keys use this provider.', cause: error })
    }
    await ctx.publication.publishSoon(['providers'])
    return { id }
  },
})

async function requireProvider(ctx: Pick<Ctx, 'db'>, id: string): Promise<Provider> {
  const provider = await findProvider(ctx.db, id)
  if (provider === undefined) throw new AppError('not_found', { message: `No provider is called ${id}.` })
  return provider
}
