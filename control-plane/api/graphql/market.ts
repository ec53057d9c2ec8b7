import type { BookOfferFields, MarketFields, PriceFields } from '#control-plane/api/market-fields.ts'
import { bookOfferFields, marketFields } from '#control-plane/api/market-fields.ts'
import { listMarketRowsPage, readMarketOfModel, readOrderBook } from '#control-plane/services/market/market-book.ts'
import { MARKET_SORTS } from '#control-plane/services/market/market-order.ts'
import type { ShownUnitPrice } from '#shared/price-units.ts'
import { builder } from './builder.ts'
import { fieldOf, pageOf } from './operation-fields.ts'

const Sort = builder.enumType('MarketSort', {
  description: 'An order of models by the figures of the market: the best first, those without the figure last.',
  values: MARKET_SORTS,
})

export const ShownUnitPriceType = builder.objectRef<ShownUnitPrice>('ShownUnitPrice').implement({
  description:
    'The price of a unit in US dollars: an image, a megapixel, a character, a second, a minute, a request, or a million tokens of pictures or sound.',
  fields: (t) => ({ unit: t.exposeString('unit'), usd: t.exposeFloat('usd') }),
})

const Prices = builder.objectRef<PriceFields>('ModelPrices').implement({
  description:
    'Whole micro-USD per million tokens and per media unit, null where there is none, and every price beside those of plain tokens.',
  fields: (t) => ({
    inputPer1m: t.exposeFloat('inputPer1m', { nullable: true }),
    outputPer1m: t.exposeFloat('outputPer1m', { nullable: true }),
    cacheReadPer1m: t.exposeFloat('cacheReadPer1m', { nullable: true }),
    cacheWritePer1m: t.exposeFloat('cacheWritePer1m', { nullable: true }),
    mediaUnitPrice: t.exposeFloat('mediaUnitPrice', { nullable: true }),
    unitPrices: t.field({
      type: [ShownUnitPriceType],
      complexity: { field: 1 },
      resolve: ({ unitPrices }) => unitPrices,
    }),
  }),
})

const ProviderFigures = builder.objectRef<MarketFields['providers'][number]>('MarketProvider').implement({
  description: 'A provider of a model: its best prices now, and its speed over the last day. Null means too few calls.',
  fields: (t) => ({
    provider: t.exposeString('provider'),
    trusted: t.exposeBoolean('trusted'),
    healthySellerCount: t.exposeInt('healthySellerCount'),
    best: t.expose('best', { type: Prices }),
    ttftP50Ms: t.exposeFloat('ttftP50Ms', { nullable: true }),
    ttftSamples: t.exposeFloat('ttftSamples'),
    tpsP50: t.exposeFloat('tpsP50', { nullable: true }),
    tpsSamples: t.exposeFloat('tpsSamples'),
    uptimePct: t.exposeFloat('uptimePct', { nullable: true }),
  }),
})

