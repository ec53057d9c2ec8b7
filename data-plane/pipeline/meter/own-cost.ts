import type { Metered } from '#data-plane/call.ts'
import type { PicoUsd } from '#shared/money.ts'
import { billOf, PICO_PER_MICRO } from '#shared/money.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import { billLines } from '#shared/pricing.ts'
import { isNothing } from '#shared/usage.ts'

/**
 * Compares the list cost with the provider's own account of the call. The charge follows the list. A difference above
 * one per cent is noted, and the seller is not at fault for it.
 */
export function differsFromOwnCost(
  prices: UnitPrices,
  { usage }: Pick<Metered, 'usage'>,
  ownCost: PicoUsd | undefined,
): boolean {
  if (ownCost === undefined || isNothing(usage)) return false
  const list = billOf(billLines(prices, usage))
  const apart = list > ownCost ? list - ownCost : ownCost - list
  // Some providers round to a micro-USD.
  return apart > PICO_PER_MICRO && apart * 100n > ownCost
}
