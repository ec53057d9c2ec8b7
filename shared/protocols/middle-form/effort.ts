import type { ReasoningWish } from './conversation.ts'

/** The reasoning budget in tokens from which a model counts as thinking with each effort. */
const EFFORT_FROM_TOKENS: readonly (readonly [leastTokens: number, effort: string])[] = [
  [16_384, 'high'],
  [4_096, 'medium'],
  [0, 'low'],
]

/** OpenAI's word for a reasoning wish, also for one in tokens. Undefined where neither is given. */
export function effortOf({ effort, maxTokens }: ReasoningWish): string | undefined {
  if (effort !== undefined || maxTokens === undefined) return effort
  return EFFORT_FROM_TOKENS.find(([least]) => maxTokens >= least)?.[1]
}
