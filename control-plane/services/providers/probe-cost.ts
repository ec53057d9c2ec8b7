import { z } from 'zod'
import { findModelByName, listPricesAt } from '#control-plane/db/catalog.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { readPriceLines } from '#control-plane/services/catalog/catalog-plan.ts'
import { microUsdToDollars } from '#shared/money.ts'
import { priceAt, unitPricesFor } from '#shared/price-list.ts'
import { listCost, unpricedClasses } from '#shared/pricing.ts'
import type { Usage } from '#shared/usage.ts'
import { inputTokens, isNothing } from '#shared/usage.ts'

/** The cost of the test call to a provider, in US dollars. Null where the model, or a unit that was used, has no price. */
export const ProbeCost = z.number().nullable()

/**
 * The cost of a probe by the model's reference price of this instant, rounded up once: what the provider bills the owner
 * of the key, about. A probe that used nothing costs 0, whatever the model.
 */
export async function probeCost(ctx: Pick<Ctx, 'db' | 'clock'>, name: string, usage: Usage): Promise<number | null> {
  if (isNothing(usage)) return 0
  const at = ctx.clock.now()
  const model = await findModelByName(ctx.db, name)
  const [row] = model === undefined ? [] : await listPricesAt(ctx.db, at, [model])
  if (row === undefined) return null
  const price = priceAt({ version: row.version, ...readPriceLines(row) }, at)
  const prices = unitPricesFor(price, { promptTokens: inputTokens(usage) })
  if (unpricedClasses(prices, usage).length > 0) return null
  return microUsdToDollars(listCost(prices, { ...usage, calls: 1 }))
}
