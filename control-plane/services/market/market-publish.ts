import { listTradedModels } from '#control-plane/db/market-figures.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { dayBefore } from './market-rows.ts'

/** Publishes the present rows of the market and trades of its offers. Never throws. */
export function publishFigures(ctx: Pick<Ctx, 'publication'>): Promise<void> {
  return ctx.publication.publishSoon(['markets', 'trades', 'sold'])
}

/** Publishes the offers of models with sales over the last day, whose order by speed may have changed. */
export async function publishSpeeds(ctx: Pick<Ctx, 'db' | 'clock' | 'publication'>): Promise<void> {
  await ctx.publication.publishOffers(await listTradedModels(ctx.db, dayBefore(ctx.clock.now())))
}
