import type { Metered } from '#data-plane/call.ts'
import type { PicoUsd } from '#shared/money.ts'
import { PICO_PER_MICRO } from '#shared/money.ts'
import type { ReferencePrice } from '#shared/price-list.ts'
import { isNothing } from '#shared/usage.ts'
import { billUsage } from './bill-usage.ts'

/**
 * Compares the list cost with the provider's own cost of the call. The charge follows the list. A difference above 1%
 * is noted, and the seller is not at fault for it.
 */
export function differsFromOwnCost(price: ReferencePrice, metered: Metered, ownCost: PicoUsd): boolean {
  if (isNothing(metered.usage)) return false
  const { whole } = billUsage(price, metered)
  const apart = whole > ownCost ? whole - ownCost : ownCost - whole
  // Some providers round to a micro-USD.
  return apart > PICO_PER_MICRO && apart * 100n > ownCost
}
