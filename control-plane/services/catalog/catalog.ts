import { z } from 'zod'
import { findProvider, listProviders, lockProviders, upsertProvider } from '#control-plane/db/catalog.ts'
import { lockCatalog } from '#control-plane/db/catalog-history.ts'
import type { Trx } from '#control-plane/db/database.ts'
import { listModelsOfProvider } from '#control-plane/db/listed-offers.ts'
import { tenantOf } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Label } from '#control-plane/services/input-fields.ts'
import {
  doHostsOverlap,
  FileHostsSchema,
  HOST_PATTERNS,
  isHostOrPattern,
  ProviderHostsSchema,
} from '#shared/catalog/provider-hosts.ts'
import type { Provider } from '#shared/catalog/providers.ts'
import { BasePathsSchema, hostOf, hostsOf, ProviderEndpointsSchema, ProviderSchema } from '#shared/catalog/providers.ts'
import { MINUTE } from '#shared/clock.ts'
import { offersDocumentName } from '#shared/contract/snapshot.ts'
import { AppError } from '#shared/errors.ts'
import { checkOutboundUrl, checkPublicUrl } from '#shared/outbound-guard.ts'
import { oneLine } from '#shared/texts.ts'
import { ModelChangeSchema } from './catalog-diff.ts'
import { ImpactSchema, readImpact } from './catalog-impact.ts'
import { planImport, RejectedRowSchema } from './catalog-plan.ts'
import { storePlan } from './store-plan.ts'

const MAX_ROWS = 5_000
/** A price may start at most this long ago. An older start would change the stated cost of past calls. */
const MAX_LATE_MS = MINUTE

const Rows = z.array(z.unknown()).min(1).max(MAX_ROWS)
const EffectiveAt = z.number().int().positive().optional()

const ImportInput = z.strictObject({
  /** The source of the values. It is stored with every price version and every change. */
  source: oneLine(500).min(1),
  /** Models in the shape of OpenRouter's list; {@link planImport} reads them. */
  models: Rows,
  /** Unix milliseconds from which new prices apply; now when absent. Everything else applies at once. */
  effectiveAt: EffectiveAt,
})

/** The result of an import. */
export const ImportReportSchema = z.object({
  /** Accepted models, changed or not. */
  models: z.number(),
  added: z.number(),
  changed: z.number(),
  /** Models with a new version of their prices. */
  repriced: z.number(),
  /** Names that already belong to another model. */
  takenNames: z.array(z.string()).readonly(),
  rejected: z.array(RejectedRowSchema).readonly(),
})
export type ImportReport = z.infer<typeof ImportReportSchema>

/** The result that an import would have. */
export const ImportDiffSchema = z.object({
  models: z.number(),
  changes: z.array(ModelChangeSchema).readonly(),
  /** The offers, sellers and buyers that each change affects, by model. */
  impacts: z.array(ImpactSchema).readonly(),
  rejected: z.array(RejectedRowSchema).readonly(),
})
export type ImportDiff = z.infer<typeof ImportDiffSchema>

/** Shows the changes that an import of the list would make, and the rows that it would reject. */
export const diffCatalog = defineOperation({
  name: 'catalog.diff',
  summary: 'Preview an import of models',
  access: 'operator',
  input: z.strictObject({ models: Rows, effectiveAt: EffectiveAt }),
  limit: 'read',
  idempotency: 'none',
  output: ImportDiffSchema,
  run: async (ctx, _actor, input): Promise<ImportDiff> => {
    const { models, rejected } = await planImport(ctx.db, input.models, priceTime(ctx, input.effectiveAt))
    const changes = models.flatMap(({ change }) => (change === undefined ? [] : [change]))
    const impacts = await readImpact(
      ctx,
      changes.map(({ model }) => model),
    )
    return { models: models.length, changes, impacts, rejected }
  },
})

/**
 * Adds or replaces models by canonical id. A model whose prices differ from those in effect gets a new version, and old
 * versions stay. Models outside the list stay as they are. An unreadable row is reported, and the other rows are
 * imported.
 */
export const importCatalog = defineOperation({
  name: 'catalog.import',
  summary: 'Create or replace models',
  about: 'A model with other prices gets a new version of its prices. Models outside the list stay unchanged.',
  access: 'operator',
  input: ImportInput,
  limit: 'none',
  idempotency: 'none',
  output: ImportReportSchema,
  run: async (ctx, actor, input): Promise<ImportReport> => {
    const at = priceTime(ctx, input.effectiveAt)
    const by = { sourceOf: () => input.source, actor: tenantOf(actor), at }
    const change = async (trx: Trx) => {
      await lockCatalog(trx)
      const plan = await planImport(trx, input.models, at)
      return { ...(await storePlan(ctx, trx, plan, by)), rejected: plan.rejected }
    }
    const report = await ctx.change(change, ({ rejected, takenNames, ...counts }) => ({
      subject: 'catalog',
      before: null,
      after: { ...counts, takenNames, rejected: rejected.length, source: input.source },
    }))
    await ctx.publication.publishSoon(['models', 'prices', 'markets'])
    return report
  },
})

