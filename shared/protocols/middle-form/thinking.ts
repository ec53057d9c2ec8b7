import { mayThink } from '#shared/catalog/model.ts'
import type { EncodePlan } from '#shared/protocols/encode-plan.ts'
import type { Conversation } from './conversation.ts'
import { MIN_THINKING_TOKENS } from './conversation.ts'

/** The largest reasoning budget of an effort word, in tokens. */
const MAX_THINKING_TOKENS = 32_000

/** The share of the output limit that each of OpenAI's effort words sets as the budget. */
const EFFORT_SHARES: ReadonlyMap<string, number> = new Map([
  ['minimal', 0.1],
  ['low', 0.2],
  ['medium', 0.5],
  ['high', 0.8],
  ['xhigh', 0.9],
])
const USUAL_SHARE = 0.5

export type Thinking = { readonly type: 'enabled'; readonly budget_tokens: number }

/**
 * The reasoning budget in tokens, within the output limit. Undefined where the buyer asks for no reasoning. Undefined,
 * too, where the protocol refuses a budget: with a forced call, with a low output limit, and between calls that were
 * made without reasoning.
 */
export function thinkingOf(conversation: Conversation, { maxOutputTokens, target }: EncodePlan): Thinking | undefined {
  const { reasoning = {}, toolChoice } = conversation
  if (!asksForThought(conversation)) return undefined
  if (toolChoice === 'required' || typeof toolChoice === 'object') return undefined
  if (!mayThink(target.model)) return undefined
  if (maxOutputTokens <= MIN_THINKING_TOKENS || isAmidCalls(conversation)) return undefined
  const share = EFFORT_SHARES.get(reasoning.effort ?? '') ?? USUAL_SHARE
  const budget = reasoning.maxTokens ?? Math.min(MAX_THINKING_TOKENS, Math.floor(maxOutputTokens * share))
  return { type: 'enabled', budget_tokens: Math.max(MIN_THINKING_TOKENS, Math.min(budget, maxOutputTokens - 1)) }
}

/** True for a conversation that asks for reasoning. */
export function asksForThought({ reasoning }: Conversation): boolean {
  return reasoning !== undefined && reasoning.isEnabled !== false && reasoning.effort !== 'none'
}

/** True when the last answer made calls and its reasoning is missing, so that the model cannot continue from it. */
function isAmidCalls({ turns }: Conversation): boolean {
  const last = turns.findLast(({ role }) => role === 'assistant')
  if (last === undefined) return false
  const hasCalls = last.parts.some(({ kind }) => kind === 'toolCall')
  const hasThoughts = last.parts.some(
    (part) => part.kind === 'reasoning' && (part.signature ?? part.redacted) !== undefined,
  )
  return hasCalls && !hasThoughts
}
