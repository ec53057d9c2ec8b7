import { z } from 'zod'

/** Bytes that count as one token when a provider gives no figure. */
export const BYTES_A_TOKEN = 4

/**
 * The classes of usage, in whole units that do not overlap. Every wire derives its usage object from them. `input`
 * excludes audio, images and tokens read from or written to a prompt cache; `output` excludes reasoning, audio and
 * images. `cacheWriteLong` are tokens written to a cache that lasts an hour or longer, `cachedAudio` are tokens of
 * sound read from a cache, and `searches` are the web searches that a provider bills in addition to tokens.
 * `imageInput` and `imageOutput` are tokens; `images` counts images. Those of the larger tiers of resolution are
 * separate when they have a price of their own, and so is the time of video. Area is in pixels and time in
 * milliseconds, so that all units are whole.
 */
export const USAGE_CLASSES = [
  'input',
  'cacheRead',
  'cacheWrite',
  'cacheWriteLong',
  'cachedAudio',
  'output',
  'reasoning',
  'audioInput',
  'audioOutput',
  'imageInput',
  'imageOutput',
  'characters',
  'images',
  'images2k',
  'images4k',
  'pixels',
  'milliseconds',
  'milliseconds1080p',
  'milliseconds4k',
  'searches',
  'calls',
] as const

export type UsageClass = (typeof USAGE_CLASSES)[number]

/** Counts per class; an absent class is zero. */
export type Usage = { readonly [Class in UsageClass]?: number }

/** The source of a usage: the provider's own figures, or our lower bound without them. */
export type UsageSource = 'reported' | 'estimated'

const Count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER)

export const UsageSchema: z.ZodType<Usage> = z.strictObject({
  input: Count.optional(),
  cacheRead: Count.optional(),
  cacheWrite: Count.optional(),
  cacheWriteLong: Count.optional(),
  cachedAudio: Count.optional(),
  output: Count.optional(),
  reasoning: Count.optional(),
  audioInput: Count.optional(),
  audioOutput: Count.optional(),
  imageInput: Count.optional(),
  imageOutput: Count.optional(),
  characters: Count.optional(),
  images: Count.optional(),
  images2k: Count.optional(),
  images4k: Count.optional(),
  pixels: Count.optional(),
  milliseconds: Count.optional(),
  milliseconds1080p: Count.optional(),
  milliseconds4k: Count.optional(),
  searches: Count.optional(),
  calls: Count.optional(),
}) as z.ZodType<Usage>

/** True for an empty usage. */
export function isNothing(usage: Usage): boolean {
  for (const name in usage) if ((usage[name as UsageClass] ?? 0) > 0) return false
  return true
}

/** Adds usages up, class by class. */
export function sumUsage(usages: readonly Usage[]): Usage {
  const sum: { -readonly [Class in UsageClass]?: number } = {}
  for (const usage of usages) {
    for (const name of USAGE_CLASSES) {
      const count = usage[name]
      if (count !== undefined) sum[name] = (sum[name] ?? 0) + count
    }
  }
  return sum
}

/** Tokens that a provider read, cached or not: `prompt_tokens` of the chat wire. */
export function inputTokens(usage: Usage): number {
  const { input = 0, audioInput = 0, imageInput = 0 } = usage
  return input + audioInput + imageInput + cacheReadTokens(usage) + cacheWriteTokens(usage)
}

/** Tokens read from a prompt cache, those of sound included. */
export function cacheReadTokens({ cacheRead = 0, cachedAudio = 0 }: Usage): number {
  return cacheRead + cachedAudio
}

/** Tokens written to a prompt cache, however long it lasts. */
export function cacheWriteTokens({ cacheWrite = 0, cacheWriteLong = 0 }: Usage): number {
  return cacheWrite + cacheWriteLong
}

/** Tokens that a provider produced, reasoning included: `completion_tokens` of the chat wire. */
export function outputTokens(usage: Usage): number {
  return (usage.output ?? 0) + (usage.reasoning ?? 0) + (usage.audioOutput ?? 0) + (usage.imageOutput ?? 0)
}

/** Images of all tiers of resolution. */
export function imageCount(usage: Usage): number {
  return (usage.images ?? 0) + (usage.images2k ?? 0) + (usage.images4k ?? 0)
}

/** Milliseconds of video of all resolutions, and of everything else with a price by time. */
export function usedTime(usage: Usage): number {
  return (usage.milliseconds ?? 0) + (usage.milliseconds1080p ?? 0) + (usage.milliseconds4k ?? 0)
}
