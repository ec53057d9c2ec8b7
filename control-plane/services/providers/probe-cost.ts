import { z } from 'zod'
import { findModelByName, listPricesAt } from '#control-plane/db/catalog.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { readPriceLines } from '#control-plane/services/catalog/catalog-plan.ts'
import type { MicroUsd } from '#shared/money.ts'
import { microUsdToDollars, ZERO } from '#shared/money.ts'
import { priceAt, unitPricesFor } from '#shared/price-list.ts'
import { listCost, unpricedClasses } from '#shared/pricing.ts'
import type { Usage } from '#shared/usage.ts'
import { inputTokens, isNothing } from '#shared/usage.ts'

/** The cost of test calls to a provider, in US dollars. Null where the model, or a unit that was used, has no price. */
export const ProbeCost = z.number().nullable()

/** The price of a probe's usage. Null where nobody knows it. */
type PriceOfProbe = (usage: Usage) => MicroUsd | null

/**
 * The prices of probes of a model by its reference price of this instant, rounded up once: what the provider bills the
 * owner of the key, about. A probe that used nothing costs 0, whatever the model.
 */
export async function priceOfProbes(ctx: Pick<Ctx, 'db' | 'clock'>, name: string): Promise<PriceOfProbe> {
  const at = ctx.clock.now()
  const model = await findModelByName(ctx.db, name)
  const [row] = model === undefined ? [] : await listPricesAt(ctx.db, at, [model])
  const price = row && priceAt({ version: row.version, ...readPriceLines(row) }, at)
  return (usage) => {
    if (isNothing(usage)) return ZERO
    if (price === undefined) return null
    const prices = unitPricesFor(price, { promptTokens: inputTokens(usage) })
    if (unpricedClasses(prices, usage).length > 0) return null
    return listCost(prices, { ...usage, calls: 1 })
  }
}

/** The cost of one probe of a model. */
export async function probeCost(ctx: Pick<Ctx, 'db' | 'clock'>, name: string, usage: Usage): Promise<number | null> {
  return shownCost((await priceOfProbes(ctx, name))(usage))
}

/** A cost as it is shown. */
export function shownCost(cost: MicroUsd | null): number | null {
  return cost === null ? null : microUsdToDollars(cost)
}
