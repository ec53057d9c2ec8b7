import type { InlinedSource } from '#data-plane/call.ts'
import type { Content } from '#data-plane/wires/content.ts'
import { newContent } from '#data-plane/wires/content.ts'
import { wordOf } from '#data-plane/wires/sampling.ts'
import { isRecord } from '#shared/json-members.ts'
import type {
  AssistantPart,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  Turn,
  UserPart,
} from '#shared/protocols/middle-form/conversation.ts'
import { readParts, readTexts } from './content-parts.ts'
import { invalid } from './parameters.ts'
import { openSeal } from './seal.ts'

const MAX_ITEMS = 10_000

type Json = Readonly<Record<string, unknown>>

/** What the input of a request says. */
export type Input = {
  readonly system: readonly TextPart[]
  readonly turns: readonly Turn[]
  readonly content: Content
  readonly itemCount: number
}

type Reading = { readonly system: TextPart[]; readonly turns: OpenTurn[]; readonly content: Content }

/** A turn that further items may join. */
type OpenTurn =
  | { readonly role: 'user'; readonly isResults: boolean; readonly parts: UserPart[] }
  | { readonly role: 'assistant'; readonly parts: AssistantPart[] }

/** Reads `input`: a text, or items in their order. Throws `invalid_request`, `unresolvable_file_reference`. */
export function readInput(input: unknown, source: Pick<InlinedSource, 'hasStandIns'>): Input {
  const content = newContent(source)
  const reading: Reading = { system: [], turns: [], content }
  const items: readonly unknown[] = typeof input === 'string' ? [{ role: 'user', content: input }] : listOf(input)
  for (const [index, item] of items.entries()) readItem(reading, item, `input[${index}]`)
  return { system: reading.system, turns: reading.turns, content, itemCount: items.length }
}

function listOf(input: unknown): readonly unknown[] {
  if (Array.isArray(input) && input.length > 0 && input.length <= MAX_ITEMS) return input
  throw invalid('input', `input must be a text or a list of 1 to ${MAX_ITEMS} items.`)
}

function readItem(reading: Reading, item: unknown, param: string): void {
  if (!isRecord(item)) throw invalid(param, 'An item is an object.')
  switch (item['type'] ?? (item['role'] === undefined ? 'item_reference' : 'message')) {
    case 'message':
      readMessage(reading, item, param)
      break
    case 'function_call':
      addSaid(reading, [readCall(item, param)])
      break
    case 'function_call_output':
      addResult(reading, {
        kind: 'toolResult',
        callId: wordIn(item, 'call_id', param),
        parts: readParts(item['output'], `${param}.output`, reading.content),
        isError: item['status'] === 'failed',
      })
      break
    case 'reasoning':
      addSaid(reading, readThought(item, param, reading.content))
      break
    case 'item_reference':
      throw invalid(param, 'No items are kept here: send the item itself, not its id.')
    default:
      throw invalid(`${param}.type`, 'An item is a message, function_call, function_call_output or reasoning.')
  }
}

function readCall(item: Json, param: string): ToolCallPart {
  return {
    kind: 'toolCall',
    id: wordIn(item, 'call_id', param),
    name: wordIn(item, 'name', param),
    input: textIn(item, 'arguments', param),
  }
}

function readMessage(reading: Reading, item: Json, param: string): void {
  const { system, turns, content } = reading
  const at = `${param}.content`
  switch (item['role']) {
    case 'user': {
      const parts = readParts(item['content'], at, content)
      if (parts.length === 0) throw invalid(at, 'A message has content.')
      turns.push({ role: 'user', isResults: false, parts })
      break
    }
    case 'assistant':
      addSaid(reading, readTexts(item['content'], at, content))
      break
    case 'system':
    case 'developer':
      system.push(...readTexts(item['content'], at, content))
      break
    default:
      throw invalid(`${param}.role`, 'The role of a message is user, assistant, system or developer.')
  }
}

/**
 * Thoughts, words and calls that follow one another are one turn, because their results come after all of them. Words
 * that led to no call are a turn of their own.
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

/** A thought of an earlier answer: its own text where it was shown, else its summary; none where it has neither. */
function readThought(item: Json, param: string, content: Content): ReasoningPart[] {
  const shown = textsOf(item['content'], `${param}.content`)
  const text = shown === '' ? textsOf(item['summary'], `${param}.summary`) : shown
  content.spokenChars += text.length
  const sealed = openSeal(wordOf(item['encrypted_content']))
  return text === '' && sealed.redacted === undefined ? [] : [{ kind: 'reasoning', text, ...sealed }]
}

function textsOf(parts: unknown, param: string): string {
  if (parts === undefined || parts === null) return ''
  if (!Array.isArray(parts)) throw invalid(param, `${param} must be a list.`)
  return parts.map((part) => (isRecord(part) ? (wordOf(part['text']) ?? '') : '')).join('\n\n')
}

function wordIn(item: Json, name: string, param: string): string {
  const word = wordOf(item[name])
  if (word === undefined) throw invalid(`${param}.${name}`, `The item has a ${name}.`)
  return word
}

function textIn(item: Json, name: string, param: string): string {
  const text = item[name]
  if (typeof text !== 'string') throw invalid(`${param}.${name}`, `${name} is a text.`)
  return text
}
