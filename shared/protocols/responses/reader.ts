import type { JsonObject } from '#shared/json-members.ts'
import { isGiven, isRecord } from '#shared/json-members.ts'
import { malformed } from '#shared/protocols/answers/bad-answer.ts'
import { callId } from '#shared/protocols/answers/call-id.ts'
import { argumentsText } from '#shared/protocols/answers/call-pieces.ts'
import { isName, isText, wrongType } from '#shared/protocols/answers/chat-choice.ts'
import { citedSource, MAX_SOURCES } from '#shared/protocols/answers/cited-sources.ts'
import { errorInside } from '#shared/protocols/answers/openai-answer.ts'
import { mergeAnswerUsage } from '#shared/protocols/answers/reported-usage.ts'
import type { AnswerReader, FinishReason } from '#shared/protocols/middle-form/answer.ts'
import type { Reading } from '#shared/protocols/middle-form/answer-reading.ts'
import { answerReader, newReading } from '#shared/protocols/middle-form/answer-reading.ts'
import { encryptedDetail } from '#shared/protocols/responses-form.ts'
import { isSoundItem } from './sound-item.ts'

/** The most items that are read from one answer. */
const MAX_ITEMS = 1_024
const MAX_PHASE_CHARS = 64
/** The longest event, in characters. The last event repeats the whole answer, the instructions and the tools. */
const MAX_RESPONSE_EVENT_CHARS = 16_777_216
/** Separates two parts of a summary. */
const PARAGRAPH = '\n\n'

/** An item of the output, as far as it has arrived. */
type Item = {
  /** The index among the calls of the answer. Undefined until the call has begun. */
  call: number | undefined
  phase: string | undefined
  /** True once a piece of the item's text or input has arrived. */
  hasPieces: boolean
  /** The item's own id after its end event. */
  overAs: unknown
}

type State = Reading & {
  readonly items: Map<unknown, Item>
  readonly ids: Set<string>
  calls: number
  citations: number
}

/** Reads an answer of OpenAI's responses as events. */
export function responsesReader(isStreamed: boolean): AnswerReader {
  return readerOf(isStreamed, () => undefined)
}

/**
 * Reads the same answer, with the protocol's own events among the others: each follows the events that it was read as.
 */
export function ownResponsesReader(isStreamed: boolean): AnswerReader {
  return readerOf(isStreamed, (state, event) => {
    const { type, item } = event
    // The buyer gets these items unchanged, so their shape must be one that its client reads.
    const isItem = type === 'response.output_item.added' || type === 'response.output_item.done'
    if (isItem && !isSoundItem(item)) state.failure ??= malformed('an unreadable item')
    if (state.failure === undefined) state.events.push({ kind: 'own', event, bytes: otherBytes(event) })
  })
}

/** The bytes of content that only the protocol's own event contains: a call of a tool that only this protocol has. */
function otherBytes({ type, item }: JsonObject): number {
  if (type !== 'response.output_item.done' || !isRecord(item)) return 0
  const isOther = /_call$/.test(String(item['type'])) && !CALLS.has(item['type'])
  return isOther ? Buffer.byteLength(JSON.stringify(item)) : 0
}

const CALLS: ReadonlySet<unknown> = new Set(['function_call', 'custom_tool_call', 'tool_search_call'])

function readerOf(isStreamed: boolean, note: (state: State, event: JsonObject) => void): AnswerReader {
  const state: State = { items: new Map(), ids: new Set(), calls: 0, citations: 0, ...newReading() }
  const grammar = {
    takeFrame(event: JsonObject) {
      takeEvent(state, event)
      note(state, event)
    },
    // Some proxies add the end mark of another protocol. It does not end this stream.
    takeDoneMark: () => true,
    // Only the last event has the usage and the finish reason.
    takeStop: () => false,
    takeWhole(body: JsonObject) {
      takeEnd(state, body)
      const items: readonly unknown[] = Array.isArray(body['output']) ? body['output'] : []
      for (const item of items) note(state, { type: 'response.output_item.done', item })
      note(state, { type: 'response.completed', response: body })
    },
  }
  return answerReader(state, grammar, isStreamed, MAX_RESPONSE_EVENT_CHARS)
}