function priceTime(ctx: Pick<Ctx, 'clock'>, effectiveAt: number | undefined): number {
  const now = ctx.clock.now()
  if (effectiveAt !== undefined && effectiveAt < now - MAX_LATE_MS) {
    throw new AppError('invalid_request', { message: 'effectiveAt must not be in the past.', param: 'effectiveAt' })
  }
  return effectiveAt ?? now
}

const PutProviderInput = z.strictObject({
  id: ProviderSchema.shape.id,
  name: Label,
  baseUrl: oneLine(2_048),
  isTrusted: z.boolean(),
  costReferenceUrl: z.url().max(2_048).nullable().default(null),
  /** Defaults to every endpoint of the provider's protocol. */
  endpoints: ProviderEndpointsSchema.default(null),
  /** Hosts in addition to the base URL's host, with the same base paths: names and patterns. */
  hosts: ProviderHostsSchema.default([]),
  /** Base paths of its hosts in addition to that of the base URL. */
  basePaths: BasePathsSchema.default([]),
  /** Further hosts from which the files of its jobs are fetched. */
  fileHosts: FileHostsSchema.default([]),
})

/**
 * Adds or replaces a provider of the allow-list. A provider with active offers keeps its hosts, because their keys are
 * bound to them. An active offer whose endpoint the provider no longer runs stays, and gets no calls.
 */
export const putProvider = defineOperation({
  name: 'provider.put',
  summary: 'Create or replace a provider of the allow-list',
  about: 'A provider with active offers keeps its hosts, because their keys are bound to them.',
  access: 'operator',
  input: PutProviderInput,
  limit: 'none',
  idempotency: 'none',
  output: ProviderSchema,
  run: async (ctx, _actor, input): Promise<Provider> => {
    const host = hostOf(input.baseUrl)
    const url = checkOutboundUrl(sampleOf(input.baseUrl), new Set([sampleOf(host ?? '')]), ctx.settings.outbound)
    const path = url?.pathname.replace(/\/+$/, '') ?? ''
    // The path of the base URL is a base path as well, in the same normal form.
    const isPlain = BasePathsSchema.safeParse([path, ...input.basePaths]).success
    const isNamed = host !== undefined && isHostOrPattern(host) && host.includes('*') === input.baseUrl.includes('*')
    if (!isNamed || url === undefined || url.search !== '' || !isPlain) {
      const message = `A base URL must be https, at a public host or one of ${HOST_PATTERNS.join(', ')}.`
      throw new AppError('invalid_base_url', { message, param: 'baseUrl' })
    }
    const isPublic = (name: string) => checkPublicUrl(`https://${sampleOf(name)}/`, ctx.settings.outbound) !== undefined
    if (!input.fileHosts.every(isPublic)) {
      throw new AppError('invalid_request', {
        message: 'A file host must be the name of a public host.',
        param: 'fileHosts',
      })
    }
    if (!input.hosts.every(isPublic)) {
      throw new AppError('invalid_request', { message: 'A host must be the name of a public host.', param: 'hosts' })
    }
    const provider: Provider = { ...input, host, baseUrl: `${url.protocol}//${host}${path}` }
    const before = await findProvider(ctx.db, provider.id)
    const models = await listModelsOfProvider(ctx.db, provider.id)
    const keptHosts = new Set(hostsOf(provider))
    if (before !== undefined && models.length > 0 && !hostsOf(before).every((each) => keptHosts.has(each))) {
      throw new AppError('conflict', { message: 'Active offers are bound to the hosts of this provider.' })
    }
    const change = async (trx: Trx) => {
      await lockProviders(trx)
      await refuseSharedHosts(trx, provider)
      await upsertProvider(trx, provider, ctx.clock.now())
    }
    await ctx.change(change, () => ({ subject: provider.id, before: before ?? null, after: provider }))
    await ctx.publication.publishSoon(['providers', ...models.map(offersDocumentName)])
    return provider
  },
})

/** Replaces the star of a pattern by a name, for checks that know plain names only. */
function sampleOf(text: string): string {
  return text.replace('*', 'x')
}

/** Throws `conflict` for a host that also belongs to another provider, by name or by pattern. */
async function refuseSharedHosts(trx: Trx, provider: Provider): Promise<void> {
  const others = (await listProviders(trx)).filter(({ id }) => id !== provider.id)
  const other = others.find((each) => doHostsOverlap(hostsOf(each), hostsOf(provider)))
  if (other !== undefined) throw new AppError('conflict', { message: `The provider ${other.id} has this host.` })
}
