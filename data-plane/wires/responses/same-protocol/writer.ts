import type { ModelPlan } from '#data-plane/call.ts'
import type { AnswerWriter } from '#data-plane/wires/answer-writer.ts'
import { openAiError, openAiErrorBody } from '#data-plane/wires/envelopes/openai.ts'
import { makerOf } from '#data-plane/wires/maker-of.ts'
import { KEEP_ALIVE } from '#data-plane/wires/openai-frames.ts'
import type { ResponsesRequest } from '#data-plane/wires/responses/read-request.ts'
import { responseWriter } from '#data-plane/wires/responses/response-object.ts'
import { endMembers, isCutShort } from '#data-plane/wires/responses/writer.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { isRecord } from '#shared/json-members.ts'
import type { AnswerReader } from '#shared/protocols/middle-form/answer.ts'
import { encryptedDetail } from '#shared/protocols/responses-form.ts'
import { passedTools } from './passed-tools.ts'

/** Events that pass, without those that hold the whole response, which are written anew. */
const PASSED =
  /^response\.(?:output_item|content_part|output_text|output_text\.annotation|refusal|reasoning_text|reasoning_summary_part|reasoning_summary_text|function_call_arguments|custom_tool_call_input)\.(?:added|delta|done)$/
/** Events with a finished response. */
const ENDS: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete'])
/** Members of those events, without their sequence numbers, which the market sets. */
const MEMBERS = [
  'item_id',
  'output_index',
  'content_index',
  'summary_index',
  'annotation_index',
  'delta',
  'text',
  'refusal',
  'name',
  'arguments',
  'input',
  'part',
  'annotation',
  'logprobs',
] as const
/** Events of the middle form that are no content by themselves. */
const NO_CONTENT: ReadonlySet<string> = new Set(['citation', 'signature', 'toolMembers', 'textStart', 'finish'])

/** A started item, with the pieces of its texts and of its input, in case the answer is cut. */
type OpenItem = { readonly item: JsonObject; readonly texts: Map<unknown, string>; input: string }

type State = {
  readonly plan: ModelPlan
  readonly wantsSealed: boolean
  /** Frames that wait for the first content, until which another seller may take over. */
  held: string
  hasContent: boolean
  hasBegun: boolean
  isOver: boolean
  sequence: number
  /** Finished items, by their indexes and ids: some providers give several items one index. */
  readonly done: Map<string, { readonly place: unknown; readonly item: JsonObject }>
  readonly open: Map<unknown, OpenItem>
}

/**
 * Writes the answer of a seller with this protocol in the seller's own events and items. The response object, the usage
 * and the numbers of events are the market's, and data that only the seller's account can read is sealed.
 */
export function ownWriter(
  request: ResponsesRequest,
  plan: ModelPlan,
  reported: AnswerReader['reported'],
): AnswerWriter {
  const { isStreamed } = request.conversation
  const tools = passedTools(request.json.body['tools'])
  const response = responseWriter({ ...request, keptTools: tools?.kept }, plan, reported)
  const state: State = {
    plan,
    wantsSealed: request.wantsSealed,
    held: '',
    hasContent: false,
    hasBegun: false,
    isOver: false,
    sequence: 0,
    done: new Map(),
    open: new Map(),
  }
  const emit = (type: string, members: string) =>
    `event: ${type}\ndata: {"type":"${type}","sequence_number":${state.sequence++},${members}}\n\n`
  const begin = () => {
    if (state.hasBegun) return ''
    state.hasBegun = true
    const members = `"response":${response({ status: 'in_progress', output: '' })}`
    return emit('response.created', members) + emit('response.in_progress', members)
  }
  const end = (terminal: string, whole: string) => {
    if (state.isOver) return ''
    state.isOver = true
    return begin() + emit(`response.${terminal}`, `"response":${whole}`)
  }
  return {
    write(event) {
      if (event.kind !== 'own') {
        state.hasContent ||= !NO_CONTENT.has(event.kind)
        return ''
      }
      state.hasContent ||= event.bytes > 0
      const members = takeOwn(state, event.event)
      if (isStreamed && members !== undefined) state.held += begin() + emit(String(event.event['type']), members)
      return state.hasContent ? takeOut(state) : ''
    },
    finish(receipt, ending) {
      const isCut = isCutShort(ending)
      const cut = [...state.open].map(([place, open]) => [place, cutItem(open, isCut)] as const)
      for (const [place, item] of cut) keep(state, place, item)
      const status = isCut ? 'incomplete' : 'completed'
      const whole = response({ status, output: itemsOf(state), ...endMembers(receipt, ending) })
      if (!isStreamed) return whole
      const rest = cut.map(([place, item]) => emit('response.output_item.done', itemMembers(place, item))).join('')
      return takeOut(state) + rest + end(status, whole)
    },
    fail(error) {
      if (!isStreamed) return openAiErrorBody(error, plan.rid)
      const failure = JSON.stringify(openAiError(error, plan.rid))
      return end('failed', response({ status: 'failed', output: itemsOf(state), error: failure }))
    },
    keepAlive: () => (isStreamed ? KEEP_ALIVE : ''),
  }
}

