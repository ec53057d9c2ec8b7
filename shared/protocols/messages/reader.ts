import type { JsonObject } from '#shared/json-members.ts'
import { elementTexts, isGiven, isRecord, memberTextIn, readJsonObject } from '#shared/json-members.ts'
import { malformed } from '#shared/protocols/answers/bad-answer.ts'
import { callId } from '#shared/protocols/answers/call-id.ts'
import { isAnswerRole, isName, isText, NOT_THE_ASSISTANT, wrongType } from '#shared/protocols/answers/chat-choice.ts'
import { errorInside } from '#shared/protocols/answers/openai-answer.ts'
import type { AnswerReader, FinishReason } from '#shared/protocols/middle-form/answer.ts'
import type { AnswerFinish, Reading } from '#shared/protocols/middle-form/answer-reading.ts'
import { answerReader, newReading, pushFinish, pushText } from '#shared/protocols/middle-form/answer-reading.ts'
import type { FreshInput } from './usage.ts'
import { mergeMessagesUsage } from './usage.ts'

/** The most blocks that are read from one answer. */
const MAX_BLOCKS = 1_024
const MAX_STOP_CHARS = 4_096

/** An open block of a call: its index among the calls, and the input in its start event. */
type OpenTool = { readonly index: number; readonly opening: string; hasInput: boolean }

type State = Reading & {
  readonly input: FreshInput
  readonly tools: Map<unknown, OpenTool>
  /** The ids of its calls so far. */
  readonly ids: Set<string>
  toolCount: number
  /** Open blocks of tools that run at the model's maker, with the pieces of their input. */
  readonly makers: Map<unknown, { readonly block: JsonObject; input: string }>
  makersCount: number
  /** True after a text with citations of its own. */
  hasCitations: boolean
  finish: AnswerFinish | undefined
}

const REASONS: Readonly<Record<string, FinishReason>> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'toolCalls',
  refusal: 'contentFilter',
  pause_turn: 'paused',
}

/** Reads an answer in the messages protocol as events. */
export function messagesReader(isStreamed: boolean): AnswerReader {
  const state: State = {
    input: { fresh: 0 },
    tools: new Map(),
    toolCount: 0,
    makers: new Map(),
    makersCount: 0,
    hasCitations: false,
    finish: undefined,
    ids: new Set(),
    ...newReading(),
  }
  const grammar = {
    takeFrame: (event: JsonObject, text: string) => takeEvent(state, event, text),
    // Some proxies add the end mark of another protocol. It does not end this stream.
    takeDoneMark: () => true,
    takeStop() {
      // A stream that has given its stop reason may lack its last event.
      if (state.finish !== undefined) pushFinish(state, state.finish)
      return state.finish !== undefined
    },
    takeWhole: (body: JsonObject, text: string) => takeWhole(state, body, text),
  }
  return answerReader(state, grammar, isStreamed)
}

function takeEvent(state: State, event: JsonObject, text: string): void {
  switch (event['type']) {
    case 'content_block_delta':
      if (isRecord(event['delta'])) takeDelta(state, event['index'], event['delta'])
      else state.failure = wrongType('delta')
      break
    case 'content_block_start':
      startBlock(state, event['index'], event['content_block'], memberTextIn(text, 'content_block'))
      break
    case 'content_block_stop':
      stopBlock(state, event['index'])
      break
    case 'message_start':
      if (isRecord(event['message'])) takeUsage(state, event['message']['usage'], false)
      break
    case 'message_delta':
      if (isRecord(event['delta'])) takeFinish(state, event['delta'])
      takeUsage(state, event['usage'], true)
      break
    case 'message_stop':
      state.isDone = true
      pushFinish(state, state.finish)
      break
    default:
      // Proxies in front of a provider send errors of other shapes, too.
      state.failure = errorInside(event)
  }
}

function takeUsage(state: State, usage: unknown, isFinal: boolean): void {
  mergeMessagesUsage(state.reported, state.input, usage, isFinal)
}

function takeFinish(state: State, { stop_reason: reason, stop_sequence: sequence }: JsonObject): void {
  if (!isText(reason)) state.failure = wrongType('stop_reason')
  if (typeof reason !== 'string') return
  const isKnown = Object.hasOwn(REASONS, reason)
  const stopSequence =
    reason === 'stop_sequence' && typeof sequence === 'string' ? sequence.slice(0, MAX_STOP_CHARS) : null
  state.finish = { reason: isKnown ? (REASONS[reason] ?? 'stop') : 'stop', stopSequence }
}

/** `text` is the block's own text, so that the input of a call in it is passed on unchanged. */
function startBlock(state: State, index: unknown, block: unknown, text: string | undefined): void {
  if (!isRecord(block) || !isBlock(block)) {
    state.failure = malformed('an unreadable block')
    return
  }
  switch (block['type']) {
    case 'tool_use': {
      if (state.toolCount >= MAX_BLOCKS) return
      const opening = inputText(block['input'], text)
      const tool = { index: state.toolCount++, opening, hasInput: false }
      state.tools.set(index, tool)
      state.events.push({ kind: 'toolStart', index: tool.index, ...namesOf(state.ids, block, tool.index) })
      break
    }
    case 'redacted_thinking':
      pushText(state, 'redactedReasoning', block['data'])
      break
    case 'thinking':
      pushText(state, 'reasoning', block['thinking'])
      pushText(state, 'signature', block['signature'])
      break
    case 'text':
      startText(state, block)
      break
    default:
      if (!isMakersBlock(block) || state.makersCount >= MAX_BLOCKS) return
      state.makersCount++
      state.makers.set(index, { block, input: '' })
  }
}

