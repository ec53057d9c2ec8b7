import type { JsonObject } from '#shared/json-members.ts'
import { hasText, isRecord } from '#shared/json-members.ts'
import type { CallAssembly, CallPiece } from '#shared/protocols/answers/call-pieces.ts'
import { assembleCalls } from '#shared/protocols/answers/call-pieces.ts'
import {
  choiceFault,
  contentOf,
  deltaFault,
  isReason,
  refusalOf,
  thoughtOf,
  wrongType,
} from '#shared/protocols/answers/chat-choice.ts'
import type { CitedSources } from '#shared/protocols/answers/cited-sources.ts'
import { takeSources } from '#shared/protocols/answers/cited-sources.ts'
import { errorInside, openAiFinishReason } from '#shared/protocols/answers/openai-answer.ts'
import { mergeAnswerUsage } from '#shared/protocols/answers/reported-usage.ts'
import type { AnswerEvent, AnswerReader, FinishReason } from '#shared/protocols/middle-form/answer.ts'
import type { Reading } from '#shared/protocols/middle-form/answer-reading.ts'
import { answerReader, newReading } from '#shared/protocols/middle-form/answer-reading.ts'

type State = Reading & { readonly calls: CallAssembly; readonly sources: CitedSources; finish: string | null }

const REASONS: Readonly<Record<string, FinishReason>> = {
  length: 'length',
  tool_calls: 'toolCalls',
  function_call: 'toolCalls',
  content_filter: 'contentFilter',
}

/** Reads the first choice of an answer in the OpenAI protocol as events. */
export function openAiReader(isStreamed: boolean): AnswerReader {
  const state: State = { calls: assembleCalls(), sources: new Map(), finish: null, ...newReading() }
  const grammar = {
    takeFrame: (frame: JsonObject) => takeFrame(state, frame),
    takeDoneMark() {
      state.isDone = true
      addFinish(state)
      return false
    },
    takeStop() {
      if (state.finish !== null) addFinish(state)
      return state.finish !== null
    },
    takeWhole: (body: JsonObject) => takeWhole(state, body),
  }
  return answerReader(state, grammar, isStreamed)
}

function takeFrame(state: State, frame: JsonObject): void {
  state.failure = errorInside(frame)
  if (state.failure) return
  const { choices } = frame
  mergeAnswerUsage(state.reported, frame)
  takeSources(state.sources, frame)
  if (!Array.isArray(choices)) return
  for (const choice of choices) {
    if (!isRecord(choice) || (choice['index'] ?? 0) !== 0) continue
    const { delta, finish_reason: reason } = choice
    if (isRecord(delta)) state.failure = deltaFault(delta)
    if (!isReason(reason)) state.failure ??= wrongType('finish_reason')
    if (state.failure) return
    if (isRecord(delta)) takeMessage(state, delta)
    if (reason === 'error') state.failure = { kind: 'error', status: 502, text: '' }
    else if (reason !== null && reason !== undefined) state.finish = openAiFinishReason(reason)
  }
}

/** Reads a delta or a whole message: reasoning first, then text, then calls. */
function takeMessage(state: State, message: JsonObject): void {
  const { events, calls: assembly } = state
  takeSources(state.sources, message)
  const thought = readThought(message)
  if (thought !== undefined) events.push(thought)
  const { tool_calls: calls, function_call: single } = message
  const text = contentOf(message)
  if (text !== '') events.push({ kind: 'text', text })
  const refusal = refusalOf(message)
  if (refusal !== '') events.push({ kind: 'refusal', text: refusal })
  if (Array.isArray(calls)) takeCalls(state, assembly.take(calls))
  else if (isRecord(single)) takeCalls(state, assembly.take([{ index: 0, id: 'call_0', function: single }]))
}

/**
 * The reasoning in a message or in a piece of one. Details are included where they contain parts that only their maker
 * can read.
 */
function readThought(message: JsonObject): AnswerEvent | undefined {
  const text = thoughtOf(message)
  const { reasoning_details: reasoningDetails, reasoning } = message
  const details = Array.isArray(reasoningDetails) ? reasoningDetails.filter(isRecord) : []
  const isOpaque = details.some(isOpaqueDetail)
  if (text === '' && !isOpaque) return undefined
  const member = hasText(message['reasoning_content'])
    ? 'reasoning_content'
    : hasText(reasoning)
      ? 'reasoning'
      : undefined
  return { kind: 'reasoning', text, ...(member !== undefined && { member }), ...(isOpaque && { details }) }
}

function isOpaqueDetail({ type, data, signature }: JsonObject): boolean {
  return type === 'reasoning.encrypted' ? hasText(data) : hasText(signature)
}

function takeCalls({ events }: State, pieces: readonly CallPiece[]): void {
  for (const { index, head, input, members } of pieces) {
    if (head !== undefined)
      events.push({ kind: 'toolStart', index, ...head, ...(members !== undefined && { members }) })
    else if (members !== undefined) events.push({ kind: 'toolMembers', index, members })
    if (input !== '') events.push({ kind: 'toolInput', index, text: input })
  }
}

function addFinish(state: State): void {
  takeCalls(state, state.calls.end())
  for (const source of state.sources.values()) state.events.push({ kind: 'citation', source })
  state.sources.clear()
  state.events.push({ kind: 'finish', reason: REASONS[state.finish ?? ''] ?? 'stop', stopSequence: null })
}

function takeWhole(state: State, body: JsonObject): void {
  state.failure = errorInside(body)
  if (state.failure) return
  const choice: unknown = Array.isArray(body['choices']) ? body['choices'][0] : undefined
  state.failure = choiceFault(choice)
  const message = isRecord(choice) ? choice['message'] : undefined
  if (state.failure || !isRecord(choice) || !isRecord(message)) return
  mergeAnswerUsage(state.reported, body)
  takeSources(state.sources, body)
  state.finish = openAiFinishReason(choice['finish_reason'])
  takeMessage(state, message)
  addFinish(state)
}
