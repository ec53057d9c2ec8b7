import type { Receipt } from '#data-plane/call.ts'
import { costMembers } from '#data-plane/wires/usage-json.ts'
import { outputTokens } from '#shared/usage.ts'

/** The members of `usage` as JSON text without braces: input net of cache, and what the answer cost. */
export function messagesUsageMembers(receipt: Receipt): string {
  const { usage } = receipt
  return (
    `"input_tokens":${(usage.input ?? 0) + (usage.audioInput ?? 0)},` +
    `"cache_creation_input_tokens":${usage.cacheWrite ?? 0},"cache_read_input_tokens":${usage.cacheRead ?? 0},` +
    `"output_tokens":${outputTokens(usage)},${costMembers(receipt)}`
  )
}
