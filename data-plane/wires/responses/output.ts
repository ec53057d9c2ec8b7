import type { ModelPlan } from '#data-plane/call.ts'
import { makerOf } from '#data-plane/wires/maker-of.ts'
import { withSeal } from '#data-plane/wires/turn-seal.ts'
import type { JsonObject } from '#shared/json-members.ts'
import type { CitedSource } from '#shared/protocols/answers/cited-sources.ts'
import type { AnswerEvent } from '#shared/protocols/middle-form/answer.ts'
import type { ItemStatus, OpenCall, OpenMessage, OpenPart, OpenThought } from './items.ts'
import { annotationText, callText, messageText, partText, summaryText, thoughtText } from './items.ts'
import type { ResponseWriter } from './response-object.ts'

/** Every event of the grammar, in the order of an item's events. */
type EventType =
  | 'response.created'
  | 'response.in_progress'
  | 'response.output_item.added'
  | 'response.content_part.added'
  | 'response.output_text.delta'
  | 'response.output_text.annotation.added'
  | 'response.output_text.done'
  | 'response.refusal.delta'
  | 'response.refusal.done'
  | 'response.content_part.done'
  | 'response.reasoning_summary_part.added'
  | 'response.reasoning_summary_text.delta'
  | 'response.reasoning_summary_text.done'
  | 'response.reasoning_summary_part.done'
  | 'response.function_call_arguments.delta'
  | 'response.function_call_arguments.done'
  | 'response.custom_tool_call_input.delta'
  | 'response.custom_tool_call_input.done'
  | 'response.output_item.done'
  | `response.${ResponseEnd}`

/** The ways in which a response can end. */
export type ResponseEnd = 'completed' | 'incomplete' | 'failed'

/**
 * The phase of the answer. A message or a reasoning item ends before anything else begins; calls stay open side by side
 * until the end, because providers mix the pieces of parallel calls. Only the steps from one phase to the next send
 * events, so that none can be out of order.
 */
type Phase =
  | { readonly at: 'before' }
  | { readonly at: 'between' }
  | { readonly at: 'message'; readonly message: OpenMessage }
  | { readonly at: 'thought'; readonly thought: OpenThought }
  | { readonly at: 'over' }

type State = {
  readonly plan: ModelPlan
  readonly response: ResponseWriter
  readonly isStreamed: boolean
  readonly wantsSealed: boolean
  phase: Phase
  sequence: number
  out: string
  /** Number of started items: the index of the next one. */
  places: number
  /** Finished items, as JSON text at their indexes. */
  readonly done: (string | undefined)[]
  readonly calls: Map<number, OpenCall>
}

/** A response under construction. */
export type ResponseOutput = {
  /** Takes an event and returns its output events; an empty text when they are not wanted. */
  take(event: AnswerEvent): string
  /** Ends the open items. The last item of a truncated answer is incomplete. */
  close(isCutShort: boolean): string
  /** The last event, with the whole response in it, except open items. */
  end(terminal: ResponseEnd, response: (items: string) => string): string
  /** The finished items, separated by commas. */
  items(): string
}

export type OutputOptions = Pick<State, 'plan' | 'response' | 'isStreamed' | 'wantsSealed'>

const BETWEEN: Phase = { at: 'between' }

export function createOutput(options: OutputOptions): ResponseOutput {
  const state: State = {
    ...options,
    phase: { at: 'before' },
    sequence: 0,
    out: '',
    places: 0,
    done: [],
    calls: new Map(),
  }
  return {
    take(event) {
      if (state.phase.at !== 'over') take(state, event)
      return takeOut(state)
    },
    close(isCutShort) {
      closeAll(state, isCutShort ? 'incomplete' : 'completed')
      return takeOut(state)
    },
    end(terminal, response) {
      if (state.phase.at === 'over') return ''
      if (state.phase.at === 'before') begin(state)
      state.phase = { at: 'over' }
      emit(state, `response.${terminal}`, `"response":${response(itemsOf(state))}`)
      return takeOut(state)
    },
    items: () => itemsOf(state),
  }
}

function takeOut(state: State): string {
  const { out } = state
  state.out = ''
  return out
}

function itemsOf({ done }: State): string {
  return done.filter((item) => item !== undefined).join(',')
}

function emit(state: State, type: EventType, members: string): void {
  if (!state.isStreamed) return
  state.out += `event: ${type}\ndata: {"type":"${type}","sequence_number":${state.sequence++},${members}}\n\n`
}

function take(state: State, event: AnswerEvent): void {
  switch (event.kind) {
    case 'text':
      say(state, event.kind, event.text, event.phase)
      break
    case 'refusal':
      say(state, event.kind, event.text, openPhase(state))
      break
    case 'reasoning':
      think(state, event)
      break
    case 'signature':
      seal(state, { kind: 'signature', text: event.text })
      break
    case 'redactedReasoning':
      leave(state, 'completed')
      seal(state, { kind: 'redacted', text: event.text })
      break
    case 'toolStart':
      startCall(state, event)
      break
    case 'toolInput':
      addInput(state, event.index, event.text)
      break
    case 'toolMembers':
      addMembers(state, event.index, event.members)
      break
    case 'citation':
      if (event.source !== undefined) cite(state, event.source)
      break
    // This protocol has no place for blocks of another maker's tool.
    case 'textStart':
    case 'makersBlock':
    case 'own':
    case 'finish':
      break
  }
}