function takeEvent(state: State, event: JsonObject): void {
  const { type, delta } = event
  switch (type) {
    case 'response.output_text.delta':
      pushText(state, 'text', delta, itemAt(state, event))
      break
    case 'response.output_text.annotation.added':
      cite(state, event['annotation'])
      break
    case 'response.function_call_arguments.delta':
    case 'response.custom_tool_call_input.delta':
      pushInput(state, itemAt(state, event), delta, type === 'response.custom_tool_call_input.delta')
      break
    case 'response.reasoning_summary_text.delta':
    case 'response.reasoning_text.delta':
      pushText(state, 'reasoning', delta, itemAt(state, event))
      break
    case 'response.refusal.delta':
      pushText(state, 'refusal', delta, itemAt(state, event))
      break
    case 'response.reasoning_summary_part.added':
      if (itemAt(state, event)?.hasPieces === true) state.events.push({ kind: 'reasoning', text: PARAGRAPH })
      break
    case 'response.output_item.added':
      beginItem(state, event['item'], nextAt(state, event))
      break
    case 'response.output_item.done':
      endItem(state, event['item'], nextAt(state, event))
      break
    case 'response.output_text.done': {
      const item = itemAt(state, event)
      if (item?.hasPieces !== true) pushText(state, 'text', event['text'], item)
      break
    }
    case 'response.created':
    case 'response.in_progress':
      // Some hosts report the usage at the beginning only. Figures of later events replace it.
      if (isRecord(event['response'])) mergeAnswerUsage(state.reported, event['response'])
      break
    case 'response.completed':
    case 'response.incomplete':
    case 'response.failed':
      // A gateway may put the usage beside the response.
      mergeAnswerUsage(state.reported, event)
      if (isRecord(event['response'])) takeEnd(state, event['response'], type)
      else state.failure = malformed('an end without its response')
      break
    default:
      // Proxies in front of a provider send errors of other shapes, too.
      if (typeof type !== 'string' || !type.startsWith('response.')) state.failure = errorInside(event)
  }
}

/** The item that an event is about. Undefined for one beyond all that are read. */
function itemAt({ items }: State, { output_index: index, item_id: id }: JsonObject): Item | undefined {
  const key = index ?? id
  const knownItem = items.get(key)
  if (knownItem !== undefined || items.size >= MAX_ITEMS) return knownItem
  const item: Item = { call: undefined, phase: undefined, hasPieces: false, overAs: undefined }
  items.set(key, item)
  return item
}

/**
 * The item that begins or ends. Some providers give every item the same index; a new item then begins where the last
 * one has ended.
 */
function nextAt(state: State, event: JsonObject): Item | undefined {
  const { item, output_index: index, item_id: id } = event
  const over = state.items.get(index ?? id)?.overAs
  if (isRecord(item) && over !== undefined && over !== item['id']) state.items.delete(index ?? id)
  return itemAt(state, event)
}

function pushText(state: State, kind: 'text' | 'reasoning' | 'refusal', text: unknown, item: Item | undefined): void {
  if (!isText(text)) state.failure = wrongType(kind)
  if (typeof text !== 'string' || text === '' || item === undefined) return
  item.hasPieces = true
  const { phase } = item
  if (kind === 'text' && phase !== undefined) state.events.push({ kind, text, phase })
  else state.events.push({ kind, text })
}

function pushInput({ events }: State, item: Item | undefined, piece: unknown, isCustom: boolean): void {
  // A call that has not begun arrives whole at its end.
  if (item?.call === undefined) return
  const text = argumentsText(piece)
  if (text === '') return
  item.hasPieces = true
  events.push({ kind: 'toolInput', index: item.call, text, ...(isCustom && { isCustom }) })
}

