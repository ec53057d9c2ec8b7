import { SearchedEntrySchema, searchAudit } from '#control-plane/services/audit/operator-audit.ts'
import { AliasViewSchema, listAliases } from '#control-plane/services/catalog/aliases.ts'
import { ChangeViewSchema, listCatalogHistory } from '#control-plane/services/catalog/catalog-history.ts'
import { listProviders, ProviderViewSchema } from '#control-plane/services/catalog/provider-list.ts'
import {
  listPrices,
  PriceVersionSchema,
  ShownOverrideSchema,
} from '#control-plane/services/catalog/reference-prices.ts'
import { MarketOfferViewSchema, searchOffers } from '#control-plane/services/offers/operator-offers.ts'
import { MinimumsSchema } from '#shared/price-list.ts'
import { builder } from './builder.ts'
import { listUnitPrices, UnitPrice } from './market-figures.ts'
import { objectOf } from './objects.ts'
import { OfferStatus } from './offers.ts'
import { fieldOf, pageOf } from './operation-fields.ts'
import { LIST_COST } from './page.ts'
import { jsonOf } from './workspaces.ts'

const AnyOffer = objectOf('AnyOffer', MarketOfferViewSchema, {
  description: 'An offer as operators see it, with its owner and the traffic of its last 24 hours.',
  authScopes: { operator: true },
  ids: ['sellerAccount', 'workspace'],
  types: { status: OfferStatus },
  ints: ['calls', 'failures'],
  without: ['isTrusted'],
  fields: (t) => ({ trusted: t.exposeBoolean('isTrusted') }),
})
const Provider = objectOf('Provider', ProviderViewSchema, {
  description: 'A provider of the allow-list.',
  descriptions: {
    basePaths: 'The base paths that its hosts have beside that of the base URL.',
    hosts: 'Hosts beside that of the base URL, with the same base paths. A star matches a part of one label.',
    fileHosts: 'Hosts beside its own from which the files of its jobs are fetched.',
    endpoints: 'The endpoints that its host runs. Null means every endpoint of its protocol.',
  },
  without: ['host', 'isTrusted'],
  fields: (t) => ({ trusted: t.exposeBoolean('isTrusted') }),
})
export const Alias = objectOf('ModelAlias', AliasViewSchema)
const Override = objectOf('PriceOverride', ShownOverrideSchema, {
  description: 'Prices that count while their conditions hold.',
  without: ['when'],
  fields: (t) => ({
    unitPrices: t.field({ type: [UnitPrice], resolve: ({ unitPrices }) => listUnitPrices(unitPrices) }),
  }),
})
const Minimums = objectOf('PriceMinimums', MinimumsSchema, {
  description:
    'The fewest units of a class that a request with any of them is billed for. Null where there is no minimum.',
})
const Price = objectOf('PriceVersion', PriceVersionSchema, {
  types: { overrides: Override, minimums: Minimums },
  fields: (t) => ({
    unitPrices: t.field({ type: [UnitPrice], resolve: ({ unitPrices }) => listUnitPrices(unitPrices) }),
  }),
})
const Change = objectOf('CatalogChange', ChangeViewSchema, {
  description: 'One field of one model that changed; `before` and `after` are JSON texts.',
  authScopes: { operator: true },
  fields: (t) => ({
    before: t.string({ resolve: ({ before }) => JSON.stringify(before ?? null) }),
    after: t.string({ resolve: ({ after }) => JSON.stringify(after ?? null) }),
  }),
})

const SearchedEntry = objectOf('SearchedAuditEntry', SearchedEntrySchema, {
  description: 'A change of any account, with the names of its records. `before` and `after` are JSON texts.',
  authScopes: { operator: true },
  fields: (t) => ({
    before: t.string({ nullable: true, resolve: ({ before }) => jsonOf(before) }),
    after: t.string({ nullable: true, resolve: ({ after }) => jsonOf(after) }),
  }),
})

builder.queryFields((t) => ({
  anyOffers: t.connection({ type: AnyOffer, ...pageOf(searchOffers, { types: { status: OfferStatus } }) }),
  providers: t.field({ type: [Provider], complexity: LIST_COST, ...fieldOf(listProviders) }),
  aliases: t.field({ type: [Alias], complexity: LIST_COST, ...fieldOf(listAliases) }),
  referencePrices: t.field({
    type: [Price],
    complexity: LIST_COST,
    ...fieldOf(listPrices, {}, ({ versions }) => versions),
  }),
  catalogHistory: t.connection({ type: Change, ...pageOf(listCatalogHistory) }),
  audit: t.connection({ type: SearchedEntry, ...pageOf(searchAudit, { without: ['since', 'until'] }) }),
}))
