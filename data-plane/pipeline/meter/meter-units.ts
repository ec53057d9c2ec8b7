import type { Ending, Metered, UnitBounds } from '#data-plane/call.ts'
import type { ReferencePrice } from '#shared/price-list.ts'
import { billedUsage } from '#shared/price-list.ts'
import type { Usage } from '#shared/usage.ts'
import { meterAnswer } from './meter-answer.ts'

/**
 * Meters an answer that is priced by characters or by time. It takes the provider's figure, at most the hold's bound.
 * Without a figure it estimates from the request. An answer without content used nothing, and any other costs the least
 * that the price list names.
 */
export function meterUnits(price: ReferencePrice, { most, least }: UnitBounds, ending: Ending): Metered {
  const { reported } = ending
  return meterAnswer(price.unitPrices, ending, (anomalies) => {
    const used: Usage =
      most.milliseconds === undefined
        ? least
        : {
            ...least,
            milliseconds: clippedTime(reported.milliseconds, most.milliseconds, least.milliseconds ?? 0, anomalies),
          }
    const usage = billedUsage(price, used)
    return { usage, isReported: most.milliseconds === undefined || reported.milliseconds !== undefined }
  })
}

function clippedTime(reportedMs: number | undefined, most: number, least: number, anomalies: string[]): number {
  if (reportedMs === undefined) anomalies.push('usage_missing')
  else if (reportedMs > most) anomalies.push('duration_clipped')
  return Math.min(reportedMs ?? least, most)
}