/** Blocks of tools that run at the model's maker, and of their results. */
const MAKERS_BLOCK = /^(?:server_tool_use|[a-z_]{1,60}_tool_result)$/

function isMakersBlock({ type }: JsonObject): boolean {
  return typeof type === 'string' && type !== 'mcp_tool_result' && MAKERS_BLOCK.test(type)
}

/** A text with citations stays separate from other texts, because its citations are about the whole text. */
function startText(state: State, { text, citations }: JsonObject): void {
  const hasCitations = Array.isArray(citations)
  if (hasCitations || state.hasCitations) state.events.push({ kind: 'textStart', hasCitations })
  state.hasCitations = hasCitations
  pushText(state, 'text', text)
  if (hasCitations) for (const citation of citations.slice(0, MAX_BLOCKS)) pushCitation(state, citation)
}

function pushCitation({ events }: State, citation: unknown): void {
  if (!isRecord(citation)) return
  const { url, title, cited_text: citedText } = citation
  const source =
    typeof url === 'string' && url !== ''
      ? {
          url,
          title: typeof title === 'string' ? title : '',
          citedText: typeof citedText === 'string' ? citedText : '',
        }
      : undefined
  events.push({ kind: 'citation', own: JSON.stringify(citation), ...(source !== undefined && { source }) })
}

/** True when the members of a block that are read have their types. A block of an unknown type may have any members. */
function isBlock(block: JsonObject): boolean {
  switch (block['type']) {
    case 'tool_use':
      return isText(block['id']) && isName(block['name']) && (!isGiven(block['input']) || isRecord(block['input']))
    case 'redacted_thinking':
      return typeof block['data'] === 'string'
    case 'thinking':
      return isText(block['thinking']) && isText(block['signature'])
    case 'text':
      return isText(block['text'])
    default:
      return typeof block['type'] === 'string'
  }
}

function namesOf(
  ids: Set<string>,
  { id, name }: JsonObject,
  index: number,
): { readonly id: string; readonly name: string } {
  return { id: callId(ids, id, `toolu_${index}`), name: typeof name === 'string' ? name : '' }
}

/** An input object as text. An empty object counts as none, because its pieces are still to come. */
function inputText(input: unknown, text: string | undefined): string {
  if (!isRecord(input) || Object.keys(input).length === 0) return ''
  return (text === undefined ? undefined : memberTextIn(text, 'input')) ?? JSON.stringify(input)
}

function takeDelta(state: State, index: unknown, delta: JsonObject): void {
  switch (delta['type']) {
    case 'text_delta':
      pushText(state, 'text', delta['text'])
      break
    case 'thinking_delta':
      pushText(state, 'reasoning', delta['thinking'])
      break
    case 'signature_delta':
      pushText(state, 'signature', delta['signature'])
      break
    case 'citations_delta':
      pushCitation(state, delta['citation'])
      break
    case 'input_json_delta': {
      const maker = state.makers.get(index)
      if (maker !== undefined && typeof delta['partial_json'] === 'string') maker.input += delta['partial_json']
      const tool = state.tools.get(index)
      const piece = delta['partial_json']
      if (!isText(piece)) state.failure = wrongType('partial_json')
      if (tool === undefined || typeof piece !== 'string' || piece === '') return
      tool.hasInput = true
      state.events.push({ kind: 'toolInput', index: tool.index, text: piece })
    }
  }
}

/** Adds the input of a call whose start event contained all of it. */
function stopBlock(state: State, index: unknown): void {
  const maker = state.makers.get(index)
  if (maker !== undefined) {
    state.makers.delete(index)
    const input = maker.input === '' ? undefined : readJsonObject(maker.input)
    const block = input === undefined ? maker.block : { ...maker.block, input }
    state.events.push({ kind: 'makersBlock', text: JSON.stringify(block) })
    return
  }
  const tool = state.tools.get(index)
  if (tool === undefined) return
  state.tools.delete(index)
  if (!tool.hasInput && tool.opening !== '') {
    state.events.push({ kind: 'toolInput', index: tool.index, text: tool.opening })
  }
}

function takeWhole(state: State, body: JsonObject, text: string): void {
  state.failure = errorInside(body)
  if (state.failure) return
  const { content, role, type } = body
  if (!isAnswerRole(role)) state.failure = NOT_THE_ASSISTANT
  else if (isGiven(type) && type !== 'message') state.failure = malformed('not a message')
  if (!Array.isArray(content)) state.failure ??= malformed('no content')
  if (state.failure || !Array.isArray(content)) return
  const hasCalls = content.some((block) => isRecord(block) && block['type'] === 'tool_use')
  const texts = hasCalls ? elementTexts(memberTextIn(text, 'content') ?? '') : []
  for (const [index, block] of content.slice(0, MAX_BLOCKS).entries()) {
    startBlock(state, index, block, texts[index])
    if (state.failure) return
    stopBlock(state, index)
  }
  takeFinish(state, body)
  takeUsage(state, body['usage'], true)
  pushFinish(state, state.finish)
}
