import { listTradedModels } from '#control-plane/db/market-figures.ts'
import type { PublishCtx } from '#control-plane/services/snapshot.ts'
import { publishOffers, publishSoon } from '#control-plane/services/snapshot.ts'
import { dayBefore } from './market-rows.ts'

/** Publishes the rows of the market and the trades of its offers as they are now. Never throws. */
export function publishFigures(ctx: PublishCtx): Promise<void> {
  return publishSoon(ctx, ['markets', 'trades'])
}

/** Publishes the offers of models that sold something over the last day, where the order by speed has changed. */
export async function publishSpeeds(ctx: PublishCtx): Promise<void> {
  await publishOffers(ctx, await listTradedModels(ctx.db, dayBefore(ctx.clock.now())))
}