function takeOut(state: State): string {
  const { held } = state
  state.held = ''
  return held
}

/** The items in the order of their indexes; they may end in another order. */
function itemsOf({ done }: State): string {
  const placed = [...done.values()].sort((left, right) => Number(left.place) - Number(right.place) || 0)
  return placed.map(({ item }) => JSON.stringify(item)).join(',')
}

function keep({ done }: State, place: unknown, item: JsonObject): void {
  done.set(JSON.stringify([place, item['id']]), { place, item })
}

/** Takes an event, and returns its members for the buyer. Undefined for an event that does not pass. */
function takeOwn(state: State, event: JsonObject): string | undefined {
  const { type, item, output_index: place = state.done.size } = event
  if (typeof type !== 'string') return undefined
  if (!PASSED.test(type)) {
    if (ENDS.has(type)) takeOutput(state, event['response'])
    return undefined
  }
  if (type === 'response.output_item.added' || type === 'response.output_item.done') {
    if (!isRecord(item)) return undefined
    const isDone = type === 'response.output_item.done'
    const visibleItem = shownItem(state, item, isDone)
    if (isDone) keep(state, place, visibleItem)
    if (isDone) state.open.delete(place)
    else state.open.set(place, { item: visibleItem, texts: new Map(), input: '' })
    return itemMembers(place, visibleItem)
  }
  note(state.open.get(place), event)
  const members: string[] = []
  for (const name of MEMBERS) if (event[name] !== undefined) members.push(`"${name}":${JSON.stringify(event[name])}`)
  return members.join(',')
}

/** Takes the output of the whole response, when no event has brought an item of it. */
function takeOutput(state: State, response: unknown): void {
  const output: unknown = isRecord(response) ? response['output'] : undefined
  if (state.done.size > 0 || !Array.isArray(output)) return
  for (const [place, item] of output.entries()) if (isRecord(item)) keep(state, place, shownItem(state, item, true))
}

function itemMembers(place: unknown, item: JsonObject): string {
  return `"output_index":${JSON.stringify(place)},"item":${JSON.stringify(item)}`
}

function note(open: OpenItem | undefined, { type, delta, content_index: part }: JsonObject): void {
  if (open === undefined || typeof delta !== 'string') return
  if (type === 'response.output_text.delta' || type === 'response.refusal.delta')
    open.texts.set(part, (open.texts.get(part) ?? '') + delta)
  else if (type === 'response.function_call_arguments.delta' || type === 'response.custom_tool_call_input.delta')
    open.input += delta
}

/** The received part of an item. An item of a whole answer is finished, even without an event for it. */
function cutItem({ item, texts, input }: OpenItem, isCut: boolean): JsonObject {
  const status = isCut ? 'incomplete' : 'completed'
  switch (item['type']) {
    case 'message': {
      const content = [...texts.values()].map((text) => ({ type: 'output_text', text, annotations: [], logprobs: [] }))
      return { ...item, status, content }
    }
    case 'function_call':
      return { ...item, status, arguments: input }
    case 'custom_tool_call':
      return { ...item, status, input }
    default:
      return item
  }
}

/** An item for the buyer. Reasoning is sealed at its end, for a buyer who wants to send it back. */
function shownItem({ plan, wantsSealed }: State, item: JsonObject, isDone: boolean): JsonObject {
  if (item['type'] !== 'reasoning') return item
  const { encrypted_content: encrypted, summary } = item
  const parts: readonly unknown[] = Array.isArray(summary) ? summary : []
  const text = parts.map((part) => (isRecord(part) ? String(part['text'] ?? '') : '')).join('\n\n')
  const details = typeof encrypted === 'string' && encrypted !== '' ? [encryptedDetail(encrypted)] : []
  const thought = { kind: 'thought' as const, text, ...(details.length > 0 && { details }) }
  return { ...item, encrypted_content: isDone && wantsSealed ? plan.seal.close(makerOf(plan.offer), thought) : null }
}
