import type { InlinedSource } from '#data-plane/call.ts'
import type { Content } from '#data-plane/wires/content.ts'
import { newContent } from '#data-plane/wires/content.ts'
import { wordOf } from '#data-plane/wires/sampling.ts'
import { invalidMember } from '#shared/invalid-member.ts'
import { isRecord } from '#shared/json-members.ts'
import type {
  AssistantPart,
  ConversationTurn,
  ReasoningPart,
  TextPart,
  UserPart,
} from '#shared/protocols/middle-form/conversation.ts'
import { readParts, readTexts } from './content-parts.ts'
import { LEFT_OUT, readCall, readResult, UNREADABLE } from './tool-items.ts'

const MAX_ITEMS = 10_000

type Json = Readonly<Record<string, unknown>>

/** The input of a request. */
export type ResponseInput = {
  readonly system: readonly TextPart[]
  readonly turns: readonly ConversationTurn[]
  readonly content: Content
  readonly itemCount: number
  /** Kinds of items without an effect here, as parameters that were left out. */
  readonly adaptedParams: readonly string[]
}

type Reading = {
  readonly system: TextPart[]
  readonly turns: OpenTurn[]
  readonly content: Content
  readonly leftOut: Set<string>
}

/** A turn that further items may join. */
type OpenTurn =
  | { readonly role: 'user'; readonly isResults: boolean; readonly parts: UserPart[] }
  | { readonly role: 'assistant'; readonly parts: AssistantPart[] }

/** Reads `input`: a text, or items in their order. Throws `invalid_request`, `unresolvable_file_reference`. */
export function readInput(input: unknown, source: Pick<InlinedSource, 'hasStandIns'>): ResponseInput {
  const content = newContent(source)
  const reading: Reading = { system: [], turns: [], content, leftOut: new Set() }
  const items: readonly unknown[] = typeof input === 'string' ? [{ role: 'user', content: input }] : listOf(input)
  for (const [index, item] of items.entries()) readItem(reading, item, `input[${index}]`)
  const { system, turns, leftOut } = reading
  if (turns.length === 0 && system.length === 0) {
    throw invalidMember('input', 'input must hold something that a model can read.')
  }
  return { system, turns, content, itemCount: items.length, adaptedParams: [...leftOut] }
}

function listOf(input: unknown): readonly unknown[] {
  if (Array.isArray(input) && input.length > 0 && input.length <= MAX_ITEMS) return input
  throw invalidMember('input', `input must be a text or a list of 1 to ${MAX_ITEMS} items.`)
}

function readItem(reading: Reading, item: unknown, param: string): void {
  if (!isRecord(item)) throw invalidMember(param, 'An item must be an object.')
  const type = item['type'] ?? (item['role'] === undefined ? 'item_reference' : 'message')
  switch (type) {
    case 'message':
      readMessage(reading, item, param)
      break
    case 'reasoning':
      addSaid(reading, readThought(item, param, reading.content))
      break
    case 'item_reference':
      readReference(reading, item, param)
      break
    case 'additional_tools':
      // Tools of this item are parsed with the other tools.
      checkTools(item, param)
      break
    case 'tool_search_output':
      checkTools(item, param)
      readOther(reading, item, 'tool_search_output', param)
      break
    default:
      readOther(reading, item, typeof type === 'string' ? type : '', param)
  }
}

function checkTools({ tools }: Json, param: string): void {
  if (Array.isArray(tools) && tools.every(isRecord)) return
  throw invalidMember(`${param}.tools`, `${param}.tools must be a list of tools.`)
}

/** A call, its result, or an item of a tool that ran elsewhere. */
function readOther(reading: Reading, item: Json, type: string, param: string): void {
  const call = readCall(item, type, param)
  if (call !== undefined) addSaid(reading, [call])
  const result = readResult(item, type, { param, content: reading.content })
  if (result !== undefined) addResult(reading, result)
  if (call !== undefined || result !== undefined) return
  if (!LEFT_OUT.has(type)) throw invalidMember(`${param}.type`, unknownWords(type))
  reading.leftOut.add(`input.${type}`)
}

function unknownWords(type: string): string {
  return UNREADABLE.has(type)
    ? 'Only the maker of this item can read it. Send the turns that the item replaces.'
    : 'An item must be a message, a call, the output of a call or reasoning.'
}

/**
 * No items are kept here. A reference to reasoning is left out, because models do without the reasoning of earlier
 * turns.
 */
function readReference({ leftOut }: Reading, { id }: Json, param: string): void {
  if (typeof id !== 'string' || !id.startsWith('rs_')) {
    throw invalidMember(param, 'No items are kept here: send the item itself, not its id.')
  }
  leftOut.add('input.item_reference')
}

function readMessage(reading: Reading, item: Json, param: string): void {
  const { system, turns, content } = reading
  const at = `${param}.content`
  switch (item['role']) {
    case 'user': {
      const parts = readParts(item['content'], at, content)
      if (parts.length === 0) throw invalidMember(at, 'A message needs content.')
      turns.push({ role: 'user', isResults: false, parts })
      break
    }
    case 'assistant': {
      const phase = wordOf(item['phase'])
      const parts = readTexts(item['content'], at, content)
      addSaid(reading, phase === undefined ? parts : parts.map((part) => ({ ...part, phase })))
      break
    }
    case 'system':
    case 'developer':
      system.push(...readTexts(item['content'], at, content))
      break
    default:
      throw invalidMember(`${param}.role`, 'The role of a message must be user, assistant, system or developer.')
  }
}

/**
 * Consecutive reasoning, texts and calls are one turn, because their results come after all of them. Texts without a
 * call are a turn of their own.
 */
function addSaid({ turns }: Reading, parts: readonly AssistantPart[]): void {
  if (parts.length === 0) return
  const last = turns.at(-1)
  if (last?.role === 'assistant') {
    const isSaid = last.parts.some(({ kind }) => kind === 'text') && !last.parts.some(({ kind }) => kind === 'toolCall')
    if (!isSaid || parts[0]?.kind === 'toolCall') {
      last.parts.push(...parts)
      return
    }
  }
  turns.push({ role: 'assistant', parts: [...parts] })
}

function addResult({ turns }: Reading, part: UserPart): void {
  const last = turns.at(-1)
  if (last?.role === 'user' && last.isResults) last.parts.push(part)
  else turns.push({ role: 'user', isResults: true, parts: [part] })
}

/** The reasoning of an earlier answer: its own text if it was shown, else its summary; none without either. */
function readThought(item: Json, param: string, content: Content): ReasoningPart[] {
  const texts = textsOf(item['content'], `${param}.content`)
  const text = texts === '' ? textsOf(item['summary'], `${param}.summary`) : texts
  content.spokenChars += text.length
  const sealed = wordOf(item['encrypted_content'])
  if (text === '' && sealed === undefined) return []
  return [{ kind: 'reasoning', text, ...(sealed !== undefined && { sealed }) }]
}

function textsOf(parts: unknown, param: string): string {
  if (parts === undefined || parts === null) return ''
  if (!Array.isArray(parts)) throw invalidMember(param, `${param} must be a list.`)
  return parts.map((part) => (isRecord(part) ? (wordOf(part['text']) ?? '') : '')).join('\n\n')
}
