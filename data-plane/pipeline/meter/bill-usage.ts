import type { Metered } from '#data-plane/call.ts'
import { MAX_PRICE_CONDITIONS } from '#shared/contract/usage-event.ts'
import type { PicoUsd } from '#shared/money.ts'
import { billOf, picoUsd } from '#shared/money.ts'
import type { ReferencePrice } from '#shared/price-list.ts'
import { heldConditions, unitPricesFor } from '#shared/price-list.ts'
import { billLines, inputBill } from '#shared/pricing.ts'
import { inputTokens } from '#shared/usage.ts'

/** The bill of a call at the full reference price, before rounding. */
export type UsageBill = {
  readonly whole: PicoUsd
  /** The input part of the bill. */
  readonly input: PicoUsd
  /** The names of the price list's conditions that applied to any exchange. */
  readonly conditions: readonly string[]
}

/** Bills a metered call. Each exchange with the provider has a prompt of its own, so each has prices of its own. */
export function billUsage(price: ReferencePrice, { usage, each, serviceTier, facts: served }: Metered): UsageBill {
  let [whole, input] = [0n, 0n]
  const conditions: string[] = []
  for (const exchange of each ?? [usage]) {
    const facts = { ...served, promptTokens: inputTokens(exchange), serviceTier }
    const prices = unitPricesFor(price, facts)
    whole += billOf(billLines(prices, exchange))
    input += inputBill(prices, exchange)
    for (const name of heldConditions(price, facts)) if (!conditions.includes(name)) conditions.push(name)
  }
  return { whole: picoUsd(whole), input: picoUsd(input), conditions: conditions.slice(0, MAX_PRICE_CONDITIONS) }
}
