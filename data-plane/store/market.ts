import type { LentTerms, MarketOffer } from '#data-plane/call.ts'
import type { Endpoint, Model } from '#shared/catalog/model.ts'
import { ENDPOINTS } from '#shared/catalog/model.ts'
import type { HostList } from '#shared/catalog/provider-hosts.ts'
import { createHostList } from '#shared/catalog/provider-hosts.ts'
import type { FindProvider, Provider } from '#shared/catalog/providers.ts'
import { createProviderFinder, hostsOf, runsEndpoint } from '#shared/catalog/providers.ts'
import type { ResolveModel } from '#shared/catalog/resolve.ts'
import { createResolver } from '#shared/catalog/resolve.ts'
import type { LentOffer } from '#shared/contract/lent-offers.ts'
import type { Limits, MarketRow, OfferRow, SoldRow } from '#shared/contract/snapshot.ts'
import type { parseTrades } from '#shared/contract/trades.ts'
import type { OfferId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import { byRank } from '#shared/market-view.ts'
import { keptBps, percentOf } from '#shared/money.ts'
import type { ReferencePrice } from '#shared/price-list.ts'
import { DEFAULT_PROTOCOL } from '#shared/protocols/index.ts'
import type { CompiledResource } from '#shared/resources/compile-resource.ts'
import type { OfferBook } from '#shared/routing/offer-book.ts'
import { createOfferBook } from '#shared/routing/offer-book.ts'
import { parsePathPattern } from '#shared/rules/path-pattern.ts'

/** The validated bodies of the documents, before anything is indexed. */
export type MarketBodies = {
  readonly models: readonly Model[]
  readonly providers: readonly Provider[]
  readonly prices: ReadonlyMap<string, ReferencePrice>
  readonly rows: readonly MarketRow[]
  /** Traded amounts of models' offers, by model, as {@link parseTrades} reads them. Null while unknown. */
  readonly trades: ReadonlyMap<string, string> | null
  /** Sales of resources and families. Null while unknown. */
  readonly sold: readonly SoldRow[] | null
  readonly limits: Limits
  readonly offers: ReadonlyMap<string, OfferBook<MarketOffer>>
  /** Resources and forwarded families by id. */
  readonly resources: ReadonlyMap<string, CompiledResource>
  /** The lent keys of each resource, best discount first. */
  readonly lent: ReadonlyMap<string, readonly LentOffer[]>
  /** Lent keys that have left the market. They are used only for jobs that they started. */
  readonly retired: ReadonlyMap<string, readonly LentOffer[]>
}

/** The market as the hot path reads it. It is never changed, only replaced whole. */
export type Market = MarketBodies & {
  readonly resolve: ResolveModel
  readonly findProvider: FindProvider
  readonly hosts: HostList
  /**
   * The ids of providers whose host does not serve an endpoint, by endpoint. An endpoint that every host serves is
   * absent.
   */
  readonly providersWithout: ReadonlyMap<Endpoint, ReadonlySet<string>>
  readonly rowByModel: ReadonlyMap<string, MarketRow>
  /** Lent keys by the id of their record, as offers of its goods. */
  readonly lentBooks: ReadonlyMap<string, OfferBook<MarketOffer>>
  /** The offers in {@link retired}, by id. */
  readonly retiredOffers: ReadonlyMap<string, MarketOffer>
}

const DEFAULT_LIMITS: Limits = {
  keyRatePerMinute: 600,
  keyInFlight: 200,
  platformFeeBps: keptBps(500),
  switchedOff: [],
}

export const EMPTY_BODIES: MarketBodies = {
  models: [],
  providers: [],
  prices: new Map(),
  rows: [],
  trades: null,
  sold: null,
  limits: DEFAULT_LIMITS,
  offers: new Map(),
  resources: new Map(),
  lent: new Map(),
  retired: new Map(),
}

/** Builds the indexes. Reuses those of `previous` whose documents are the same. */
export function buildMarket(parts: MarketBodies, previous?: Market): Market {
  const sameModels = previous?.models === parts.models
  const sameProviders = previous?.providers === parts.providers
  return {
    ...parts,
    resolve: sameModels ? previous.resolve : createResolver(parts.models),
    findProvider: sameProviders ? previous.findProvider : createProviderFinder(parts.providers),
    hosts: sameProviders ? previous.hosts : createHostList(parts.providers.flatMap(hostsOf)),
    providersWithout: sameProviders ? previous.providersWithout : indexMissingEndpoints(parts.providers),
    rowByModel:
      previous?.rows === parts.rows ? previous.rowByModel : new Map(parts.rows.map((row) => [row.model, row])),
    lentBooks: previous?.lent === parts.lent ? previous.lentBooks : indexLent(parts.lent),
    retiredOffers: previous?.retired === parts.retired ? previous.retiredOffers : indexRetired(parts.retired),
  }
}

function indexRetired(retired: MarketBodies['retired']): Market['retiredOffers'] {
  return new Map([...retired.values()].flatMap((rows) => rankLent(rows)).map((offer) => [offer.id, offer]))
}

function indexLent(lentOffers: MarketBodies['lent']): Market['lentBooks'] {
  return new Map([...lentOffers].map(([resource, rows]) => [resource, createOfferBook(rankLent(rows))]))
}

function indexMissingEndpoints(providers: readonly Provider[]): Market['providersWithout'] {
  const missing = new Map<Endpoint, ReadonlySet<string>>()
  for (const endpoint of ENDPOINTS) {
    const without = providers.filter((provider) => !runsEndpoint(provider, endpoint))
    if (without.length > 0) missing.set(endpoint, new Set(without.map(({ id }) => id)))
  }
  return missing
}

/** Offers in the order of the routing. */
export function rankOffers(rows: readonly OfferRow[]): MarketOffer[] {
  const offers: MarketOffer[] = []
  for (const row of rows) if (isId('ofr', row.id)) offers.push({ ...row, id: row.id, servedBy: 'marketplace' })
  return offers.sort(byRank)
}

function rankLent(rows: readonly LentOffer[]): MarketOffer[] {
  const offers: MarketOffer[] = []
  for (const row of rows) if (isId('ofr', row.id)) offers.push(lentOffer(row, row.id))
  return offers.sort(byRank)
}

/**
 * The addresses of a lent offer, and the header of its key, are in the record. All accounts at a provider are trusted
 * as the provider is.
 */
function lentOffer(row: LentOffer, id: OfferId): MarketOffer {
  const { resource, sellerAccount, sellerAlias, keptBps, capDailyMicro, credential, createdAt } = row
  const common = { sellerAccount, sellerAlias, keptBps, capDailyMicro, credential, createdAt }
  const asProvider = { provider: resource, isTrusted: true, baseUrl: '', apiFormat: DEFAULT_PROTOCOL, ttftMs: null }
  return {
    ...common,
    ...asProvider,
    id,
    servedBy: 'marketplace',
    model: resource,
    providerModel: '',
    lent: termsOf(row),
  }
}

function termsOf({ traits, scope, ratePerMinute, buyerSharePct, capDailyMicro }: LentOffer): LentTerms {
  const isShared = buyerSharePct !== null && capDailyMicro !== null
  return {
    traits: new Set(traits.map(({ name }) => name)),
    goods: scope.models && new Set(scope.models),
    methods: scope.methods && new Set<string>(scope.methods),
    paths: scope.paths?.flatMap((text) => parsePathPattern(text) ?? []) ?? null,
    ratePerMinute,
    buyerCapMicro: isShared ? percentOf(capDailyMicro, buyerSharePct) : null,
  }
}
