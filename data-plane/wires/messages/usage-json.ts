import type { Receipt } from '#data-plane/call.ts'
import { costMembers } from '#data-plane/wires/usage-json.ts'
import type { Usage } from '#shared/usage.ts'
import { cacheReadTokens, cacheWriteTokens, inputTokens, outputTokens } from '#shared/usage.ts'

/** The members of `usage` as JSON text without braces: input without cached tokens, and the cost of the answer. */
export function messagesUsageMembers(receipt: Receipt): string {
  const { usage } = receipt
  const [read, writes] = [cacheReadTokens(usage), cacheWriteTokens(usage)]
  return (
    `"input_tokens":${inputTokens(usage) - read - writes},` +
    `"cache_creation_input_tokens":${writes},"cache_read_input_tokens":${read},` +
    `"cache_creation":{"ephemeral_5m_input_tokens":${usage.cacheWrite ?? 0},` +
    `"ephemeral_1h_input_tokens":${usage.cacheWriteLong ?? 0}},` +
    `"output_tokens":${outputTokens(usage)},${searchMember(usage)}${costMembers(receipt)}`
  )
}

/** The billed searches. Absent without any. */
function searchMember({ searches = 0 }: Usage): string {
  return searches === 0 ? '' : `"server_tool_use":{"web_search_requests":${searches}},`
}
