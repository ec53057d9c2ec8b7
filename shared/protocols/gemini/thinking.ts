import type { EncodePlan } from '#shared/protocols/encode-plan.ts'
import type { Conversation, ReasoningSettings } from '#shared/protocols/middle-form/conversation.ts'
import { FIRST_THINKING, FIRST_WITH_LEVELS, generationOf, nameOf } from './generation.ts'

/**
 * The reasoning settings in this protocol. `isChanged` is true where the model cannot do exactly what the buyer asked
 * for.
 */
export type GeminiThinking = { readonly config: object | undefined; readonly isChanged: boolean }

const NO_WISH: GeminiThinking = { config: undefined, isChanged: false }
const UNHEARD: GeminiThinking = { config: undefined, isChanged: true }

/** The tokens of each of OpenAI's effort words, as Google's OpenAI-compatible endpoint counts them. */
const BUDGETS: ReadonlyMap<string, number> = new Map([
  ['minimal', 1_024],
  ['low', 1_024],
  ['medium', 8_192],
  ['high', 24_576],
  ['xhigh', 24_576],
  ['max', 24_576],
])
const USUAL_EFFORT = 'medium'

/** The levels of OpenAI's words, and the tokens from which a budget counts as one of them. */
const LEVELS: ReadonlyMap<string, string> = new Map([
  ['minimal', 'MINIMAL'],
  ['low', 'LOW'],
  ['medium', 'MEDIUM'],
  ['high', 'HIGH'],
  ['xhigh', 'HIGH'],
  ['max', 'HIGH'],
])
const LEVEL_FROM_TOKENS: readonly (readonly [leastTokens: number, level: string])[] = [
  [16_384, 'HIGH'],
  [4_096, 'MEDIUM'],
  [0, 'LOW'],
]

/** Writes the reasoning settings: a budget for generation 2.5, a level for later generations, never both. */
export function thinkingOf({ reasoning }: Pick<Conversation, 'reasoning'>, plan: EncodePlan): GeminiThinking {
  if (reasoning === undefined) return NO_WISH
  const name = nameOf(plan)
  const generation = generationOf(name) ?? 0
  const { features, parameters } = plan.target.model
  const thinks = features.includes('reasoning') || parameters.some((each) => each.startsWith('reasoning'))
  const isKnown = features.length + parameters.length > 0
  if (generation < FIRST_THINKING || (isKnown && !thinks)) return isOff(reasoning) ? NO_WISH : UNHEARD
  return generation < FIRST_WITH_LEVELS ? byBudget(reasoning, name, plan) : byLevel(reasoning, name, generation)
}

function isOff({ isEnabled, effort }: ReasoningSettings): boolean {
  return isEnabled === false || effort === 'none'
}

/** The budgets that a model of generation 2.5 accepts. Pro cannot switch reasoning off. */
function budgetsOf(name: string): { readonly off: number; readonly least: number; readonly most: number } {
  if (name.includes('pro')) return { off: 128, least: 128, most: 32_768 }
  return { off: 0, least: name.includes('lite') ? 512 : 1, most: 24_576 }
}

function byBudget(reasoning: ReasoningSettings, name: string, { maxOutputTokens }: EncodePlan): GeminiThinking {
  const { off, least, most } = budgetsOf(name)
  if (isOff(reasoning)) return { config: { thinkingBudget: off }, isChanged: off > 0 }
  const { effort = USUAL_EFFORT, maxTokens = BUDGETS.get(effort) ?? 8_192 } = reasoning
  // Reasoning counts as output, so the budget leaves room for the answer.
  const budget = Math.max(least, Math.min(maxTokens, most, maxOutputTokens - 1))
  const isChanged = reasoning.maxTokens !== undefined && reasoning.maxTokens !== budget
  return { config: { includeThoughts: true, thinkingBudget: budget }, isChanged }
}

function byLevel(reasoning: ReasoningSettings, name: string, generation: number): GeminiThinking {
  const isPro = name.includes('pro')
  const least = isPro ? 'LOW' : 'MINIMAL'
  if (isOff(reasoning)) return { config: { thinkingLevel: least }, isChanged: true }
  const { effort, maxTokens } = reasoning
  if (effort === undefined && maxTokens === undefined) return { config: { includeThoughts: true }, isChanged: false }
  const level =
    maxTokens === undefined
      ? (LEVELS.get(effort ?? '') ?? 'HIGH')
      : (LEVEL_FROM_TOKENS.find(([from]) => maxTokens >= from)?.[1] ?? 'LOW')
  const thinkingLevel = levelOf(level, isPro, generation)
  const isSaid = maxTokens === undefined && effort?.toUpperCase() === thinkingLevel
  return { config: { includeThoughts: true, thinkingLevel }, isChanged: !isSaid }
}

/** The level nearest to the requested one. Pro models have no `MINIMAL`, and the first of them no `MEDIUM` either. */
function levelOf(effort: string, isPro: boolean, generation: number): string {
  if (!isPro) return effort
  if (effort === 'MINIMAL') return 'LOW'
  return effort === 'MEDIUM' && generation < 3.1 ? 'HIGH' : effort
}
