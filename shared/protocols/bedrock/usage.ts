import type { JsonObject } from '#shared/json-members.ts'
import { isRecord } from '#shared/json-members.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import { keepCounts, keepServedTier, takeCounts } from '#shared/protocols/answers/reported-usage.ts'
import { CONVERSE_TREE } from '#shared/protocols/answers/usage-dialects.ts'

/**
 * Adds the figures of an answer or of its last event. The provider's count of input excludes tokens that were read
 * from or written to a cache, so the input here is the sum of the three. Tokens written to a cache are counted by the
 * cache's lifetime.
 */
export function mergeConverseUsage(into: ReportedUsage, { usage, serviceTier }: JsonObject): void {
  if (isRecord(serviceTier)) keepServedTier(into, serviceTier['type'])
  if (!isRecord(usage)) return
  const details = Array.isArray(usage['cacheDetails']) ? usage['cacheDetails'].filter(isRecord) : []
  const tokensWritten = (ttl: string) => details.find((detail) => detail['ttl'] === ttl)?.['inputTokens']
  const writes = { short: tokensWritten('5m'), long: tokensWritten('1h') }
  const { inputTokens, ...counts } = takeCounts(into, Object.assign({ writes }, usage), CONVERSE_TREE)
  keepCounts(into, counts)
  if (inputTokens === undefined) return
  into.inputTokens = inputTokens + (counts.cachedTokens ?? 0) + (counts.cacheWriteTokens ?? 0)
}
