import { isRecord } from '#shared/json-members.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import { takeCount } from '#shared/protocols/answers/reported-usage.ts'

/** The classes of input in this protocol, which do not overlap. Each is the last believable figure. */
export type InputClasses = { fresh: number; cacheRead: number; cacheWrite: number }

/**
 * Adds the figures of a `usage` object. Its input excludes what was read from or written to a cache, so the sum is the
 * provider's input. `isFinal` is false for the figures at a stream's start, whose output is no count yet.
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
