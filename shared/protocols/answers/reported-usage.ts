import { isRecord } from '#shared/json-members.ts'

/** The provider's own figures. Each is the last one that can be true, and is absent where there is none. */
export type ReportedUsage = {
  inputTokens?: number
  outputTokens?: number
  cachedTokens?: number
  cacheWriteTokens?: number
  reasoningTokens?: number
  audioInputTokens?: number
  audioOutputTokens?: number
  imageInputTokens?: number
  imageOutputTokens?: number
  /** Pictures that came, and their pixels together where the provider names sizes. */
  images?: number
  pixels?: number
  /** Partial pictures that a stream has shown. */
  partialImages?: number
  milliseconds?: number
  /** The number of members whose value no count can have. */
  insaneFields: number
}

/** The largest believable number of tokens of an answer. A larger figure is ignored. */
const MAX_SANE_TOKENS = 1_000_000_000

/** Reads a member as a count. Undefined, and counted as insane, when its value is no count. */
export function takeCount(into: ReportedUsage, source: unknown, field: string): number | undefined {
  if (!isRecord(source)) return undefined
  const value = source[field]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= MAX_SANE_TOKENS) return value
  into.insaneFields++
  return undefined
}

/** Adds the figures of an answer of pictures, in the members of OpenAI's image API or in those of a chat. */
export function mergeImageUsage(into: ReportedUsage, raw: unknown): void {
  if (!isRecord(raw)) return
  mergeUsage(into, raw)
  const take = (source: unknown, field: string) => takeCount(into, source, field)
  const input = take(raw, 'input_tokens')
  if (input !== undefined) into.inputTokens = input
  const output = take(raw, 'output_tokens')
  if (output !== undefined) into.outputTokens = output
  const imageIn = take(raw['input_tokens_details'], 'image_tokens')
  if (imageIn !== undefined) into.imageInputTokens = imageIn
  const imageOut = take(raw['output_tokens_details'], 'image_tokens')
  if (imageOut !== undefined) into.imageOutputTokens = imageOut
}

/** Adds the figures of an OpenAI-shaped `usage` object to `into`. Of each member the last believable value stays. */
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
  const imageIn = take(prompt, 'image_tokens')
  if (imageIn !== undefined) into.imageInputTokens = imageIn
  const imageOut = take(completion, 'image_tokens')
  if (imageOut !== undefined) into.imageOutputTokens = imageOut
}
