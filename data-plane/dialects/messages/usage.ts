import type { Receipt, ReportedUsage } from '#data-plane/call.ts'
import { isRecord } from '#data-plane/dialects/json-members.ts'
import { dollars, takeCount } from '#data-plane/dialects/usage.ts'
import type { Usage } from '#shared/usage.ts'
import { outputTokens } from '#shared/usage.ts'

/** The classes of input as this protocol gives them, apart from one another; each the last sane one. */
export type InputClasses = { fresh: number; cacheRead: number; cacheWrite: number }

/**
 * Takes the figures of a `usage` object. Input comes without what was read from or written to a cache: the sum is the
 * provider's input. `isFinal` is false for the figures of a beginning, whose output is no count yet.
 */
export function mergeMessagesUsage(into: ReportedUsage, classes: InputClasses, raw: unknown, isFinal: boolean): void {
  if (!isRecord(raw)) return
  const fresh = takeCount(into, raw, 'input_tokens')
  const read = takeCount(into, raw, 'cache_read_input_tokens')
  const written = takeCount(into, raw, 'cache_creation_input_tokens')
  if (fresh !== undefined) classes.fresh = fresh
  if (read !== undefined) {
    classes.cacheRead = read
    into.cachedTokens = read
  }
  if (written !== undefined) {
    classes.cacheWrite = written
    into.cacheWriteTokens = written
  }
  if (fresh !== undefined || into.inputTokens !== undefined) {
    into.inputTokens = classes.fresh + classes.cacheRead + classes.cacheWrite
  }
  const output = takeCount(into, raw, 'output_tokens')
  if (isFinal && output !== undefined) into.outputTokens = output
}

/** The members of `usage` as JSON text without braces: input net of cache, and what the answer cost. */
export function messagesUsageMembers({ usage, chargeMicro, listMicro }: Receipt): string {
  return (
    `"input_tokens":${freshInput(usage)},"cache_creation_input_tokens":${usage.cacheWrite ?? 0},` +
    `"cache_read_input_tokens":${usage.cacheRead ?? 0},"output_tokens":${outputTokens(usage)},` +
    `"cost":${dollars(chargeMicro)},"buyer_cost_micro":${chargeMicro},` +
    `"cost_details":{"upstream_inference_cost":${dollars(listMicro)}}`
  )
}

function freshInput(usage: Usage): number {
  return (usage.input ?? 0) + (usage.audioInput ?? 0)
}
