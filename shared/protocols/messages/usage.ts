import { isRecord } from '#shared/json-members.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import { keepCounts, keepOwnCost, keepServed, takeCounts } from '#shared/protocols/answers/reported-usage.ts'
import { MESSAGES_TREE } from '#shared/protocols/answers/usage-dialects.ts'

/** The tokens that were neither read from a cache nor written to one, as last reported. */
export type FreshInput = { fresh: number }

/**
 * Adds the figures of a `usage` object. The input of the object excludes tokens that were read from or written to a
 * cache, so the provider's input is the sum of all three. `isFinal` is false for the figures at a stream's start, whose
 * output is no count yet.
 */
export function mergeMessagesUsage(into: ReportedUsage, input: FreshInput, raw: unknown, isFinal: boolean): void {
  if (!isRecord(raw)) return
  const { inputTokens: fresh, outputTokens, ...counts } = takeCounts(into, raw, MESSAGES_TREE)
  if (fresh !== undefined) input.fresh = fresh
  keepCounts(into, counts)
  if (isFinal && outputTokens !== undefined) keepCounts(into, { outputTokens })
  keepServed(into, raw)
  // Gateways that speak the protocol report the cost of a call.
  keepOwnCost(into, raw)
  if (fresh === undefined && into.inputTokens === undefined) return
  into.inputTokens = input.fresh + (into.cachedTokens ?? 0) + (into.cacheWriteTokens ?? 0)
}
