import type { BadAnswer, ReportedUsage } from '#data-plane/call.ts'
import type { AnswerEvent, AnswerReader, FinishReason } from '#data-plane/dialects/answer.ts'
import { NO_EVENTS } from '#data-plane/dialects/answer.ts'
import { isRecord, isTooDeep, readJsonObject } from '#data-plane/dialects/json-members.ts'
import { createSseReader } from '#data-plane/dialects/sse.ts'
import { mergeUsage } from '#data-plane/dialects/usage.ts'
import { errorInside, knownFinishReason } from './decoder.ts'
import type { ToolStates } from './tool-calls.ts'
import { newToolStates, takeToolCalls } from './tool-calls.ts'

type State = {
  events: AnswerEvent[]
  readonly tools: ToolStates
  readonly reported: ReportedUsage
  finish: string | null
  isDone: boolean
  failure: BadAnswer | undefined
}

const REASONS: Readonly<Record<string, FinishReason>> = {
  length: 'length',
  tool_calls: 'toolCalls',
  function_call: 'toolCalls',
  content_filter: 'contentFilter',
}

/** Reads the first choice of an answer in the OpenAI protocol as events. */
export function openAiReader(isStreamed: boolean): AnswerReader {
  const state: State = {
    events: [],
    tools: newToolStates(),
    reported: { insaneFields: 0 },
    finish: null,
    isDone: false,
    failure: undefined,
  }
  const shared = {
    isDone: () => state.isDone,
    failure: () => state.failure,
    reported: () => state.reported,
  }
  return isStreamed ? { ...shared, ...streamReading(state) } : { ...shared, ...wholeReading(state) }
}

type Reading = Pick<AnswerReader, 'push' | 'end'>

function streamReading(state: State): Reading {
  const sse = createSseReader((data) => takeData(state, data))
  return {
    push(chunk) {
      if (state.isDone || state.failure) return NO_EVENTS
      sse.push(chunk)
      if (sse.isTooLong()) state.failure = malformed('an event that is too long')
      if (state.isDone) endStream(state)
      return taken(state)
    },
    end() {
      if (state.isDone || state.failure) return NO_EVENTS
      sse.end()
      if (!state.failure && !state.isDone && state.finish === null) {
        state.failure = { kind: 'cut', status: 502, text: 'the stream has no end' }
      }
      if (!state.failure) endStream(state)
      return taken(state)
    },
  }
}

function taken(state: State): readonly AnswerEvent[] {
  const { events } = state
  if (events.length === 0) return NO_EVENTS
  state.events = []
  return events
}

function takeData(state: State, data: string): boolean {
  if (data === '[DONE]') {
    state.isDone = true
    return false
  }
  if (isTooDeep(data)) {
    state.failure = malformed('an event that nests too deep')
    return false
  }
  try {
    const frame: unknown = JSON.parse(data)
    if (isRecord(frame)) takeFrame(state, frame)
    else state.failure = malformed('a frame that is not an object')
  } catch {
    state.failure = malformed('a frame that is not JSON')
  }
  return state.failure === undefined
}

function takeFrame(state: State, frame: Readonly<Record<string, unknown>>): void {
  state.failure = errorInside(frame)
  if (state.failure) return
  const { usage, choices } = frame
  if (usage !== undefined && usage !== null) mergeUsage(state.reported, usage)
  if (!Array.isArray(choices)) return
  for (const choice of choices) {
    if (!isRecord(choice) || (choice['index'] ?? 0) !== 0) continue
    const { delta, finish_reason: reason } = choice
    if (isRecord(delta)) takeMessage(state, delta)
    if (reason === 'error') state.failure = { kind: 'error', status: 502, text: '' }
    else if (reason !== null && reason !== undefined) state.finish = knownFinishReason(reason)
  }
}

/** A delta or a whole message: thoughts first, then what was said, then calls. */
function takeMessage({ events, tools }: State, message: Readonly<Record<string, unknown>>): void {
  const thought = reasoningOf(message)
  if (thought !== '') events.push({ kind: 'reasoning', text: thought })
  const { content, refusal, tool_calls: calls, function_call: single } = message
  const text = typeof content === 'string' ? content : Array.isArray(content) ? joined(content) : ''
  if (text !== '') events.push({ kind: 'text', text })
  if (typeof refusal === 'string' && refusal !== '') events.push({ kind: 'refusal', text: refusal })
  if (Array.isArray(calls)) takeToolCalls(tools, calls, events)
  else if (isRecord(single)) takeToolCalls(tools, [{ index: 0, id: 'call_0', function: single }], events)
}

/** The thought under any of its three names; providers that send several send the same text under each. */
function reasoningOf(message: Readonly<Record<string, unknown>>): string {
  const { reasoning, reasoning_content: content, reasoning_details: details } = message
  if (typeof content === 'string' && content !== '') return content
  if (typeof reasoning === 'string' && reasoning !== '') return reasoning
  return Array.isArray(details) ? joined(details) : ''
}

function joined(parts: readonly unknown[]): string {
  let text = ''
  for (const part of parts) if (isRecord(part) && typeof part['text'] === 'string') text += part['text']
  return text
}

function endStream(state: State): void {
  state.events.push({ kind: 'finish', reason: REASONS[state.finish ?? ''] ?? 'stop', stopSequence: null })
}

function wholeReading(state: State): Reading {
  const chunks: Buffer[] = []
  return {
    push(chunk) {
      chunks.push(chunk)
      return NO_EVENTS
    },
    end() {
      takeWhole(state, Buffer.concat(chunks).toString('utf8'))
      return state.failure ? NO_EVENTS : taken(state)
    },
  }
}

function takeWhole(state: State, text: string): void {
  const body = readJsonObject(text)
  if (body === undefined) {
    state.failure = malformed('not a JSON object of a sane depth')
    return
  }
  state.failure = errorInside(body)
  if (state.failure) return
  const choice = Array.isArray(body['choices']) ? body['choices'][0] : undefined
  const message = isRecord(choice) ? choice['message'] : undefined
  if (!isRecord(choice) || !isRecord(message)) {
    state.failure = malformed('no choice with a message')
    return
  }
  mergeUsage(state.reported, body['usage'])
  state.finish = knownFinishReason(choice['finish_reason'])
  takeMessage(state, message)
  endStream(state)
}

function malformed(text: string): BadAnswer {
  return { kind: 'malformed', status: 502, text }
}
