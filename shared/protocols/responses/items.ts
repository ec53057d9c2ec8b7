import type {
  AssistantPart,
  ConversationTurn,
  FilePart,
  ImagePart,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolOrigins,
  ToolResultPart,
  UserPart,
} from '#shared/protocols/middle-form/conversation.ts'
import { textOf, urlOf } from '#shared/protocols/middle-form/conversation.ts'
import { customInput } from '#shared/protocols/middle-form/tool-origin.ts'
import { encryptedIn, shortId } from '#shared/protocols/responses-form.ts'

/** The user's text where a conversation has no turns. The protocol refuses an empty input. */
const OPENING = 'Continue.'
/** The `input` of a request: the items of all turns. Items have no ids, because no items are kept at the provider. */
export function inputItems(turns: readonly ConversationTurn[], origins: ToolOrigins): object[] {
  const custom = customCalls(turns, origins)
  const items = turns.flatMap((turn) =>
    turn.role === 'user' ? userItems(turn.parts, custom) : assistantItems(turn.parts, custom),
  )
  return items.length === 0 ? [{ role: 'user', content: OPENING }] : items
}

/** The ids of calls of custom tools, each with the tool's name. */
type CustomCalls = ReadonlyMap<string, string>

function customCalls(turns: readonly ConversationTurn[], origins: ToolOrigins): CustomCalls {
  if (origins.size === 0) return new Map()
  const calls = turns.flatMap(({ parts }) => parts.filter((part) => part.kind === 'toolCall'))
  return new Map(
    calls.flatMap(({ id, name }) => (origins.get(name)?.custom === undefined ? [] : [[id, name] as const])),
  )
}

/** Results of calls come first, an item each. */
function userItems(parts: readonly UserPart[], custom: CustomCalls): object[] {
  const results = parts.filter((part) => part.kind === 'toolResult').map((part) => resultItem(part, custom))
  const saidParts = parts.filter((part) => part.kind !== 'toolResult')
  if (saidParts.length === 0) return results
  const [only] = saidParts
  const content = saidParts.length === 1 && only?.kind === 'text' ? only.text : saidParts.map(contentPart)
  return [...results, { role: 'user', content }]
}

/** This protocol has no field for a failed call, so the text reports the failure. */
function resultItem({ callId, parts, isError }: ToolResultPart, custom: CustomCalls): object {
  const output = parts.every(({ kind }) => kind === 'text') ? textOf(parts) : parts.map(contentPart)
  const failed = typeof output === 'string' ? `Error: ${output}` : [{ type: 'input_text', text: 'Error:' }, ...output]
  const type = custom.has(callId) ? 'custom_tool_call_output' : 'function_call_output'
  return { type, call_id: shortId(callId), output: isError ? failed : output }
}

function contentPart(part: TextPart | ImagePart | FilePart): object {
  switch (part.kind) {
    case 'text':
      return { type: 'input_text', text: part.text }
    case 'image':
      return { type: 'input_image', image_url: urlOf(part.source), detail: part.detail ?? 'auto' }
    default:
      return part.source.kind === 'url'
        ? { type: 'input_file', file_url: part.source.url }
        : { type: 'input_file', filename: part.name ?? 'document.pdf', file_data: urlOf(part.source) }
  }
}

function assistantItems(parts: readonly AssistantPart[], custom: CustomCalls): object[] {
  const lastSaid = parts.findLastIndex(isSaid)
  return parts.flatMap((part, index) => {
    switch (part.kind) {
      case 'toolCall':
        return [callItem(part, custom.has(part.id))]
      case 'reasoning':
        // The protocol refuses a reasoning item that no other item follows.
        return index < lastSaid ? thoughtItems(part) : []
      default:
        return isSaid(part) ? [{ role: 'assistant', content: part.text, ...(part.phase && { phase: part.phase }) }] : []
    }
  })
}

function callItem({ id, name, input }: ToolCallPart, isCustom: boolean): object {
  const call = { call_id: shortId(id), name }
  if (isCustom) return { type: 'custom_tool_call', ...call, input: customInput(input) }
  return { type: 'function_call', ...call, arguments: input.trim() === '' ? '{}' : input }
}

function isSaid(part: AssistantPart): boolean {
  return part.kind === 'toolCall' || (part.kind === 'text' && part.text !== '')
}

/** A reasoning part without its maker's encrypted content is refused by the maker. The summary is in its first item. */
function thoughtItems(part: ReasoningPart): object[] {
  const summary = part.text === '' ? [] : [{ type: 'summary_text', text: part.text }]
  return encryptedIn(part).map((encrypted, index) => ({
    type: 'reasoning',
    summary: index === 0 ? summary : [],
    encrypted_content: encrypted,
  }))
}
