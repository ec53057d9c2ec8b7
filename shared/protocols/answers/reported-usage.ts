import { isRecord } from '#shared/json-members.ts'

/** The provider's own figures, each the last sane one it sent; absent where it sent none. */
export type ReportedUsage = {
  inputTokens?: number
  outputTokens?: number
  cachedTokens?: number
  cacheWriteTokens?: number
  reasoningTokens?: number
  audioInputTokens?: number
  audioOutputTokens?: number
  milliseconds?: number
  /** Fields that held something no count can be. */
  insaneFields: number
}

/** The most tokens that an answer can count; a larger figure is taken for none. */
const MAX_SANE_TOKENS = 1_000_000_000

/** A field as a count; undefined, and noted, where it holds something that no count can be. */
export function takeCount(into: ReportedUsage, source: unknown, field: string): number | undefined {
  if (!isRecord(source)) return undefined
  const value = source[field]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= MAX_SANE_TOKENS) return value
  into.insaneFields++
  return undefined
}

/** Takes the figures of an OpenAI-shaped `usage` object into `into`: the last sane value of each field stays. */
export function mergeUsage(into: ReportedUsage, raw: unknown): void {
  if (!isRecord(raw)) return
  const take = (source: unknown, field: string) => takeCount(into, source, field)
  const input = take(raw, 'prompt_tokens')
  if (input !== undefined) into.inputTokens = input
  const output = take(raw, 'completion_tokens')
  if (output !== undefined) into.outputTokens = output
  const prompt = raw['prompt_tokens_details']
  const completion = raw['completion_tokens_details']
  const cached = take(prompt, 'cached_tokens') ?? take(raw, 'prompt_cache_hit_tokens')
  if (cached !== undefined) into.cachedTokens = cached
  const written = take(prompt, 'cache_write_tokens')
  if (written !== undefined) into.cacheWriteTokens = written
  const reasoning = take(completion, 'reasoning_tokens')
  if (reasoning !== undefined) into.reasoningTokens = reasoning
  const audioIn = take(prompt, 'audio_tokens')
  if (audioIn !== undefined) into.audioInputTokens = audioIn
  const audioOut = take(completion, 'audio_tokens')
  if (audioOut !== undefined) into.audioOutputTokens = audioOut
}
