import { invoke } from '#control-plane/operation/invoke.ts'
import type { AliasView } from '#control-plane/services/catalog/aliases.ts'
import { AliasViewSchema, listAliases } from '#control-plane/services/catalog/aliases.ts'
import type { ChangeView } from '#control-plane/services/catalog/catalog-history.ts'
import { ChangeViewSchema, listCatalogHistory } from '#control-plane/services/catalog/catalog-history.ts'
import type { ProviderView } from '#control-plane/services/catalog/provider-list.ts'
import { listProviders, ProviderViewSchema } from '#control-plane/services/catalog/provider-list.ts'
import type { PriceVersion } from '#control-plane/services/catalog/reference-prices.ts'
import { listPrices, PriceVersionSchema } from '#control-plane/services/catalog/reference-prices.ts'
import { searchAudit } from '#control-plane/services/operators/operator-audit.ts'
import type { MarketOfferView } from '#control-plane/services/operators/operator-offers.ts'
import { MarketOfferViewSchema, searchOffers } from '#control-plane/services/operators/operator-offers.ts'
import { builder } from './builder.ts'
import { given } from './given.ts'
import { UnitPrice } from './market-figures.ts'
import { membersOf } from './members.ts'
import { OfferStatus } from './offers.ts'
import { costOfPage, readPage, toConnection } from './page.ts'
import { Entry } from './workspaces.ts'

const AnyOffer = builder.objectRef<MarketOfferView>('AnyOffer').implement({
  description: 'An offer as operators see it, with whose it is.',
  authScopes: { operator: true },
  fields: (t) => ({
    ...membersOf(t, MarketOfferViewSchema, { ids: ['sellerAccount', 'workspace'], without: ['isTrusted', 'status'] }),
    trusted: t.exposeBoolean('isTrusted'),
    status: t.expose('status', { type: OfferStatus }),
  }),
})
const Provider = builder.objectRef<ProviderView>('Provider').implement({
  description: 'A provider of the allow-list.',
  fields: (t) => ({
    ...membersOf(t, ProviderViewSchema, { without: ['host', 'isTrusted', 'endpoints', 'basePaths', 'fileHosts'] }),
    trusted: t.exposeBoolean('isTrusted'),
    basePaths: t.exposeStringList('basePaths', {
      description: 'The base paths that its host has beside that of the base URL.',
    }),
    fileHosts: t.exposeStringList('fileHosts', {
      description: 'Hosts beside its own from which the files of its jobs are fetched.',
    }),
    endpoints: t.exposeStringList('endpoints', {
      nullable: true,
      description: 'The endpoints that its host runs. Null stands for every endpoint of its protocol.',
    }),
  }),
})
export const Alias = builder.objectRef<AliasView>('ModelAlias').implement({
  fields: (t) => membersOf(t, AliasViewSchema),
})
const Price = builder.objectRef<PriceVersion>('PriceVersion').implement({
  fields: (t) => ({
    ...membersOf(t, PriceVersionSchema),
    unitPrices: t.field({
      type: [UnitPrice],
      resolve: ({ unitPrices }) => Object.entries(unitPrices).map(([unit, pico]) => ({ unit, pico })),
    }),
  }),
})
const Change = builder.objectRef<ChangeView>('CatalogChange').implement({
  description: 'One field of one model that changed; `before` and `after` are JSON texts.',
  authScopes: { operator: true },
  fields: (t) => ({
    ...membersOf(t, ChangeViewSchema),
    before: t.string({ resolve: ({ before }) => JSON.stringify(before ?? null) }),
    after: t.string({ resolve: ({ after }) => JSON.stringify(after ?? null) }),
  }),
})

/** The longest list of operators' rows, for its cost. */
const COST = { field: 1, multiplier: 50 }

builder.queryFields((t) => ({
  anyOffers: t.connection({
    type: AnyOffer,
    args: {
      model: t.arg.string(),
      provider: t.arg.string(),
      wallet: t.arg.string(),
      status: t.arg({ type: OfferStatus }),
      isDelisted: t.arg.boolean(),
    },
    complexity: costOfPage,
    resolve: async (_root, args, { ctx, actor, options }) => {
      const { first: _first, after: _after, last: _last, before: _before, ...by } = args
      const { maxItems: limit, ...from } = readPage(args)
      return toConnection(await invoke(ctx, actor, searchOffers, { ...given(by), ...from, limit }, options), args)
    },
  }),
  providers: t.field({
    type: [Provider],
    complexity: COST,
    resolve: (_root, _args, { ctx, actor, options }) => invoke(ctx, actor, listProviders, {}, options),
  }),
  aliases: t.field({
    type: [Alias],
    args: { model: t.arg.string() },
    complexity: COST,
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, listAliases, given(args), options),
  }),
  referencePrices: t.field({
    type: [Price],
    args: { model: t.arg.string({ required: true }) },
    complexity: COST,
    resolve: async (_root, args, { ctx, actor, options }) =>
      (await invoke(ctx, actor, listPrices, args, options)).versions,
  }),
  catalogHistory: t.connection({
    type: Change,
    args: { model: t.arg.string() },
    complexity: costOfPage,
    resolve: async (_root, { model, ...args }, { ctx, actor, options }) => {
      const { maxItems: limit, ...from } = readPage(args)
      return toConnection(
        await invoke(ctx, actor, listCatalogHistory, { ...given({ model }), ...from, limit }, options),
        args,
      )
    },
  }),
  audit: t.connection({
    type: Entry,
    args: { operation: t.arg.string(), subject: t.arg.string(), actor: t.arg.string() },
    complexity: costOfPage,
    resolve: async (_root, { operation, subject, actor: by, ...args }, { ctx, actor, options }) => {
      const { maxItems: limit, ...from } = readPage(args)
      const input = { ...given({ operation, subject, actor: by }), ...from, limit }
      return toConnection(await invoke(ctx, actor, searchAudit, input, options), args)
    },
  }),
}))
