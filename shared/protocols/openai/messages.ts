import type { Model } from '#shared/catalog/model.ts'
import type {
  AssistantPart,
  Conversation,
  FilePart,
  ImagePart,
  ReasoningPart,
  TextPart,
  ToolResultPart,
  UserPart,
} from '#shared/protocols/middle-form/conversation.ts'
import { textOf, urlOf } from '#shared/protocols/middle-form/conversation.ts'

/** Makers whose models expect the reasoning of a turn with calls back, as `reasoning_content`. */
const WANTS_REASONING_BACK: ReadonlySet<string> = new Set(['deepseek', 'moonshotai', 'z-ai', 'minimax'])

/** The `messages` of a chat request as JSON text, without cache breakpoints. */
export function chatMessages({ system, turns }: Pick<Conversation, 'system' | 'turns'>, model: Model): string {
  const messages: object[] = []
  if (system.length > 0) messages.push({ role: 'system', content: system.map(({ text }) => text).join('\n\n') })
  for (const turn of turns) {
    if (turn.role === 'user') addUser(messages, turn.parts)
    else messages.push(assistantMessage(turn.parts, WANTS_REASONING_BACK.has(model.lab)))
  }
  return JSON.stringify(messages)
}

/** Results of calls come first, a message each. Their images follow with the user's own parts. */
function addUser(messages: object[], parts: readonly UserPart[]): void {
  const sayings: (TextPart | ImagePart | FilePart)[] = []
  for (const part of parts) {
    if (part.kind !== 'toolResult') {
      sayings.push(part)
      continue
    }
    messages.push({ role: 'tool', tool_call_id: part.callId, content: resultText(part) })
    for (const shownPart of part.parts) if (shownPart.kind !== 'text') sayings.push(shownPart)
  }
  if (sayings.length === 0) return
  const isText = sayings.every(({ kind }) => kind === 'text')
  messages.push({ role: 'user', content: isText && sayings.length === 1 ? textOf(sayings) : sayings.map(contentPart) })
}

/** This protocol has no field for a failed call, so the text reports the failure. */
function resultText({ parts, isError }: ToolResultPart): string {
  const text = textOf(parts)
  return isError ? `Error: ${text}` : text
}

function contentPart(part: TextPart | ImagePart | FilePart): object {
  switch (part.kind) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'image':
      return { type: 'image_url', image_url: { url: urlOf(part.source), detail: part.detail } }
    default:
      return { type: 'file', file: { filename: part.name ?? 'document.pdf', file_data: urlOf(part.source) } }
  }
}

function assistantMessage(parts: readonly AssistantPart[], wantsReasoning: boolean): object {
  const text = textOf(parts)
  const calls = parts.filter((part) => part.kind === 'toolCall')
  const thoughts = parts.filter((part) => part.kind === 'reasoning')
  const details = thoughts.flatMap((part) => part.details ?? [])
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...(calls.length > 0 && thoughtMembers(thoughts, wantsReasoning)),
    ...(details.length > 0 && { reasoning_details: details }),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, name, input, members }) => ({
            id,
            type: 'function',
            function: { name, arguments: input === '' ? '{}' : input },
            ...members,
          })),
        }),
  }
}

/** The reasoning of a turn with calls under each member in which its maker or its provider expects it back. */
function thoughtMembers(thoughts: readonly ReasoningPart[], isWanted: boolean): object {
  const members: Record<string, string> = {}
  for (const { text, member } of thoughts) {
    const name = isWanted ? 'reasoning_content' : member
    if (name !== undefined && text !== '') members[name] = (members[name] ?? '') + text
  }
  return members
}
