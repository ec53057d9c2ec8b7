import { DemandSchema, DemandStepViewSchema, marketDemand } from '#control-plane/services/market/demand.ts'
import {
  MarketTotalsSchema,
  marketPriceHistory,
  marketSeries,
  marketTotals,
  marketTrades,
  PaidPointSchema,
  PriceHistorySchema,
  ReferenceVersionSchema,
  SERIES_BUCKETS,
  SeriesPointSchema,
  TradeViewSchema,
} from '#control-plane/services/market/market-series.ts'
import { builder } from './builder.ts'
import { objectOf } from './objects.ts'
import { fieldOf } from './operation-fields.ts'

const Bucket = builder.enumType('SeriesBucket', { values: SERIES_BUCKETS })
const Group = builder.enumType('SeriesGroup', { values: ['model', 'provider'] as const })

const Point = objectOf('SeriesPoint', SeriesPointSchema, {
  description: 'The figures of one bucket, which begins at `bucket` (Unix milliseconds). Null means not enough data.',
})

const Totals = objectOf('MarketTotals', MarketTotalsSchema, {
  description: 'Sums of the whole market since an instant. Amounts are micro-USD as plain digits.',
})

export const UnitPrice = builder.objectRef<{ readonly unit: string; readonly pico: string }>('UnitPrice').implement({
  description: 'The price of one unit of a class of usage in pico-USD, as plain digits.',
  fields: (t) => ({ unit: t.exposeString('unit'), pico: t.exposeString('pico') }),
})

/** Prices by unit as a list. */
export function listUnitPrices(prices: Readonly<Record<string, string>>) {
  return Object.entries(prices).map(([unit, pico]) => ({ unit, pico }))
}

const ReferencePrice = objectOf('ReferencePrice', ReferenceVersionSchema, {
  description: 'A version of the list prices, with its first instant and its author.',
  fields: (t) => ({
    unitPrices: t.field({
      type: [UnitPrice],
      complexity: { field: 1 },
      resolve: ({ unitPrices }) => listUnitPrices(unitPrices),
    }),
  }),
})

const PaidPoint = objectOf('PaidPoint', PaidPointSchema)

/** The cost of a series of points. It does not depend on the length, because a series is one read of stored rows. */
const SERIES_COST = { field: 1, multiplier: 20 }

const History = objectOf('PriceHistory', PriceHistorySchema, {
  description:
    'The prices of a model over time: the reference, and the share of it that buyers paid. `paid` is null while calls of that time are not summed yet.',
  types: { references: ReferencePrice, paid: PaidPoint },
  costs: { references: SERIES_COST, paid: SERIES_COST },
})

const DemandStep = objectOf('DemandStep', DemandStepViewSchema, {
  description: 'Charged calls that were served at a whole percentage below the list price, rounded down.',
  ints: ['discountPct', 'calls'],
})

const Demand = objectOf('Demand', DemandSchema, {
  description:
    'The calls of a model by the discount at which they were served. An offer with a larger discount would have won them.',
  types: { steps: DemandStep },
  costs: { steps: SERIES_COST },
})

export const TradeType = objectOf('Trade', TradeViewSchema, {
  description: 'A charged call, without the names of buyer and seller.',
  without: ['chargeMicro'],
  fields: (t) => ({ costMicro: t.string({ resolve: ({ chargeMicro }) => chargeMicro.toString() }) }),
})

const DEFAULT_TRADES = 50

builder.queryFields((t) => ({
  marketTotals: t.field({
    type: Totals,
    nullable: true,
    ...fieldOf(marketTotals),
  }),
  marketSeries: t.field({
    type: [Point],
    nullable: true,
    complexity: SERIES_COST,
    ...fieldOf(marketSeries, { types: { bucket: Bucket, groupBy: Group } }),
  }),
  priceHistory: t.field({ type: History, ...fieldOf(marketPriceHistory, { types: { bucket: Bucket } }) }),
  demand: t.field({
    type: Demand,
    ...fieldOf(marketDemand),
  }),
  trades: t.field({
    type: [TradeType],
    complexity: ({ limit }: { readonly limit?: number | null }) => ({
      field: 1,
      multiplier: Math.max(limit ?? DEFAULT_TRADES, 1),
    }),
    ...fieldOf(marketTrades),
  }),
}))
