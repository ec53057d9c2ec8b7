import type { JsonObject } from '#shared/json-members.ts'
import { elementTexts, isGiven, isRecord, memberTextIn } from '#shared/json-members.ts'
import type { BadAnswer } from '#shared/protocols/answers/bad-answer.ts'
import { malformed } from '#shared/protocols/answers/bad-answer.ts'
import { callId } from '#shared/protocols/answers/call-id.ts'
import { isAnswerRole, isName, isText, NOT_THE_ASSISTANT, wrongType } from '#shared/protocols/answers/chat-choice.ts'
import { errorInside } from '#shared/protocols/answers/openai-answer.ts'
import { statusOf } from '#shared/protocols/answers/refusal-causes.ts'
import type { AnswerReader, FinishReason } from '#shared/protocols/middle-form/answer.ts'
import type { AnswerFinish, Reading } from '#shared/protocols/middle-form/answer-reading.ts'
import { answerReader, newReading, pushFinish, pushText } from '#shared/protocols/middle-form/answer-reading.ts'
import type { AmazonMessage } from './event-stream.ts'
import { amazonFrames } from './event-stream.ts'
import { readBedrockError } from './refusal.ts'
import { mergeConverseUsage } from './usage.ts'

/** The most blocks that are read from one answer. */
const MAX_BLOCKS = 1_024
const MAX_STOP_CHARS = 4_096

type State = Reading & {
  /** The index of each open call among the calls, by the index of its block. */
  readonly tools: Map<unknown, number>
  /** The ids of its calls so far. */
  readonly ids: Set<string>
  toolCount: number
  finish: AnswerFinish | undefined
}

const REASONS: Readonly<Record<string, FinishReason>> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'toolCalls',
  content_filtered: 'contentFilter',
  guardrail_intervened: 'contentFilter',
}
/** Finish reasons of an answer that the model failed to format. */
const MALFORMED: ReadonlySet<unknown> = new Set(['malformed_model_output', 'malformed_tool_use'])

/** Reads an answer of Converse as events. */
export function converseReader(isStreamed: boolean): AnswerReader {
  const state: State = { tools: new Map(), ids: new Set(), toolCount: 0, finish: undefined, ...newReading() }
  const takeStop = () => {
    // A stream with a stop reason may lack its figures.
    if (state.finish !== undefined) pushFinish(state, state.finish)
    return state.finish !== undefined
  }
  const takeWhole = (body: JsonObject, text: string) => takeAnswer(state, body, text)
  const frames = () => amazonFrames(state, { takeMessage: (message) => takeMessage(state, message), takeStop })
  return answerReader(state, { takeWhole, frames }, isStreamed)
}

function takeMessage(state: State, { kind, type, payload }: AmazonMessage): void {
  if (kind === 'exception') {
    state.failure = failureOf(type, payload)
    return
  }
  const index = payload['contentBlockIndex']
  switch (type) {
    case 'contentBlockDelta':
      if (isRecord(payload['delta'])) takeDelta(state, index, payload['delta'])
      else state.failure = wrongType('delta')
      break
    case 'contentBlockStart':
      if (isRecord(payload['start'])) startBlock(state, index, payload['start'])
      break
    case 'contentBlockStop':
      state.tools.delete(index)
      break
    case 'messageStart':
      if (!isAnswerRole(payload['role'])) state.failure = NOT_THE_ASSISTANT
      break
    case 'messageStop':
      takeFinish(state, payload)
      break
    case 'metadata':
      mergeConverseUsage(state.reported, payload)
      // The figures follow the stop reason, and nothing follows them.
      if (state.finish === undefined) return
      state.isDone = true
      pushFinish(state, state.finish)
      break
  }
}

/** An exception in the stream is a refusal under a good status. */
function failureOf(type: string, payload: JsonObject): BadAnswer {
  const text = JSON.stringify({ ...payload, __type: type })
  const status = statusOf(200, readBedrockError(text))
  return { kind: 'error', status: status === 200 ? 500 : status, text }
}

function startBlock(state: State, index: unknown, start: JsonObject): void {
  const call = start['toolUse']
  if (!isRecord(call) || state.toolCount >= MAX_BLOCKS) return
  startCall(state, index, call)
}

