import { invoke } from '#control-plane/operation/invoke.ts'
import type { AliasView } from '#control-plane/services/catalog/aliases.ts'
import { listAliases } from '#control-plane/services/catalog/aliases.ts'
import type { ChangeView } from '#control-plane/services/catalog/catalog-history.ts'
import { listCatalogHistory } from '#control-plane/services/catalog/catalog-history.ts'
import type { ProviderView } from '#control-plane/services/catalog/provider-list.ts'
import { listProviders } from '#control-plane/services/catalog/provider-list.ts'
import type { PriceVersion } from '#control-plane/services/catalog/reference-prices.ts'
import { listPrices } from '#control-plane/services/catalog/reference-prices.ts'
import { searchAudit } from '#control-plane/services/operators/operator-audit.ts'
import type { MarketOfferView } from '#control-plane/services/operators/operator-offers.ts'
import { searchOffers } from '#control-plane/services/operators/operator-offers.ts'
import { builder } from './builder.ts'
import { given } from './given.ts'
import { UnitPrice } from './market-figures.ts'
import { OfferStatus } from './offers.ts'
import { costOfPage, readPage, toConnection } from './page.ts'
import { Entry } from './workspaces.ts'

const AnyOffer = builder.objectRef<MarketOfferView>('AnyOffer').implement({
  description: 'An offer as operators see it, with whose it is.',
  authScopes: { operator: true },
  fields: (t) => ({
    id: t.exposeID('id'),
    sellerAccount: t.exposeID('sellerAccount'),
    wallet: t.exposeString('wallet', { nullable: true }),
    workspace: t.exposeID('workspace', { nullable: true }),
    model: t.exposeString('model'),
    provider: t.exposeString('provider'),
    trusted: t.exposeBoolean('isTrusted'),
    baseUrl: t.exposeString('baseUrl'),
    status: t.expose('status', { type: OfferStatus }),
    delistedReason: t.exposeString('delistedReason', { nullable: true }),
    discountPct: t.exposeFloat('discountPct'),
    capDailyMicro: t.exposeString('capDailyMicro', { nullable: true }),
    createdAt: t.exposeFloat('createdAt'),
  }),
})
const Provider = builder.objectRef<ProviderView>('Provider').implement({
  description: 'A provider of the allow-list.',
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    baseUrl: t.exposeString('baseUrl'),
    costReferenceUrl: t.exposeString('costReferenceUrl', { nullable: true }),
    trusted: t.exposeBoolean('isTrusted'),
    activeOffers: t.exposeFloat('activeOffers'),
  }),
})
const Alias = builder.objectRef<AliasView>('ModelAlias').implement({
  fields: (t) => ({
    alias: t.exposeString('alias'),
    model: t.exposeString('model'),
    isManual: t.exposeBoolean('isManual'),
  }),
})
const Price = builder.objectRef<PriceVersion>('PriceVersion').implement({
  fields: (t) => ({
    version: t.exposeString('version'),
    effectiveAt: t.exposeFloat('effectiveAt'),
    source: t.exposeString('source'),
    state: t.exposeString('state'),
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
    id: t.exposeID('id'),
    at: t.exposeFloat('at'),
    effectiveAt: t.exposeFloat('effectiveAt'),
    model: t.exposeString('model'),
    field: t.exposeString('field'),
    before: t.string({ resolve: ({ before }) => JSON.stringify(before ?? null) }),
    after: t.string({ resolve: ({ after }) => JSON.stringify(after ?? null) }),
    source: t.exposeString('source'),
    actor: t.exposeString('actor'),
  }),
})

/** Most rows of a list of operators, as its cost counts them. */
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
