import type { ReasoningSettings } from './conversation.ts'

/** The smallest reasoning budget in tokens of each effort word. */
const EFFORT_FROM_TOKENS: readonly (readonly [leastTokens: number, effort: string])[] = [
  [16_384, 'high'],
  [4_096, 'medium'],
  [0, 'low'],
]

/** OpenAI's effort word for reasoning settings, also for a budget in tokens. Undefined where neither is given. */
export function effortOf({ effort, maxTokens }: ReasoningSettings): string | undefined {
  if (effort !== undefined || maxTokens === undefined) return effort
  return EFFORT_FROM_TOKENS.find(([least]) => maxTokens >= least)?.[1]
}
