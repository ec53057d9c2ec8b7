import type { AnswerWriter } from '#data-plane/wires/answer-writer.ts'
import { messagesErrorBody } from '#data-plane/wires/envelopes/messages.ts'
import type { FollowedObject } from '#data-plane/wires/followed-object.ts'
import { followObject } from '#data-plane/wires/followed-object.ts'
import type { PhaseMarks } from '#data-plane/wires/phase-marks.ts'
import { phaseMarks } from '#data-plane/wires/phase-marks.ts'
import { readJsonObject } from '#shared/json-members.ts'
import type { AnswerEvent } from '#shared/protocols/middle-form/answer.ts'
import { citationText } from './citations.ts'
import type { Between, Ended, EventStep, Idle, InBlock } from './events.ts'
import {
  citationDelta,
  closeBlock,
  endMessage,
  errorEvent,
  IDLE,
  inputDelta,
  makersCall,
  openText,
  openThinking,
  openTool,
  PING,
  redactedBlock,
  signatureDelta,
  startMessage,
  textDelta,
  thinkingDelta,
  wholeBlock,
} from './events.ts'
import type { HiddenThought } from './hidden-thought.ts'
import { hiddenThought } from './hidden-thought.ts'
import { messageHead, stopMembers } from './message-members.ts'
import { messagesUsageMembers } from './usage-json.ts'
import type { WriterOptions } from './writer-options.ts'

type Shown = Exclude<AnswerEvent, { readonly kind: 'finish' }>

type State = {
  readonly options: WriterOptions
  at: Idle | Between | InBlock | Ended
  /** The call of the open block, and the progress of its input. */
  tool: { readonly index: number; readonly input: FollowedObject } | undefined
  /** Pieces that arrived while the input of the open call was incomplete: blocks never overlap. */
  waiting: Shown[]
  readonly hidden: HiddenThought
  readonly phases: PhaseMarks
  isSigned: boolean
  hasTools: boolean
  /** True after a call whose input was cut off. */
  hasCutCall: boolean
  hasRefused: boolean
}

/** A streamed message. Nothing is sent before the first content, which brings the message's start with it. */
export function streamWriter(options: WriterOptions): AnswerWriter {
  const state: State = {
    options,
    at: IDLE,
    tool: undefined,
    waiting: [],
    hidden: hiddenThought(options.plan),
    phases: phaseMarks(options.plan),
    isSigned: false,
    hasTools: false,
    hasCutCall: false,
    hasRefused: false,
  }
  return {
    write: (event) => (event.kind === 'finish' ? '' : take(state, event)),
    finish(receipt, end) {
      const rest = drain(state, true)
      const isCut = state.hasCutCall || (state.tool !== undefined && !state.tool.input.isComplete())
      const hasTools = state.hasTools && !(isCut && end.reason === 'length')
      const delta = `{${stopMembers(end, hasTools, state.hasRefused)}}`
      const before = close(state)
      const { text, state: ended } = endMessage(before.state, delta, `{${messagesUsageMembers(receipt)}}`)
      state.at = ended
      return rest + before.text + text
    },
    fail: (error) => errorEvent(messagesErrorBody(error, options.plan.rid)),
    keepAlive: () => PING,
  }
}

function take(state: State, event: Shown): string {
  const { tool } = state
  // Most events are text after text.
  if (event.kind === 'text' && event.phase === undefined && state.at.at === 'text') return showText(state, event.text)
  if (tool !== undefined && event.kind === 'toolInput' && event.index === tool.index) {
    const text = feed(state, event.text)
    return state.waiting.length > 0 && tool.input.isComplete() ? text + drain(state, false) : text
  }
  if (tool !== undefined && (!tool.input.isComplete() || state.waiting.length > 0)) {
    state.waiting.push(event)
    return ''
  }
  return show(state, event)
}

/** Shows the waiting pieces, up to the next call with incomplete input; at the end all of them. */
function drain(state: State, isEnd: boolean): string {
  let text = ''
  while (state.waiting.length > 0) {
    const [event] = state.waiting
    if (event === undefined) break
    const { tool } = state
    if (tool !== undefined && !tool.input.isComplete() && !isEnd) break
    state.waiting.shift()
    text += show(state, event)
    // The pieces of a call's input belong after its start, wherever they were in the queue.
    if (event.kind === 'toolStart') text += gatherInput(state, event.index)
  }
  return text
}

function gatherInput(state: State, index: number): string {
  let text = ''
  const rest: Shown[] = []
  for (const event of state.waiting) {
    if (event.kind === 'toolInput' && event.index === index) text += feed(state, event.text)
    else rest.push(event)
  }
  state.waiting = rest
  return text
}

