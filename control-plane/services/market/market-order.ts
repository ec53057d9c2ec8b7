import { z } from 'zod'
import type { MarketView } from './market-outputs.ts'

/** The orders of the list of markets. The best come first, and models without the figure last. */
export const MARKET_SORTS = [
  'discount',
  'price',
  'requests',
  'volume',
  'uptime',
  'ttft',
  'tps',
  'sellers',
  'newest',
] as const
type MarketSort = (typeof MARKET_SORTS)[number]

/** Filters on the live state of models, and their order; by id when none is given. */
export const MarketChoice = z.object({
  minDiscountPct: z.number().int().min(0).max(100).optional(),
  minSellers: z.number().int().positive().optional(),
  minUptimePct: z.number().min(0).max(100).optional(),
  sort: z.enum(MARKET_SORTS).optional(),
  /** The worst models first. Models without the figure are last in this order, too. */
  isReversed: z.boolean().optional(),
})
export type MarketChoice = z.output<typeof MarketChoice>

/** A model's value in each order: the higher the better, null without the figure. */
const WORTH: { readonly [Sort in MarketSort]: (market: MarketView) => number | null } = {
  discount: ({ summary }) => summary.bestDiscountPct,
  // A model that is not priced by tokens has no comparable price.
  price: ({ summary }) => (summary.best.input === null ? null : -Number(summary.best.input)),
  requests: ({ figures }) => figures.requests24h,
  volume: ({ figures }) => (figures.volume24hMicro === null ? null : Number(figures.volume24hMicro)),
  uptime: ({ figures }) => figures.uptimePct,
  ttft: ({ figures }) => (figures.ttftP50Ms === null ? null : -figures.ttftP50Ms),
  tps: ({ figures }) => figures.tpsP50,
  sellers: ({ summary }) => summary.healthySellerCount,
  newest: ({ model }) => model.created,
}

/** A model's place in an order. */
export type MarketPlace = { readonly worth: number | null; readonly id: string }

/** The place of a market in the chosen order, or by id without one. */
export function placeOfMarket(market: MarketView, choice: Pick<MarketChoice, 'sort' | 'isReversed'>): MarketPlace {
  const { sort, isReversed = false } = choice
  const worth = sort === undefined ? null : WORTH[sort](market)
  return { worth: worth !== null && isReversed ? -worth : worth, id: market.id }
}

function byPlace(left: MarketPlace, right: MarketPlace): number {
  const [one, other] = [left.worth ?? Number.NEGATIVE_INFINITY, right.worth ?? Number.NEGATIVE_INFINITY]
  if (one !== other) return one > other ? -1 : 1
  if (left.id === right.id) return 0
  return left.id < right.id ? -1 : 1
}

/** Filters and sorts markets. */
export function chooseMarkets(markets: readonly MarketView[], choice: MarketChoice): MarketView[] {
  const { minDiscountPct = 0, minSellers = 0, minUptimePct = 0 } = choice
  return markets
    .filter(
      ({ summary, figures }) =>
        (summary.bestDiscountPct ?? 0) >= minDiscountPct &&
        summary.healthySellerCount >= minSellers &&
        (figures.uptimePct ?? 0) >= minUptimePct,
    )
    .map((market) => ({ market, place: placeOfMarket(market, choice) }))
    .sort((left, right) => byPlace(left.place, right.place))
    .map(({ market }) => market)
}

/** The index at which the next page begins: the first of the sorted markets after a place. */
export function placeAfter(markets: readonly MarketView[], choice: MarketChoice, after: MarketPlace): number {
  const at = markets.findIndex((market) => byPlace(placeOfMarket(market, choice), after) > 0)
  return at === -1 ? markets.length : at
}
