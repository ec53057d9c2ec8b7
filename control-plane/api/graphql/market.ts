import { invoke } from '#control-plane/operation.ts'
import type { MarketView } from '#control-plane/services/market/market-book.ts'
import { listMarketRowsPage, readMarketOfModel, readOrderBook } from '#control-plane/services/market/market-book.ts'
import type { MarketRow } from '#shared/contract/snapshot.ts'
import type { BookEntry, MarketSummary, TokenPrices } from '#shared/market-view.ts'
import { costMultiplier } from '#shared/market-view.ts'
import { builder } from './builder.ts'
import { given } from './given.ts'
import { costOfPage, readPage, toConnection, toEdges } from './page.ts'

/** Bigints of these sizes are exact as JSON numbers. */
const shown = (value: bigint | null) => (value === null ? null : Number(value))

const Prices = builder.objectRef<TokenPrices>('TokenPrices').implement({
  description: 'Whole micro-USD per million tokens; null where there is none.',
  fields: (t) => ({
    inputPer1m: t.float({ nullable: true, resolve: ({ input }) => shown(input) }),
    outputPer1m: t.float({ nullable: true, resolve: ({ output }) => shown(output) }),
    cacheReadPer1m: t.float({ nullable: true, resolve: ({ cacheRead }) => shown(cacheRead) }),
    cacheWritePer1m: t.float({ nullable: true, resolve: ({ cacheWrite }) => shown(cacheWrite) }),
  }),
})

type ProviderOfMarket = MarketSummary['providers'][number] & {
  readonly figures: MarketRow['providers'][number] | undefined
}
const ProviderFigures = builder.objectRef<ProviderOfMarket>('MarketProvider').implement({
  description: 'A provider of a model: its best prices now, and its speed over the last day. Null: too few calls.',
  fields: (t) => ({
    provider: t.exposeString('provider'),
    trusted: t.exposeBoolean('isTrusted'),
    healthySellerCount: t.exposeInt('healthySellerCount'),
    best: t.expose('best', { type: Prices }),
    ttftP50Ms: t.float({ nullable: true, resolve: ({ figures }) => figures?.ttftP50Ms ?? null }),
    ttftSamples: t.float({ resolve: ({ figures }) => figures?.ttftSamples ?? 0 }),
    tpsP50: t.float({ nullable: true, resolve: ({ figures }) => figures?.tpsP50 ?? null }),
    tpsSamples: t.float({ resolve: ({ figures }) => figures?.tpsSamples ?? 0 }),
    uptimePct: t.float({ nullable: true, resolve: ({ figures }) => figures?.uptimePct ?? null }),
  }),
})

type Trend = NonNullable<MarketRow['discountTrend']>
const TrendBucket = builder.objectRef<Trend['buckets'][number]>('DiscountBucket').implement({
  fields: (t) => ({
    bucket: t.exposeFloat('bucket'),
    discountPct: t.exposeFloat('discountPct', { nullable: true }),
  }),
})
const DiscountTrend = builder.objectRef<Trend>('DiscountTrend').implement({
  description: 'What was paid below the reference price over the last day, against the day before.',
  fields: (t) => ({
    direction: t.exposeString('direction'),
    currentDiscountPct: t.exposeFloat('currentDiscountPct'),
    previousDiscountPct: t.exposeFloat('previousDiscountPct'),
    buckets: t.field({
      type: [TrendBucket],
      complexity: { field: 1, multiplier: 24 },
      resolve: ({ buckets }) => buckets,
    }),
  }),
})

