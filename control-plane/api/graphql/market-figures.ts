import { invoke } from '#control-plane/operation/invoke.ts'
import type { DemandByDiscount } from '#control-plane/services/market/demand.ts'
import { DemandSchema, DemandStepViewSchema, marketDemand } from '#control-plane/services/market/demand.ts'
import type {
  MarketTotals,
  PriceHistory,
  SeriesPoint,
  TradeView,
} from '#control-plane/services/market/market-series.ts'
import {
  MarketTotalsSchema,
  marketPriceHistory,
  marketSeries,
  marketTotals,
  marketTrades,
  PaidPointSchema,
  PriceHistorySchema,
  ReferenceVersionSchema,
  SeriesPointSchema,
  TradeViewSchema,
} from '#control-plane/services/market/market-series.ts'
import { builder } from './builder.ts'
import { given } from './given.ts'
import { membersOf } from './members.ts'

const Bucket = builder.enumType('SeriesBucket', { values: ['hour', 'day'] as const })
const Group = builder.enumType('SeriesGroup', { values: ['model', 'provider'] as const })

const Point = builder.objectRef<SeriesPoint>('SeriesPoint').implement({
  description: 'The figures of one bucket, which begins at `bucket` (Unix milliseconds). Null means not enough data.',
  fields: (t) => ({
    ...membersOf(t, SeriesPointSchema),
    volumeMicro: t.string({ resolve: ({ volumeMicro }) => volumeMicro.toString() }),
    listMicro: t.string({ resolve: ({ listMicro }) => listMicro.toString() }),
  }),
})

const Totals = builder.objectRef<MarketTotals>('MarketTotals').implement({
  description: 'Sums of the whole market since an instant. Amounts are micro-USD as plain digits.',
  fields: (t) => ({
    ...membersOf(t, MarketTotalsSchema),
    volumeMicro: t.string({ resolve: ({ volumeMicro }) => volumeMicro.toString() }),
    listMicro: t.string({ resolve: ({ listMicro }) => listMicro.toString() }),
    savedMicro: t.string({ resolve: ({ savedMicro }) => savedMicro.toString() }),
  }),
})

type Reference = PriceHistory['references'][number]
export const UnitPrice = builder.objectRef<{ readonly unit: string; readonly pico: string }>('UnitPrice').implement({
  description: 'The price of one unit of a class of usage in pico-USD, as plain digits.',
  fields: (t) => ({ unit: t.exposeString('unit'), pico: t.exposeString('pico') }),
})
const ReferencePrice = builder.objectRef<Reference>('ReferencePrice').implement({
  description: 'A version of the reference prices, with since when it counts and who said so.',
  fields: (t) => ({
    ...membersOf(t, ReferenceVersionSchema),
    unitPrices: t.field({
      type: [UnitPrice],
      complexity: { field: 1 },
      resolve: ({ unitPrices }) => Object.entries(unitPrices).map(([unit, pico]) => ({ unit, pico })),
    }),
  }),
})

type Paid = NonNullable<PriceHistory['paid']>[number]
const PaidPoint = builder.objectRef<Paid>('PaidPoint').implement({
  fields: (t) => ({
    ...membersOf(t, PaidPointSchema),
    volumeMicro: t.string({ resolve: ({ volumeMicro }) => volumeMicro.toString() }),
  }),
})

/** The cost of a series of points. It does not depend on the length, because a series is one read of stored rows. */
const SERIES_COST = { field: 1, multiplier: 20 }

const History = builder.objectRef<PriceHistory>('PriceHistory').implement({
  description:
    'The prices of a model over time: its reference, and what buyers paid of it. `paid` is null while calls of that time are not summed yet.',
  fields: (t) => ({
    ...membersOf(t, PriceHistorySchema),
    references: t.field({ type: [ReferencePrice], complexity: SERIES_COST, resolve: (all) => all.references }),
    paid: t.field({ type: [PaidPoint], nullable: true, complexity: SERIES_COST, resolve: (all) => all.paid }),
  }),
})

const DemandStepType = builder.objectRef<DemandByDiscount['steps'][number]>('DemandStep').implement({
  description: 'Charged calls that were served at a whole percentage below the reference price, rounded down.',
  fields: (t) => ({
    ...membersOf(t, DemandStepViewSchema, { ints: ['discountPct', 'calls'] }),
    listMicro: t.string({ resolve: ({ listMicro }) => listMicro.toString() }),
    paidMicro: t.string({ resolve: ({ paidMicro }) => paidMicro.toString() }),
  }),
})

const DemandType = builder.objectRef<DemandByDiscount>('Demand').implement({
  description:
    'At which discounts the calls of a model were served: what an offer would come first for at a larger one.',
  fields: (t) => ({
    ...membersOf(t, DemandSchema),
    steps: t.field({ type: [DemandStepType], complexity: SERIES_COST, resolve: ({ steps }) => steps }),
  }),
})

export const TradeType = builder.objectRef<TradeView>('Trade').implement({
  description: 'A charged call, without anybody’s name.',
  fields: (t) => ({
    ...membersOf(t, TradeViewSchema),
    costMicro: t.string({ resolve: ({ chargeMicro }) => chargeMicro.toString() }),
  }),
})

const DEFAULT_TRADES = 50

builder.queryFields((t) => ({
  marketTotals: t.field({
    type: Totals,
    nullable: true,
    description: 'By default of the last 30 days, at most of 41. Null while calls of that time are not summed yet.',
    args: { from: t.arg.float() },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, marketTotals, given(args), options),
  }),
  marketSeries: t.field({
    type: [Point],
    nullable: true,
    description:
      'Figures of the market by time, oldest first; a bucket without a call has no point. Null while calls of that time are not summed yet.',
    complexity: SERIES_COST,
    args: {
      from: t.arg.float(),
      to: t.arg.float(),
      bucket: t.arg({ type: Bucket }),
      groupBy: t.arg({ type: [Group] }),
      models: t.arg.stringList(),
      providers: t.arg.stringList(),
      withBands: t.arg.boolean(),
    },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, marketSeries, given(args), options),
  }),
  priceHistory: t.field({
    type: History,
    args: {
      model: t.arg.string({ required: true }),
      from: t.arg.float(),
      to: t.arg.float(),
      bucket: t.arg({ type: Bucket }),
    },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, marketPriceHistory, given(args), options),
  }),
  demand: t.field({
    type: DemandType,
    description: 'Of the last day, by step of discount, the smallest first.',
    args: { model: t.arg.string({ required: true }) },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, marketDemand, args, options),
  }),
  trades: t.field({
    type: [TradeType],
    description: 'The latest trades, newest first.',
    complexity: ({ limit }) => ({ field: 1, multiplier: Math.max(limit ?? DEFAULT_TRADES, 1) }),
    args: { limit: t.arg.int(), model: t.arg.string() },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, marketTrades, given(args), options),
  }),
}))
