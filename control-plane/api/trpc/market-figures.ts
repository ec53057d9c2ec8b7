import { invoke } from '#control-plane/operation.ts'
import { marketPriceHistory, marketSeries, marketTrades } from '#control-plane/services/market/market-series.ts'
import { inputOf, procedure, router } from './procedure.ts'

/** Figures of the market over time, for everybody. Amounts are decimal strings of micro-USD. */
export const market = router({
  series: procedure
    .input(inputOf(marketSeries))
    .query(async ({ ctx, input }) =>
      (await invoke(ctx.ctx, await ctx.actor(), marketSeries, input ?? {}, ctx.options())).map(withText),
    ),
  prices: procedure.input(inputOf(marketPriceHistory)).query(async ({ ctx, input }) => {
    const history = await invoke(ctx.ctx, await ctx.actor(), marketPriceHistory, input, ctx.options())
    return { ...history, paid: history.paid.map(withText) }
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
