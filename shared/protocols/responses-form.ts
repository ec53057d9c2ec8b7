import { createHash } from 'node:crypto'
import type { Model } from '#shared/catalog/model.ts'
import { mayThink } from '#shared/catalog/model.ts'
import type { JsonObject } from '#shared/json-members.ts'
import type { EncodePlan } from './encode-plan.ts'
import type { Conversation, ReasoningPart } from './middle-form/conversation.ts'
import { effortOf } from './middle-form/effort.ts'

/*
 * Parts of a request of OpenAI's responses, for requests that are translated and for a buyer's own.
 */

export const RESPONSES_PATH = '/responses'
/** The longest id of a call in this protocol. */
const MAX_CALL_ID_CHARS = 64
const HASH_CHARS = 24
/** The type of details that carry encrypted reasoning. */
const ENCRYPTED = 'responses.encrypted'

/**
 * The type of detail that carries a reasoning block's encrypted content. No buyer protocol has it, so it comes from our
 * own encrypted texts alone.
 */
export function encryptedDetail(data: string): JsonObject {
  return { type: ENCRYPTED, data }
}

/** The encrypted contents of a reasoning block that this protocol accepts. */
export function encryptedIn({ details }: Pick<ReasoningPart, 'details'>): readonly string[] {
  if (details === undefined) return []
  return details.flatMap(({ type, data }) => (type === ENCRYPTED && typeof data === 'string' ? [data] : []))
}

/** Notes a member that is left out, under OpenAI's name for it in chats. */
export type Adapt = (name: string) => void

/** The members that no buyer sets. */
export function fixedMembers({ maxOutputTokens, target }: EncodePlan, isStreamed: boolean): object {
  return {
    max_output_tokens: maxOutputTokens,
    store: false,
    // Models without reasoning refuse a request for encrypted reasoning.
    ...(mayThink(target.model) && { include: ['reasoning.encrypted_content'] }),
    ...(isStreamed && { stream: true }),
  }
}

/** The reasoning settings. A summary of the reasoning is requested only where the buyer wants to see it. */
export function reasoningOf({ reasoning }: Conversation, model: Model, adapt: Adapt): object | undefined {
  if (reasoning === undefined || reasoning.isEnabled === false) return undefined
  const effort = effortOf(reasoning)
  const { summary } = reasoning
  if ((effort ?? summary) === undefined) return undefined
  if (mayThink(model)) return { effort, summary }
  adapt('reasoning')
  return undefined
}

/** An id within the protocol's limit. A call and its result get the same one. */
export function shortId(id: string): string {
  if (id.length <= MAX_CALL_ID_CHARS) return id
  return `call_${createHash('sha256').update(id).digest('hex').slice(0, HASH_CHARS)}`
}