function begin(state: State): void {
  const response = `"response":${state.isStreamed ? state.response({ status: 'in_progress', output: '' }) : ''}`
  emit(state, 'response.created', response)
  emit(state, 'response.in_progress', response)
  state.phase = BETWEEN
}

/** Ends an open message or reasoning item. */
function leave(state: State, status: ItemStatus): void {
  const { phase } = state
  if (phase.at === 'before') begin(state)
  else if (phase.at === 'message') endMessage(state, phase.message, status)
  else if (phase.at === 'thought') endThought(state, phase.thought)
}

function place(state: State, prefix: string): { readonly place: number; readonly id: string } {
  const at = state.places++
  return { place: at, id: `${prefix}_${state.plan.rid}_${at}` }
}

function addItem(state: State, at: number, item: string): void {
  emit(state, 'response.output_item.added', `"output_index":${at},"item":${item}`)
}

function endItem(state: State, at: number, item: string): void {
  state.done[at] = item
  emit(state, 'response.output_item.done', `"output_index":${at},"item":${item}`)
}

// Messages

/** The phase of the message that is open. */
function openPhase({ phase }: State): string | undefined {
  return phase.at === 'message' ? phase.message.phase : undefined
}

/** A text of another phase begins another message. */
function say(state: State, kind: OpenPart['kind'], text: string, phase: string | undefined): void {
  const open = state.phase.at === 'message' && state.phase.message.phase === phase ? state.phase.message : undefined
  const message = open ?? startMessage(state, kind, phase)
  if (message.part.kind !== kind) {
    endPart(state, message)
    message.part = startPart(state, message, kind)
  }
  message.part.text += text
  const name = kind === 'text' ? 'output_text' : 'refusal'
  const rest = kind === 'text' ? ',"logprobs":[]' : ''
  emit(state, `response.${name}.delta`, `${partAt(message)},"delta":${JSON.stringify(text)}${rest}`)
}

function startMessage(state: State, kind: OpenPart['kind'], phase: string | undefined): OpenMessage {
  leave(state, 'completed')
  const placed = { ...place(state, 'msg'), phase }
  addItem(state, placed.place, messageText(placed, [], 'in_progress'))
  const empty = { ...placed, parts: [] }
  const message: OpenMessage = { ...empty, part: startPart(state, empty, kind) }
  state.phase = { at: 'message', message }
  return message
}

function startPart(state: State, message: Omit<OpenMessage, 'part'>, kind: OpenPart['kind']): OpenPart {
  const part: OpenPart = { kind, index: message.parts.length, text: '', annotations: [] }
  emit(state, 'response.content_part.added', `${partAt({ ...message, part })},"part":${partText(part)}`)
  return part
}

/** Adds a citation to the open text. A citation after the end of its text is left out. */
function cite(state: State, source: CitedSource): void {
  const { phase } = state
  if (phase.at !== 'message' || phase.message.part.kind !== 'text') return
  const { part } = phase.message
  const annotation = annotationText(source, part.text.length)
  const at = `${partAt(phase.message)},"annotation_index":${part.annotations.length}`
  part.annotations.push(annotation)
  emit(state, 'response.output_text.annotation.added', `${at},"annotation":${annotation}`)
}

function partAt({ id, place: at, part }: OpenMessage): string {
  return `"item_id":"${id}","output_index":${at},"content_index":${part.index}`
}

function endPart(state: State, message: OpenMessage): void {
  const { kind, text } = message.part
  const at = partAt(message)
  const json = JSON.stringify(text)
  const whole = partText(message.part)
  if (kind === 'text') emit(state, 'response.output_text.done', `${at},"text":${json},"logprobs":[]`)
  else emit(state, 'response.refusal.done', `${at},"refusal":${json}`)
  emit(state, 'response.content_part.done', `${at},"part":${whole}`)
  message.parts.push(whole)
}

function endMessage(state: State, message: OpenMessage, status: ItemStatus): void {
  endPart(state, message)
  endItem(state, message.place, messageText(message, message.parts, status))
  state.phase = BETWEEN
}

// Thoughts

function think(state: State, { text, member, details }: Extract<AnswerEvent, { readonly kind: 'reasoning' }>): void {
  const { phase } = state
  // A sealed reasoning item is complete, so text after a seal begins another one.
  const isOpen = phase.at === 'thought' && phase.thought.seal === undefined
  const thought = isOpen ? phase.thought : startThought(state)
  thought.member ??= member
  if (details !== undefined) thought.details.push(...details)
  if (text === '') return
  const at = summaryAt(thought)
  if (thought.text === '') emit(state, 'response.reasoning_summary_part.added', `${at},"part":${summaryText('')}`)
  thought.text += text
  emit(state, 'response.reasoning_summary_text.delta', `${at},"delta":${JSON.stringify(text)}`)
}

