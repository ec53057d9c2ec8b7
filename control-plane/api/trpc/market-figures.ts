import { bookOfferFields, marketFields } from '#control-plane/api/market-fields.ts'
import { invoke } from '#control-plane/operation.ts'
import { marketDemand } from '#control-plane/services/market/demand.ts'
import { marketIncidents } from '#control-plane/services/market/incidents.ts'
import { listMarketRowsPage, readMarketOfModel, readOrderBook } from '#control-plane/services/market/market-book.ts'
import { marketPriceHistory, marketSeries, marketTrades } from '#control-plane/services/market/market-series.ts'
import { listRails } from '#control-plane/services/market/rails.ts'
import { listDeclaredIncidents } from '#control-plane/services/operators/declared-incidents.ts'
import { inputOf, procedure, router } from './procedure.ts'

/** The market as it stands and over time, for everybody. Sums of money are decimal strings of micro-USD. */
export const market = router({
  list: procedure.input(inputOf(listMarketRowsPage)).query(async ({ ctx, input }) => {
    const page = await invoke(ctx.ctx, await ctx.actor(), listMarketRowsPage, input, ctx.options())
    return { items: page.items.map(marketFields), nextToken: page.nextToken }
  }),
  get: procedure
    .input(inputOf(readMarketOfModel))
    .query(async ({ ctx, input }) =>
      marketFields(await invoke(ctx.ctx, await ctx.actor(), readMarketOfModel, input, ctx.options())),
    ),
  book: procedure.input(inputOf(readOrderBook)).query(async ({ ctx, input }) => {
    const page = await invoke(ctx.ctx, await ctx.actor(), readOrderBook, input, ctx.options())
    return { model: page.model.id, items: page.items.map(bookOfferFields), nextToken: page.nextToken }
  }),
  incidents: procedure.input(inputOf(marketIncidents)).query(async ({ ctx, input }) => {
    const page = await invoke(ctx.ctx, await ctx.actor(), marketIncidents, input ?? {}, ctx.options())
    return { items: page.items, nextToken: page.nextToken }
  }),
  declaredIncidents: procedure.input(inputOf(listDeclaredIncidents)).query(async ({ ctx, input }) => {
    const page = await invoke(ctx.ctx, await ctx.actor(), listDeclaredIncidents, input ?? {}, ctx.options())
    return { items: page.items, nextToken: page.nextToken }
  }),
  rails: procedure.query(async ({ ctx }) => invoke(ctx.ctx, await ctx.actor(), listRails, {}, ctx.options())),
  series: procedure
    .input(inputOf(marketSeries))
    .query(async ({ ctx, input }) =>
      (await invoke(ctx.ctx, await ctx.actor(), marketSeries, input ?? {}, ctx.options())).map(withText),
    ),
  prices: procedure.input(inputOf(marketPriceHistory)).query(async ({ ctx, input }) => {
    const history = await invoke(ctx.ctx, await ctx.actor(), marketPriceHistory, input, ctx.options())
    return { ...history, paid: history.paid.map(withText) }
  }),
  demand: procedure.input(inputOf(marketDemand)).query(async ({ ctx, input }) => {
    const demand = await invoke(ctx.ctx, await ctx.actor(), marketDemand, input, ctx.options())
    const steps = demand.steps.map(({ listMicro, paidMicro, ...step }) => ({
      ...step,
      listMicro: listMicro.toString(),
      paidMicro: paidMicro.toString(),
    }))
    return { ...demand, steps }
  }),
  trades: procedure
    .input(inputOf(marketTrades))
    .query(async ({ ctx, input }) =>
      (await invoke(ctx.ctx, await ctx.actor(), marketTrades, input ?? {}, ctx.options())).map(
        ({ chargeMicro, ...trade }) => ({ ...trade, chargeMicro: chargeMicro.toString() }),
      ),
    ),
})

/** JSON has no bigint. */
function withText<Point extends { readonly volumeMicro: bigint }>(
  point: Point,
): Omit<Point, 'volumeMicro'> & { volumeMicro: string } {
  return { ...point, volumeMicro: point.volumeMicro.toString() }
}