function startCall(state: State, index: unknown, { toolUseId: id, name }: JsonObject): number | undefined {
  if (!isText(id) || !isName(name)) {
    state.failure = malformed('an unreadable call')
    return undefined
  }
  const place = state.toolCount++
  state.tools.set(index, place)
  state.events.push({
    kind: 'toolStart',
    index: place,
    id: callId(state.ids, id, `tooluse_${place}`),
    name: typeof name === 'string' ? name : '',
  })
  return place
}

/** A text often has no start of its block. A call has one, with its name. */
function takeDelta(state: State, index: unknown, delta: JsonObject): void {
  const { text, toolUse, reasoningContent } = delta
  if (isGiven(text)) pushText(state, 'text', text)
  if (isRecord(reasoningContent)) takeThought(state, reasoningContent)
  if (!isRecord(toolUse)) return
  const place = state.tools.get(index)
  const piece = toolUse['input']
  if (!isText(piece) || place === undefined) state.failure = malformed('a piece of a call that did not begin')
  else if (typeof piece === 'string' && piece !== '') {
    state.events.push({ kind: 'toolInput', index: place, text: piece })
  }
}

/** A piece of reasoning in a stream, or all of it in a whole answer. */
function takeThought(state: State, thought: JsonObject): void {
  const { reasoningText, redactedContent } = thought
  const { text, signature } = isRecord(reasoningText) ? reasoningText : thought
  pushText(state, 'redactedReasoning', redactedContent)
  pushText(state, 'reasoning', text)
  pushText(state, 'signature', signature)
}

function takeFinish(state: State, { stopReason, additionalModelResponseFields: fields }: JsonObject): void {
  if (!isText(stopReason)) state.failure = wrongType('stopReason')
  if (MALFORMED.has(stopReason)) state.failure = malformed('an answer that the model did not complete')
  if (typeof stopReason !== 'string' || state.failure) return
  const sequence = isRecord(fields) ? fields['stop_sequence'] : undefined
  const stopSequence =
    stopReason === 'stop_sequence' && typeof sequence === 'string' ? sequence.slice(0, MAX_STOP_CHARS) : null
  const isKnown = Object.hasOwn(REASONS, stopReason)
  state.finish = { reason: isKnown ? (REASONS[stopReason] ?? 'stop') : 'stop', stopSequence }
}

function takeAnswer(state: State, body: JsonObject, text: string): void {
  state.failure = errorInside(body)
  if (state.failure) return
  mergeConverseUsage(state.reported, body)
  const { output } = body
  const message = isRecord(output) ? output['message'] : undefined
  const content = isRecord(message) ? message['content'] : undefined
  if (isRecord(message) && !isAnswerRole(message['role'])) state.failure = NOT_THE_ASSISTANT
  if (!Array.isArray(content)) state.failure ??= malformed('no content')
  if (state.failure || !Array.isArray(content)) return
  const hasCalls = content.some((block) => isRecord(block) && isRecord(block['toolUse']))
  const texts = hasCalls ? elementTexts(memberAt(text, ['output', 'message', 'content'])) : []
  for (const [index, block] of content.slice(0, MAX_BLOCKS).entries()) {
    if (isRecord(block)) takeBlock(state, index, block, texts[index] ?? '')
    else state.failure ??= malformed('an unreadable block')
    if (state.failure) return
  }
  takeFinish(state, body)
  if (!state.failure) pushFinish(state, state.finish)
}

/** `text` is the block's own text, so that a call's input is passed on letter by letter. */
function takeBlock(state: State, index: number, block: JsonObject, text: string): void {
  const { toolUse, reasoningContent } = block
  if (isGiven(block['text'])) pushText(state, 'text', block['text'])
  if (isRecord(reasoningContent)) takeThought(state, reasoningContent)
  if (!isRecord(toolUse)) return
  const place = startCall(state, index, toolUse)
  const { input } = toolUse
  if (isGiven(input) && !isRecord(input)) state.failure = wrongType('input')
  else if (place !== undefined && isRecord(input) && Object.keys(input).length > 0) {
    state.events.push({ kind: 'toolInput', index: place, text: memberAt(text, ['toolUse', 'input']) })
  }
}

/** The text of a member within objects. Empty where there is none. */
function memberAt(text: string, path: readonly string[]): string {
  return path.reduce((within, key) => memberTextIn(within, key) ?? '', text)
}