function startThought(state: State): OpenThought {
  leave(state, 'completed')
  const thought: OpenThought = { ...place(state, 'rs'), text: '', member: undefined, details: [], seal: undefined }
  addItem(state, thought.place, thoughtText(thought, undefined))
  state.phase = { at: 'thought', thought }
  return thought
}

/**
 * Seals the open reasoning item; without an open item, the seal is a reasoning item by itself, whose content only its
 * maker can read.
 */
function seal(state: State, { kind, text }: NonNullable<OpenThought['seal']>): void {
  const { phase } = state
  const isOpen = phase.at === 'thought' && (phase.thought.seal === undefined || phase.thought.seal.kind === kind)
  const thought = isOpen ? phase.thought : startThought(state)
  thought.seal = { kind, text: (thought.seal?.text ?? '') + text }
}

function summaryAt({ id, place: at }: OpenThought): string {
  return `"item_id":"${id}","output_index":${at},"summary_index":0`
}

function endThought(state: State, thought: OpenThought): void {
  const at = summaryAt(thought)
  if (thought.text !== '') {
    emit(state, 'response.reasoning_summary_text.done', `${at},"text":${JSON.stringify(thought.text)}`)
    emit(state, 'response.reasoning_summary_part.done', `${at},"part":${summaryText(thought.text)}`)
  }
  endItem(state, thought.place, thoughtText(thought, state.wantsSealed ? sealedThought(state, thought) : undefined))
  state.phase = BETWEEN
}

/** The seal over reasoning: its maker's, or the reasoning itself if it is unsigned. */
function sealedThought({ plan }: State, { text, member, details, seal: makersSeal }: OpenThought): string {
  const thought = {
    kind: 'thought' as const,
    text,
    ...(member !== undefined && { member }),
    ...(details.length > 0 && { details }),
  }
  return plan.seal.close(makerOf(plan.offer), makersSeal ?? thought)
}

// Calls

const ID_PREFIX = { function: 'fc', custom: 'ctc', search: 'tsc' } as const

function startCall(state: State, event: Extract<AnswerEvent, { readonly kind: 'toolStart' }>): void {
  leave(state, 'completed')
  if (state.calls.has(event.index)) return
  const { id, name, namespace, members } = event
  const callId = members === undefined ? id : sealedId(state, id, members)
  const form = event.isSearch ? 'search' : event.isCustom ? 'custom' : 'function'
  const call: OpenCall = { ...place(state, ID_PREFIX[form]), callId, name, namespace, form, input: '' }
  state.calls.set(event.index, call)
  addItem(state, call.place, callText(call, 'in_progress'))
}

/** Members of a call that arrive after it has begun. In a stream its id is already sent. */
function addMembers(state: State, index: number, members: JsonObject): void {
  const call = state.calls.get(index)
  if (call !== undefined && !state.isStreamed) call.callId = sealedId(state, call.callId, members)
}

/** The id of a call, with sealed members that only its provider understands. */
function sealedId({ plan }: State, id: string, members: JsonObject): string {
  return withSeal(id, plan.seal.close(makerOf(plan.offer), { kind: 'call', members }))
}

function addInput(state: State, index: number, text: string): void {
  const call = state.calls.get(index)
  if (call === undefined) return
  call.input += text
  if (call.form === 'search') return
  emit(state, `response.${inputOf(call)}.delta`, `${callAt(call)},"delta":${JSON.stringify(text)}`)
}

/** The events' name for a call's input. */
function inputOf({ form }: OpenCall): 'custom_tool_call_input' | 'function_call_arguments' {
  return form === 'custom' ? 'custom_tool_call_input' : 'function_call_arguments'
}

function callAt({ id, place: at }: OpenCall): string {
  return `"item_id":"${id}","output_index":${at}`
}

function endCall(state: State, call: OpenCall, status: ItemStatus): void {
  if (call.form === 'search') {
    endItem(state, call.place, callText(call, status))
    return
  }
  const isCustom = call.form === 'custom'
  if (!isCustom && call.input.trim() === '') {
    // Clients parse the arguments as JSON, even when there are none; the sent part is a prefix of them.
    call.input += '{}'
    emit(state, 'response.function_call_arguments.delta', `${callAt(call)},"delta":"{}"`)
  }
  const json = JSON.stringify(call.input)
  const members = isCustom ? `"input":${json}` : `"name":${JSON.stringify(call.name)},"arguments":${json}`
  emit(state, `response.${inputOf(call)}.done`, `${callAt(call)},${members}`)
  endItem(state, call.place, callText(call, status))
}

function closeAll(state: State, last: ItemStatus): void {
  if (state.phase.at === 'over') return
  const isSaying = state.phase.at === 'message' || state.phase.at === 'thought'
  const calls = [...state.calls.values()]
  for (const call of calls) endCall(state, call, !isSaying && call === calls.at(-1) ? last : 'completed')
  state.calls.clear()
  leave(state, last)
}