type Trend = NonNullable<MarketFields['discountTrend']>
const TrendBucket = builder.objectRef<Trend['buckets'][number]>('DiscountBucket').implement({
  fields: (t) => ({
    bucket: t.exposeFloat('bucket'),
    discountPct: t.exposeFloat('discountPct', { nullable: true }),
  }),
})
const DiscountTrend = builder.objectRef<Trend>('DiscountTrend').implement({
  description: 'The average discount that buyers got over the last day, and its change against the day before.',
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

const Untrusted = builder.objectRef<MarketFields['untrusted']>('UntrustedOffers').implement({
  description: 'Available offers of providers that are not trusted. A call uses them only with `allow_untrusted`.',
  fields: (t) => ({
    best: t.expose('best', { type: Prices }),
    bestDiscountPct: t.exposeFloat('bestDiscountPct', { nullable: true }),
    healthySellerCount: t.exposeInt('healthySellerCount'),
  }),
})

const Market = builder.objectRef<MarketFields>('Market').implement({
  description:
    'A model on the market. `best` and the fields beside it count only offers that default routing would use now. Figures are of the last 24 hours; null means not enough data, never zero.',
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    lab: t.exposeString('lab'),
    description: t.exposeString('description'),
    createdAt: t.exposeFloat('createdAt'),
    aliases: t.exposeStringList('aliases'),
    contextLength: t.exposeInt('contextLength'),
    maxCompletionTokens: t.exposeInt('maxCompletionTokens'),
    inputModalities: t.exposeStringList('inputModalities'),
    outputModalities: t.exposeStringList('outputModalities'),
    features: t.exposeStringList('features'),
    parameters: t.exposeStringList('parameters'),
    endpoints: t.exposeStringList('endpoints'),
    mediaUnit: t.exposeString('mediaUnit', { nullable: true }),
    offerCount: t.exposeInt('offerCount'),
    best: t.expose('best', { type: Prices }),
    direct: t.expose('direct', { type: Prices }),
    bestDiscountPct: t.exposeFloat('bestDiscountPct', { nullable: true }),
    bestMediaUnitPrice: t.exposeFloat('bestMediaUnitPrice', { nullable: true }),
    healthySellerCount: t.exposeInt('healthySellerCount'),
    totalCapMicro: t.exposeFloat('totalCapMicro', { nullable: true }),
    untrusted: t.expose('untrusted', { type: Untrusted }),
    requests24h: t.exposeFloat('requests24h', { nullable: true }),
    volume24hMicro: t.exposeString('volume24hMicro', { nullable: true }),
    ttftP50Ms: t.exposeFloat('ttftP50Ms', { nullable: true }),
    ttftSamples: t.exposeFloat('ttftSamples'),
    tpsP50: t.exposeFloat('tpsP50', { nullable: true }),
    tpsSamples: t.exposeFloat('tpsSamples'),
    uptimePct: t.exposeFloat('uptimePct', { nullable: true }),
    cacheHitRatePct: t.exposeFloat('cacheHitRatePct', { nullable: true }),
    discountTrend: t.expose('discountTrend', { type: DiscountTrend, nullable: true }),
    providers: t.field({
      type: [ProviderFigures],
      complexity: { field: 1, multiplier: 5 },
      resolve: ({ providers }) => providers,
    }),
  }),
})

export const BookOffer = builder.objectRef<BookOfferFields>('BookOffer').implement({
  description:
    'An offer in the public order book. Amounts are micro-USD. No field identifies the seller. Sales of the last 24 hours are null while they are not summed yet.',
  fields: (t) => ({
    id: t.exposeID('id'),
    rank: t.exposeInt('rank'),
    seller: t.exposeString('seller'),
    sellerBaseUrl: t.exposeString('sellerBaseUrl'),
    provider: t.exposeString('provider'),
    trusted: t.exposeBoolean('trusted'),
    effective: t.expose('effective', { type: Prices }),
    direct: t.expose('direct', { type: Prices }),
    discountPct: t.exposeFloat('discountPct'),
    costMultiplier: t.exposeFloat('costMultiplier'),
    capDailyMicro: t.exposeFloat('capDailyMicro', { nullable: true }),
    capRemainingMicro: t.exposeFloat('capRemainingMicro', { nullable: true }),
    available: t.exposeBoolean('available'),
    healthy: t.exposeBoolean('healthy'),
    trades24h: t.exposeFloat('trades24h', { nullable: true }),
    volume24hMicro: t.exposeString('volume24hMicro', { nullable: true }),
    mediaUnit: t.exposeString('mediaUnit', { nullable: true }),
    mediaUnitPrice: t.exposeFloat('mediaUnitPrice', { nullable: true }),
    directMediaUnitPrice: t.exposeFloat('directMediaUnitPrice', { nullable: true }),
  }),
})

builder.queryFields((t) => ({
  markets: t.connection(
    {
      type: Market,
      ...pageOf(
        listMarketRowsPage,
        { ints: ['minContext', 'minSellers'], types: { sort: Sort } },
        (page) => page,
        marketFields,
      ),
    },
    {
      fields: (c) => ({
        totalCount: c.int({ nullable: true, resolve: ({ totalCount }) => totalCount }),
      }),
    },
  ),
  market: t.field({ type: Market, ...fieldOf(readMarketOfModel, { ids: ['model'] }, marketFields) }),
  orderBook: t.connection({
    type: BookOffer,
    ...pageOf(readOrderBook, { ids: ['model'] }, (page) => page, bookOfferFields),
  }),
}))