const Market = builder.objectRef<MarketView>('Market').implement({
  description: 'A model on the market. Figures are of the last 24 hours; null means not enough data, never zero.',
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.string({ resolve: ({ model }) => model.name }),
    lab: t.string({ resolve: ({ model }) => model.lab }),
    description: t.string({ resolve: ({ model }) => model.description }),
    createdAt: t.float({ resolve: ({ model }) => model.created * 1_000 }),
    aliases: t.stringList({ resolve: ({ model }) => model.aliases }),
    contextLength: t.int({ resolve: ({ model }) => model.contextLength }),
    maxCompletionTokens: t.int({ resolve: ({ model }) => model.maxCompletionTokens }),
    inputModalities: t.stringList({ resolve: ({ model }) => model.inputModalities }),
    outputModalities: t.stringList({ resolve: ({ model }) => model.outputModalities }),
    features: t.stringList({ resolve: ({ model }) => model.features }),
    parameters: t.stringList({ resolve: ({ model }) => model.parameters }),
    endpoints: t.stringList({ resolve: ({ model }) => model.endpoints }),
    mediaUnit: t.string({ nullable: true, resolve: ({ model }) => model.mediaUnit }),
    offerCount: t.exposeInt('offerCount'),
    best: t.field({ type: Prices, resolve: ({ summary }) => summary.best }),
    direct: t.field({ type: Prices, resolve: ({ summary }) => summary.direct }),
    bestDiscountPct: t.float({ nullable: true, resolve: ({ summary }) => summary.bestDiscountPct }),
    bestMediaUnitPrice: t.float({ nullable: true, resolve: ({ summary }) => shown(summary.bestMediaUnitPrice) }),
    healthySellerCount: t.int({ resolve: ({ summary }) => summary.healthySellerCount }),
    totalCapMicro: t.float({ nullable: true, resolve: ({ summary }) => shown(summary.totalCap) }),
    requests24h: t.float({ resolve: ({ figures }) => figures.requests24h }),
    volume24hMicro: t.string({ resolve: ({ figures }) => figures.volume24hMicro.toString() }),
    ttftP50Ms: t.float({ nullable: true, resolve: ({ figures }) => figures.ttftP50Ms }),
    ttftSamples: t.float({ resolve: ({ figures }) => figures.ttftSamples }),
    tpsP50: t.float({ nullable: true, resolve: ({ figures }) => figures.tpsP50 }),
    tpsSamples: t.float({ resolve: ({ figures }) => figures.tpsSamples }),
    uptimePct: t.float({ nullable: true, resolve: ({ figures }) => figures.uptimePct }),
    cacheHitRatePct: t.float({ nullable: true, resolve: ({ figures }) => figures.cacheHitRatePct }),
    discountTrend: t.field({ type: DiscountTrend, nullable: true, resolve: ({ figures }) => figures.discountTrend }),
    providers: t.field({
      type: [ProviderFigures],
      complexity: { field: 1, multiplier: 5 },
      resolve: ({ summary, figures }) => {
        const speeds = new Map(figures.providers.map((provider) => [provider.provider, provider]))
        return summary.providers.map((provider) => ({ ...provider, figures: speeds.get(provider.provider) }))
      },
    }),
  }),
})

export const BookOffer = builder.objectRef<BookEntry>('BookOffer').implement({
  description: 'An offer in the public order book. Amounts are micro-USD; nothing tells who the seller is.',
  fields: (t) => ({
    id: t.id({ resolve: ({ offer }) => offer.id }),
    rank: t.exposeInt('rank'),
    seller: t.string({ resolve: ({ offer }) => offer.sellerAlias }),
    sellerBaseUrl: t.string({ resolve: ({ offer }) => offer.baseUrl }),
    provider: t.string({ resolve: ({ offer }) => offer.provider }),
    trusted: t.boolean({ resolve: ({ offer }) => offer.isTrusted }),
    effective: t.expose('effective', { type: Prices }),
    direct: t.expose('direct', { type: Prices }),
    discountPct: t.exposeFloat('discountPct'),
    costMultiplier: t.float({ resolve: ({ offer }) => costMultiplier(offer.keptBps) }),
    capDailyMicro: t.float({ nullable: true, resolve: ({ offer }) => shown(offer.capDailyMicro) }),
    capRemainingMicro: t.float({ nullable: true, resolve: ({ capRemaining }) => shown(capRemaining) }),
    available: t.exposeBoolean('isAvailable'),
    healthy: t.exposeBoolean('isHealthy'),
    trades24h: t.float({ resolve: ({ trades }) => trades.count }),
    volume24hMicro: t.string({ resolve: ({ trades }) => trades.volumeMicro.toString() }),
    mediaUnitPrice: t.float({ nullable: true, resolve: ({ mediaUnitPrice }) => shown(mediaUnitPrice) }),
    directMediaUnitPrice: t.float({ nullable: true, resolve: (entry) => shown(entry.directMediaUnitPrice) }),
  }),
})

builder.queryFields((t) => ({
  markets: t.connection({
    type: Market,
    args: {
      search: t.arg.string(),
      modality: t.arg.string(),
      feature: t.arg.string(),
      minContext: t.arg.int(),
    },
    complexity: costOfPage,
    resolve: async (_root, { search, modality, feature, minContext, ...args }, { ctx, actor, options }) => {
      const input = { ...given({ search, modality, feature, minContext }), ...readPage(args) }
      return toConnection(await invoke(ctx, actor, listMarketRowsPage, input, options), args)
    },
  }),
  market: t.field({
    type: Market,
    args: { model: t.arg.id({ required: true }) },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, readMarketOfModel, args, options),
  }),
  orderBook: t.connection({
    type: BookOffer,
    args: { model: t.arg.id({ required: true }) },
    complexity: costOfPage,
    resolve: async (_root, { model, ...args }, { ctx, actor, options }) =>
      toEdges(await invoke(ctx, actor, readOrderBook, { model, ...readPage(args) }, options), args),
  }),
}))
