import type { JsonObject } from '#shared/json-members.ts'
import { isRecord } from '#shared/json-members.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import { keepCounts, keepServedTier, takeCount } from '#shared/protocols/answers/reported-usage.ts'

/** The largest number of entries that is read from a list of modalities. */
const MAX_MODALITIES = 16

/**
 * Keeps the figures of a `usageMetadata` object. Each event of a stream counts from the beginning, so the last event
 * has the whole usage. Reasoning tokens are counted beside the candidates, and input of the provider's own tools beside
 * the prompt; the prompt includes tokens read from a cache.
 */
export function mergeGeminiUsage(into: ReportedUsage, usage: unknown): void {
  if (!isRecord(usage)) return
  const count = (name: string) => takeCount(into, usage, name)
  const prompt = count('promptTokenCount')
  const tools = count('toolUsePromptTokenCount')
  const outputTokens = count('candidatesTokenCount') ?? count('responseTokenCount')
  const thoughts = count('thoughtsTokenCount')
  const cached = count('cachedContentTokenCount')
  if (prompt !== undefined) keepCounts(into, { inputTokens: prompt + (tools ?? 0) })
  if (outputTokens !== undefined || thoughts !== undefined) keepOutput(into, outputTokens, thoughts)
  if (cached !== undefined) keepCounts(into, { cachedTokens: cached })
  keepUnnamed(into, takeCount({ insaneFields: 0 }, usage, 'totalTokenCount'))
  keepModalities(into, usage)
  keepServedTier(into, usage['serviceTier'])
  keepServedTier(into, usage['trafficType'])
}

/** Keeps the output. Where an event leaves a figure out, the earlier figure counts. */
function keepOutput(into: ReportedUsage, reportedTokens: number | undefined, thoughts: number | undefined): void {
  const { outputTokens = 0, reasoningTokens = 0 } = into
  const reasoning = thoughts ?? reasoningTokens
  const outputs = (reportedTokens ?? outputTokens - reasoningTokens) + reasoning
  keepCounts(into, { outputTokens: outputs, reasoningTokens: reasoning })
}

/** Keeps the tokens that only the total includes: the reasoning of a provider that does not report it separately. */
function keepUnnamed(into: ReportedUsage, total: number | undefined): void {
  if (total === undefined) return
  const { inputTokens = 0, outputTokens = 0, unnamedTokens } = into
  const rest = Math.max(0, total - inputTokens - outputTokens)
  if (rest > 0 || unnamedTokens !== undefined) into.unnamedTokens = rest
}

/** Keeps the audio and image tokens of the prompt and of the answer, without those read from a cache. */
function keepModalities(into: ReportedUsage, usage: JsonObject): void {
  const places = ['promptTokensDetails', 'toolUsePromptTokensDetails'] as const
  const sum = (modality: string) => places.reduce((tokens, name) => tokens + tokensOf(into, usage[name], modality), 0)
  const cachedAudio = tokensOf(into, usage['cacheTokensDetails'], 'AUDIO')
  const cachedImages = tokensOf(into, usage['cacheTokensDetails'], 'IMAGE')
  const answer = usage['candidatesTokensDetails'] ?? usage['responseTokensDetails']
  if (places.some((name) => Array.isArray(usage[name]))) {
    keepCounts(into, {
      audioInputTokens: sum('AUDIO'),
      cachedAudioTokens: cachedAudio,
      imageInputTokens: Math.max(0, sum('IMAGE') - cachedImages),
    })
  }
  if (Array.isArray(answer)) {
    keepCounts(into, {
      audioOutputTokens: tokensOf(into, answer, 'AUDIO'),
      imageOutputTokens: tokensOf(into, answer, 'IMAGE'),
    })
  }
}

/** The tokens of a modality in a list of `{modality, tokenCount}`. */
function tokensOf(into: ReportedUsage, list: unknown, modality: string): number {
  if (!Array.isArray(list)) return 0
  let tokens = 0
  for (const entry of list.slice(0, MAX_MODALITIES)) {
    if (isRecord(entry) && entry['modality'] === modality) tokens += takeCount(into, entry, 'tokenCount') ?? 0
  }
  return tokens
}
