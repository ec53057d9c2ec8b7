import type { ModelPlan } from '#data-plane/call.ts'
import type {
  AssistantPart,
  Conversation,
  ConversationTurn,
  ReasoningPart,
  ToolCallPart,
} from '#shared/protocols/middle-form/conversation.ts'
import { makerOf } from './maker-of.ts'
import type { PhaseMark } from './phase-marks.ts'
import { withPhases } from './phase-marks.ts'
import type { OpenedSeal } from './turn-seal.ts'
import { splitId } from './turn-seal.ts'

type Opening = Pick<ModelPlan, 'offer' | 'seal'> & {
  /** Members of the request whose seals are useless for this provider. */
  readonly dropped: Set<string>
  /** The phases of the turn under way. */
  marks: PhaseMark[]
}

/**
 * The conversation with the contents of earlier answers' seals in their place. A seal that the market did not write, or
 * that only another provider or account can read, is dropped and named; unsealed reasoning goes to any provider.
 */
export function openSeals(conversation: Conversation, { offer, seal }: ModelPlan): Conversation {
  if (!conversation.turns.some(hasSeal)) return conversation
  const opening: Opening = { offer, seal, dropped: new Set(), marks: [] }
  // A turn with nothing but a foreign seal is dropped with it: providers refuse a turn without content.
  const turns = conversation.turns.flatMap((turn) => {
    const openTurn = openedTurn(turn, opening)
    return openTurn.parts.length === 0 && turn.parts.length > 0 ? [] : [openTurn]
  })
  const { spelling } = conversation
  const names = [...opening.dropped].map((name) => spelling[name] ?? name)
  return { ...conversation, turns, adaptedParams: [...conversation.adaptedParams, ...names] }
}

function hasSeal({ parts }: ConversationTurn): boolean {
  return parts.some((part) => {
    if (part.kind === 'toolCall') return splitId(part.id).seal !== undefined
    if (part.kind === 'toolResult') return splitId(part.callId).seal !== undefined
    return part.kind === 'reasoning' && part.sealed !== undefined
  })
}

function openedTurn(turn: ConversationTurn, opening: Opening): ConversationTurn {
  if (turn.role === 'assistant') {
    opening.marks = []
    const openParts = turn.parts.flatMap((part) => openedPart(part, opening))
    return { ...turn, parts: withPhases(openParts, opening.marks) }
  }
  const parts = turn.parts.map((part) =>
    part.kind === 'toolResult' ? { ...part, callId: splitId(part.callId).id } : part,
  )
  return { ...turn, parts }
}

function openedPart(part: AssistantPart, opening: Opening): readonly AssistantPart[] {
  if (part.kind === 'toolCall') return [openedCall(part, opening)]
  return part.kind === 'reasoning' && part.sealed !== undefined ? openedThought(part, part.sealed, opening) : [part]
}

function openedCall(part: ToolCallPart, opening: Opening): ToolCallPart {
  const { id, seal } = splitId(part.id)
  if (seal === undefined) return part
  const content = ownSeal(opening.seal.open(seal), opening)
  if (content?.kind === 'call') return { ...part, id, members: content.members }
  opening.dropped.add('tool_calls')
  return { ...part, id }
}

function openedThought({ kind, text }: ReasoningPart, sealed: string, opening: Opening): readonly ReasoningPart[] {
  const openSeal = opening.seal.open(sealed)
  if (openSeal?.content.kind === 'phase') {
    opening.marks.push(openSeal.content)
    return text === '' ? [] : [{ kind, text }]
  }
  const content = ownSeal(openSeal, opening)
  if (openSeal?.content.kind === 'thought') {
    const { text: sealedText, member, details } = openSeal.content
    if (content === undefined && details !== undefined) opening.dropped.add('reasoning_details')
    const extra = content === undefined ? {} : { ...(member !== undefined && { member }), ...(details && { details }) }
    return [{ kind, text: sealedText === '' ? text : sealedText, ...extra }]
  }
  if (content?.kind === 'signature') return [{ kind, text, signature: content.text }]
  if (content?.kind === 'redacted') return [{ kind, text, redacted: content.text }]
  opening.dropped.add('reasoning_details')
  return text === '' ? [] : [{ kind, text }]
}

function ownSeal(openSeal: OpenedSeal | undefined, { offer }: Opening): OpenedSeal['content'] | undefined {
  return openSeal?.maker === makerOf(offer) ? openSeal.content : undefined
}
