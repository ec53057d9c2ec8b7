import { z } from 'zod'
import type { PriceRow } from '#control-plane/db/catalog.ts'
import { readPriceLines } from '#control-plane/services/catalog/catalog-plan.ts'
import type { MicroUsd } from '#shared/money.ts'
import { microUsdToDollars, ZERO } from '#shared/money.ts'
import { priceAt, unitPricesFor } from '#shared/price-list.ts'
import { listCost, unpricedClasses } from '#shared/pricing.ts'
import type { Usage } from '#shared/usage.ts'
import { inputTokens, isNothing } from '#shared/usage.ts'

/** The cost of test calls to a provider, in US dollars. Null where the model, or a unit that was used, has no price. */
export const ProbeCost = z.number().nullable()

/** The price of a probe's usage. Null for an unknown price. */
export type PriceOfProbe = (usage: Usage) => MicroUsd | null

/**
 * The prices of probes of a model by its reference price at an instant (Unix milliseconds), rounded up once: about the
 * amount that the provider bills to the owner of the key. A probe without usage costs 0 for any model.
 */
export function priceOfProbes(row: PriceRow | undefined, at: number): PriceOfProbe {
  const price = row && priceAt({ version: row.version, ...readPriceLines(row) }, at)
  return (usage) => {
    if (isNothing(usage)) return ZERO
    if (price === undefined) return null
    const prices = unitPricesFor(price, { promptTokens: inputTokens(usage) })
    if (unpricedClasses(prices, usage).length > 0) return null
    return listCost(prices, { ...usage, calls: 1 })
  }
}

/** A cost in the form of the answers. */
export function shownCost(cost: MicroUsd | null): number | null {
  return cost === null ? null : microUsdToDollars(cost)
}