/** Begins a call, whose name is in its start event. No other item needs its start event. */
function beginItem(state: State, value: unknown, item: Item | undefined): void {
  if (!isRecord(value) || item === undefined || item.call !== undefined) return
  const { type, name, namespace, phase } = value
  if (typeof phase === 'string') item.phase = phase.slice(0, MAX_PHASE_CHARS)
  const isSearch = type === 'tool_search_call' && value['execution'] === 'client'
  const isCustom = type === 'custom_tool_call'
  if (type !== 'function_call' && !isCustom && !isSearch) return
  if (!isSearch && !isName(name)) {
    state.failure = malformed('a call without a name')
    return
  }
  item.call = state.calls++
  state.events.push({
    kind: 'toolStart',
    index: item.call,
    id: callId(state.ids, value['call_id'], `call_${item.call}`),
    name: isSearch ? 'tool_search' : String(name),
    ...(typeof namespace === 'string' && { namespace }),
    ...(isCustom && { isCustom }),
    ...(isSearch && { isSearch }),
  })
}

/** Reads the content of an item's end event that has not arrived in pieces. */
function endItem(state: State, value: unknown, item: Item | undefined): void {
  if (!isRecord(value) || item === undefined) return
  beginItem(state, value, item)
  const { type } = value
  item.overAs = value['id']
  if (type === 'reasoning') {
    if (!item.hasPieces) pushText(state, 'reasoning', thoughtOf(value), item)
    const sealed = value['encrypted_content']
    if (!isText(sealed)) state.failure = wrongType('encrypted_content')
    if (typeof sealed === 'string' && sealed !== '')
      state.events.push({ kind: 'reasoning', text: '', details: [encryptedDetail(sealed)] })
  } else if (item.hasPieces) return
  else if (type === 'message') endMessage(state, value['content'], item)
  else pushInput(state, item, value['arguments'] ?? value['input'], type === 'custom_tool_call')
}

function endMessage(state: State, content: unknown, item: Item): void {
  for (const part of partsOf(content)) {
    if (part['type'] === 'refusal') pushText(state, 'refusal', part['refusal'], item)
    else if (part['type'] === 'output_text') {
      pushText(state, 'text', part['text'], item)
      if (Array.isArray(part['annotations'])) for (const one of part['annotations']) cite(state, one)
    }
  }
}

/** Notes a page that the text cites, up to a number of them. */
function cite(state: State, annotation: unknown): void {
  const source = citedSource(annotation)
  if (source === undefined || state.citations >= MAX_SOURCES) return
  state.citations++
  state.events.push({ kind: 'citation', source })
}

/** The reasoning itself where it is shown, else its summary. */
function thoughtOf({ content, summary }: JsonObject): string {
  const visible = partsOf(content).length > 0 ? content : summary
  return partsOf(visible)
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join(PARAGRAPH)
}

function partsOf(list: unknown): readonly JsonObject[] {
  return Array.isArray(list) ? list.filter(isRecord) : []
}

/** Reads the response object: its usage, its finish reason, and its output where that has not arrived in events. */
function takeEnd(state: State, response: JsonObject, type?: string): void {
  const { status, error, object, output, incomplete_details: details } = response
  mergeAnswerUsage(state.reported, response)
  state.failure ??= errorInside(isGiven(error) ? { error } : response)
  if (status === 'failed' || status === 'cancelled' || type === 'response.failed') {
    state.failure ??= { kind: 'error', status: 502, text: '' }
  }
  if (status === 'queued' || (status === 'in_progress' && type === undefined)) {
    state.failure ??= malformed('a response that is not over')
  }
  if (isGiven(object) && object !== 'response') state.failure ??= malformed('not a response')
  if (type === undefined && !Array.isArray(output)) state.failure ??= malformed('no output')
  if (state.failure) return
  if (state.items.size === 0 && Array.isArray(output)) {
    for (const [index, item] of output.entries()) endItem(state, item, itemAt(state, { output_index: index }))
  }
  const reason = finishOf(state, isRecord(details) ? details['reason'] : undefined, status ?? type)
  state.isDone = true
  state.events.push({ kind: 'finish', reason, stopSequence: null })
}

function finishOf({ calls }: State, reason: unknown, status: unknown): FinishReason {
  if (reason === 'content_filter') return 'contentFilter'
  if (status === 'incomplete' || status === 'response.incomplete' || isGiven(reason)) return 'length'
  return calls > 0 ? 'toolCalls' : 'stop'
}
