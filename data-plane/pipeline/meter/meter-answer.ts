import type { Ending, Metered } from '#data-plane/call.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import { unpricedClasses } from '#shared/pricing.ts'
import type { Usage } from '#shared/usage.ts'

/** The usage of an answer, and whether its provider reported it. */
type Count = { readonly usage: Usage; readonly isReported: boolean }

/** Meters an answer: no usage without content, otherwise the result of `count`. */
export function meterAnswer(
  prices: UnitPrices,
  { reported, finishReason, contentBytes }: Ending,
  count: (anomalies: string[]) => Count,
): Metered {
  const anomalies: string[] = []
  if (reported.insaneFields > 0) anomalies.push('usage_insane')
  if (contentBytes === 0) return { usage: {}, source: 'reported', finishReason, anomalies }
  const { usage, isReported } = count(anomalies)
  for (const name of unpricedClasses(prices, usage)) anomalies.push(`unpriced_${name}`)
  return { usage, source: isReported ? 'reported' : 'estimated', finishReason, anomalies }
}