function show(state: State, event: Shown): string {
  switch (event.kind) {
    case 'refusal':
      state.hasRefused = true
      return showText(state, event.text)
    case 'text':
      return showText(state, event.text, event.phase)
    case 'toolStart': {
      const before = closeBeforeCall(state)
      const toolStep = openTool(before.state, state.hidden.idOf(event), event.name)
      state.at = toolStep.state
      state.tool = { index: event.index, input: followObject() }
      state.hasTools = true
      return before.text + toolStep.text
    }
    case 'toolInput':
    case 'toolMembers':
    case 'own':
      return ''
    case 'textStart': {
      const before = close(state)
      const textStep = openText(before.state, event.hasCitations)
      state.at = textStep.state
      return before.text + textStep.text
    }
    case 'citation': {
      const citation = citationText(event)
      return state.at.at === 'text' && citation !== undefined ? citationDelta(state.at, citation) : ''
    }
    case 'makersBlock': {
      const before = close(state)
      const makersStep = makersBlock(before.state, event.text)
      state.at = makersStep.state
      return before.text + makersStep.text
    }
    case 'reasoning':
    case 'signature':
    case 'redactedReasoning':
      // A ping in place of hidden reasoning shows the buyer that the answer is under way.
      if (state.options.showsThoughts) return showThought(state, event)
      if (event.kind === 'reasoning') state.hidden.add(event)
      return begin(state) + PING
  }
}

/** Closes the open block, and shows hidden reasoning that the provider expects back with the call. */
function closeBeforeCall(state: State): EventStep<Between> {
  const closedStep = close(state)
  const data = state.hidden.take()
  if (data === undefined) return closedStep
  const redactedStep = redactedBlock(closedStep.state, data)
  return { state: redactedStep.state, text: closedStep.text + redactedStep.text }
}

/** A block of a tool at the model's maker. Clients take the input of a call from its deltas. */
function makersBlock(from: Between, text: string): EventStep<Between> {
  const block = readJsonObject(text) ?? {}
  if (block['type'] !== 'server_tool_use') return wholeBlock(from, text)
  return makersCall(from, JSON.stringify({ ...block, input: {} }), JSON.stringify(block['input'] ?? {}))
}

/** Shows a piece of a text. When another phase begins, it is sealed in a block in front of the text. */
function showText(state: State, text: string, phase?: string): string {
  const mark = state.phases.take({ text, ...(phase !== undefined && { phase }) })
  if (state.at.at === 'text' && mark === undefined) return textDelta(state.at, text)
  const before = close(state)
  const sealed = mark === undefined ? { state: before.state, text: '' } : redactedBlock(before.state, mark)
  const textStep = openText(sealed.state)
  state.at = textStep.state
  return before.text + sealed.text + textStep.text + textDelta(textStep.state, text)
}

function showThought(
  state: State,
  event: Extract<Shown, { kind: 'reasoning' | 'signature' | 'redactedReasoning' }>,
): string {
  if (event.kind === 'redactedReasoning') {
    const before = close(state)
    const redactedStep = redactedBlock(before.state, event.text)
    state.at = redactedStep.state
    return before.text + redactedStep.text
  }
  let text = ''
  let { at } = state
  // A signature ends its block: later reasoning begins another one.
  if (at.at !== 'thinking' || (state.isSigned && event.kind === 'reasoning')) {
    const before = close(state)
    const thinkingStep = openThinking(before.state)
    text = before.text + thinkingStep.text
    at = thinkingStep.state
    state.at = at
    state.isSigned = false
  }
  if (event.kind === 'reasoning') return text + thinkingDelta(at, event.text)
  state.isSigned = true
  return text + signatureDelta(at, event.text)
}

function feed({ at, tool }: State, piece: string): string {
  const text = tool?.input.take(piece) ?? ''
  return text === '' || at.at !== 'tool' ? '' : inputDelta(at, text)
}

/** Begins the message unless it has begun. */
function begin(state: State): string {
  if (state.at.at !== 'idle') return ''
  const startStep = startMessage(state.at, startOf(state.options))
  state.at = startStep.state
  return startStep.text
}

/** Closes the open block; a message that has not begun begins. */
function close(state: State): EventStep<Between> {
  const { at } = state
  switch (at.at) {
    case 'idle': {
      const startStep = startMessage(at, startOf(state.options))
      state.at = startStep.state
      return startStep
    }
    case 'between':
      return { state: at, text: '' }
    case 'ended':
      // The pipeline writes nothing after the end; this branch only satisfies the types.
      return startMessage(IDLE, startOf(state.options))
    default: {
      const closedStep = closeBlock(at)
      state.at = closedStep.state
      if (state.tool?.input.isOpen()) state.hasCutCall = true
      state.tool = undefined
      return closedStep
    }
  }
}

/** The message at its start, with the provider's own count of the input if it has one, else our estimate. */
function startOf({ plan, inputEstimate, reported }: WriterOptions): string {
  const { inputTokens = inputEstimate, cachedTokens = 0, cacheWriteTokens = 0 } = reported()
  const fresh = Math.max(0, inputTokens - cachedTokens - cacheWriteTokens)
  return (
    `{${messageHead(plan)},"content":[],"stop_reason":null,"stop_sequence":null,` +
    `"usage":{"input_tokens":${fresh},"cache_creation_input_tokens":${cacheWriteTokens},` +
    `"cache_read_input_tokens":${cachedTokens},"output_tokens":1}}`
  )
}
