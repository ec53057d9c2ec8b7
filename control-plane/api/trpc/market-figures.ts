import { bookOfferFields, marketFields } from '#control-plane/api/market-fields.ts'
import { listDeclaredIncidents } from '#control-plane/services/incidents/declared-incidents.ts'
import { marketIncidents } from '#control-plane/services/incidents/incidents.ts'
import { marketDemand } from '#control-plane/services/market/demand.ts'
import { listMarketRowsPage, readMarketOfModel, readOrderBook } from '#control-plane/services/market/market-book.ts'
import {
  marketPriceHistory,
  marketSeries,
  marketTotals,
  marketTrades,
} from '#control-plane/services/market/market-series.ts'
import { listRails } from '#control-plane/services/market/rails.ts'
import type { SignedPage } from '#control-plane/services/page.ts'
import { queryOf, router } from './procedure.ts'

/** The market now and over time, for all callers. Sums of money are decimal strings of micro-USD. */
export const market = router({
  list: queryOf(listMarketRowsPage, ({ items, nextToken, total }) => ({
    items: items.map(marketFields),
    nextToken,
    total,
  })),
  get: queryOf(readMarketOfModel, marketFields),
  book: queryOf(readOrderBook, ({ model, items, nextToken }) => ({
    model: model.id,
    items: items.map(bookOfferFields),
    nextToken,
  })),
  incidents: queryOf(marketIncidents, (page) => page && pageFields(page)),
  declaredIncidents: queryOf(listDeclaredIncidents, pageFields),
  rails: queryOf(listRails),
  series: queryOf(marketSeries, (points) =>
    points === null
      ? null
      : points.map(({ listMicro, ...point }) => ({ ...withText(point), listMicro: listMicro.toString() })),
  ),
  totals: queryOf(marketTotals, (figures) => {
    if (figures === null) return null
    const { volumeMicro, listMicro, savedMicro, ...totals } = figures
    const sums = { volumeMicro: volumeMicro.toString(), listMicro: listMicro.toString() }
    return { ...totals, ...sums, savedMicro: savedMicro.toString() }
  }),
  prices: queryOf(marketPriceHistory, ({ paid, ...history }) => ({
    ...history,
    paid: paid === null ? null : paid.map(withText),
  })),
  demand: queryOf(marketDemand, ({ steps, ...demand }) => ({
    ...demand,
    steps: steps.map(({ listMicro, paidMicro, ...step }) => ({
      ...step,
      listMicro: listMicro.toString(),
      paidMicro: paidMicro.toString(),
    })),
  })),
  trades: queryOf(marketTrades, (trades) =>
    trades.map(({ chargeMicro, ...trade }) => ({ ...trade, chargeMicro: chargeMicro.toString() })),
  ),
})

/** A page without its function that signs tokens. */
function pageFields<Item>({ items, nextToken }: SignedPage<Item>) {
  return { items, nextToken }
}

/** Writes the volume as text, because JSON has no bigint. */
function withText<Point extends { readonly volumeMicro: bigint }>(
  point: Point,
): Omit<Point, 'volumeMicro'> & { volumeMicro: string } {
  return { ...point, volumeMicro: point.volumeMicro.toString() }
}
