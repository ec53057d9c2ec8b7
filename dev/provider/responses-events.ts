import { z } from 'zod'
import { parseJson } from '#shared/parse-json.ts'
import { sealThought } from './sealed-thought.ts'
import type { ReplyTranslation } from './translated-reply.ts'

const Fn = z.looseObject({ name: z.string().optional(), arguments: z.string().optional() })
const Call = z.looseObject({ index: z.number().optional(), id: z.string().optional(), function: Fn.optional() })
const ChatMessage = z.looseObject({
  content: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  tool_calls: z.array(Call).nullish(),
})
const Choice = z.looseObject({
  delta: ChatMessage.optional(),
  message: ChatMessage.optional(),
  finish_reason: z.string().nullish(),
})
const Chunk = z.looseObject({ choices: z.array(Choice), usage: z.unknown().optional() })
const Failure = z.looseObject({
  error: z.looseObject({ message: z.string(), type: z.string().nullish(), code: z.string().nullish() }),
})
const Counts = z.looseObject({
  prompt_tokens: z.unknown(),
  completion_tokens: z.unknown(),
  total_tokens: z.unknown(),
  prompt_tokens_details: z.looseObject({ cached_tokens: z.number() }).optional(),
  completion_tokens_details: z.looseObject({ reasoning_tokens: z.number().optional() }).optional(),
})
type CallText = z.infer<typeof Call>

/** The parts of a response that are known before its answer. */
export type ResponseFacts = {
  readonly id: string
  readonly model: string
  /** Unix seconds. */
  readonly created: number
  readonly account: string
  readonly isSealing: boolean
  /** Members that repeat the request. */
  readonly echo: Readonly<Record<string, unknown>>
  /** Names of tools whose input is free text. */
  readonly customTools: ReadonlySet<string>
}

/** The translation of chats to responses. */
export function responsesOf(facts: ResponseFacts): ReplyTranslation {
  return {
    whole: (body, status) => responseOfChat(body, facts, status),
    events: () => createResponseEvents(facts),
  }
}

/** Turns a whole chat into a whole response. An error in an answer of status 200 becomes a failed response. */
function responseOfChat(body: unknown, facts: ResponseFacts, status: number): unknown {
  const failure = Failure.safeParse(body)
  if (failure.success) return status === 200 ? failedResponse(facts, failure.data.error) : body
  const chunk = Chunk.safeParse(body).data
  const [choice] = chunk?.choices ?? []
  const message = choice?.message
  if (message === undefined) return body
  const output = createOutput(facts)
  output.take(message)
  output.close(choice?.finish_reason === 'length')
  return endOf(facts, { items: output.items, reason: choice?.finish_reason, usage: chunk?.usage })
}

function failedResponse(facts: ResponseFacts, { message, type, code }: z.infer<typeof Failure>['error']): object {
  return responseObject(facts, { status: 'failed', error: { code: code ?? type ?? 'server_error', message } })
}

function responseObject(facts: ResponseFacts, members: object): object {
  const { id, model, created, echo } = facts
  return {
    id,
    object: 'response',
    created_at: created,
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    model,
    output: [],
    usage: null,
    ...echo,
    ...members,
  }
}

type End = { readonly items: readonly object[]; readonly reason: string | null | undefined; readonly usage: unknown }

function endOf(facts: ResponseFacts, { items, reason, usage }: End): object {
  const isCut = reason === 'length'
  return responseObject(facts, {
    status: isCut ? 'incomplete' : 'completed',
    ...(isCut ? { incomplete_details: { reason: 'max_output_tokens' } } : {}),
    output: items,
    ...(usage === undefined ? {} : { usage: usageOf(usage) }),
  })
}

/** Usage in this protocol's terms. A field keeps its original value, also an invalid one. */
function usageOf(usage: unknown): unknown {
  const counts = Counts.safeParse(usage)
  if (!counts.success) return usage
  const { prompt_tokens, completion_tokens, total_tokens } = counts.data
  const { prompt_tokens_details: input, completion_tokens_details: output } = counts.data
  return {
    input_tokens: prompt_tokens,
    input_tokens_details: { cached_tokens: input?.cached_tokens ?? 0 },
    output_tokens: completion_tokens,
    output_tokens_details: { reasoning_tokens: output?.reasoning_tokens ?? 0 },
    total_tokens,
  }
}

type Open =
  | { readonly kind: 'message'; readonly id: string; text: string }
  | { readonly kind: 'reasoning'; readonly id: string; text: string }
  | { readonly kind: 'call'; readonly id: string; readonly call: CallText; text: string; readonly isCustom: boolean }

/** The items of an answer. One is open at a time. */
function createOutput(facts: ResponseFacts) {
  const items: object[] = []
  let open: Open | undefined
  let events: [type: string, members: object][] = []
  const at = () => ({ item_id: open?.id, output_index: items.length })
  const emit = (type: string, members: object) => events.push([`response.${type}`, members])

  function begin(next: Open): void {
    close(false)
    open = next
    emit('output_item.added', { output_index: items.length, item: itemOf(next, facts, 'in_progress') })
    if (next.kind === 'message') emit('content_part.added', { ...at(), content_index: 0, part: textPart('') })
    if (next.kind === 'reasoning')
      emit('reasoning_summary_part.added', { ...at(), summary_index: 0, part: { type: 'summary_text', text: '' } })
  }

  function close(isCut: boolean): void {
    if (open === undefined) return
    const { kind, text } = open
    if (kind === 'message') {
      emit('output_text.done', { ...at(), content_index: 0, text, logprobs: [] })
      emit('content_part.done', { ...at(), content_index: 0, part: textPart(text) })
    } else if (kind === 'reasoning') {
      emit('reasoning_summary_text.done', { ...at(), summary_index: 0, text })
      emit('reasoning_summary_part.done', { ...at(), summary_index: 0, part: { type: 'summary_text', text } })
    } else if (open.kind === 'call') {
      if (open.isCustom) {
        emit('custom_tool_call_input.delta', { ...at(), delta: inputOf(text) })
        emit('custom_tool_call_input.done', { ...at(), input: inputOf(text) })
      } else emit('function_call_arguments.done', { ...at(), name: open.call.function?.name, arguments: text })
    }
    const item = itemOf(open, facts, isCut ? 'incomplete' : 'completed')
    emit('output_item.done', { output_index: items.length, item })
    items.push(item)
    open = undefined
  }

  function callPiece(call: CallText): void {
    const isNext = open?.kind !== 'call' || (call.id !== undefined && call.id !== open.call.id)
    if (isNext) {
      const isCustom = facts.customTools.has(call.function?.name ?? '')
      begin({ kind: 'call', id: `${isCustom ? 'ctc' : 'fc'}_${facts.id}_${items.length}`, call, text: '', isCustom })
    }
    const piece = call.function?.arguments ?? ''
    if (open?.kind !== 'call' || piece === '') return
    open.text += piece
    // The free text is inside the arguments, which are complete only at their end.
    if (!open.isCustom) emit('function_call_arguments.delta', { ...at(), delta: piece })
  }

  return {
    items,
    close,
    take(chunkChoice: z.infer<typeof ChatMessage>): void {
      const { reasoning_content: thought, content, tool_calls: calls } = chunkChoice
      const [first] = calls ?? []
      if (thought) {
        if (open?.kind !== 'reasoning') begin({ kind: 'reasoning', id: `rs_${facts.id}_${items.length}`, text: '' })
        if (open?.kind === 'reasoning') open.text += thought
        emit('reasoning_summary_text.delta', { ...at(), summary_index: 0, delta: thought })
      }
      // A call's own members are sealed with the thought before it.
      if (open?.kind === 'reasoning' && first !== undefined) Object.assign(open, { extra: extraOf(first) })
      if (content) {
        if (open?.kind !== 'message') begin({ kind: 'message', id: `msg_${facts.id}_${items.length}`, text: '' })
        if (open?.kind === 'message') open.text += content
        emit('output_text.delta', { ...at(), content_index: 0, delta: content, logprobs: [] })
      }
      for (const call of calls ?? []) callPiece(call)
    },
    taken() {
      const made = events
      events = []
      return made
    },
  }
}

function extraOf({ index: _i, id: _d, function: _f, type: _t, ...extra }: CallText): object | undefined {
  return Object.keys(extra).length === 0 ? undefined : extra
}

function textPart(text: string): object {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

function inputOf(text: string): string {
  const value = parseJson(text)
  return typeof value === 'object' && value !== null ? String(Reflect.get(value, 'input') ?? '') : ''
}

function itemOf(open: Open, { account, isSealing }: ResponseFacts, status: string): object {
  const { id, text } = open
  switch (open.kind) {
    case 'message':
      return {
        id,
        type: 'message',
        status,
        role: 'assistant',
        content: status === 'in_progress' ? [] : [textPart(text)],
      }
    case 'reasoning': {
      const extra: unknown = Reflect.get(open, 'extra')
      const thought = { text, ...(typeof extra === 'object' && extra !== null ? { extra } : {}) }
      return {
        id,
        type: 'reasoning',
        summary: text === '' ? [] : [{ type: 'summary_text', text }],
        ...(isSealing ? { encrypted_content: sealThought(thought, account) } : {}),
      }
    }
    case 'call': {
      const { id: callId, function: fn } = open.call
      const callMembers = { call_id: callId, name: fn?.name, status }
      if (open.isCustom) return { id, type: 'custom_tool_call', ...callMembers, input: inputOf(text) }
      return { id, type: 'function_call', ...callMembers, arguments: text }
    }
  }
}

/** Turns the chunks of a chat stream into the events of a response stream, in order. */
function createResponseEvents(facts: ResponseFacts): (data: string) => string {
  const output = createOutput(facts)
  let sequence = 0
  let hasStarted = false
  let reason: string | null | undefined
  let usage: unknown

  const event = (type: string, members: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...members })}\n\n`
  const drain = () =>
    output
      .taken()
      .map(([type, members]) => event(type, members))
      .join('')

  function start(): string {
    if (hasStarted) return ''
    hasStarted = true
    const response = responseObject(facts, {})
    return event('response.created', { response }) + event('response.in_progress', { response })
  }

  return (data) => {
    if (data === '[DONE]') {
      output.close(reason === 'length')
      const response = endOf(facts, { items: output.items, reason, usage })
      const type = reason === 'length' ? 'response.incomplete' : 'response.completed'
      return start() + drain() + event(type, { response })
    }
    const body = parseJson(data)
    const failure = Failure.safeParse(body)
    if (failure.success)
      return start() + event('response.failed', { response: failedResponse(facts, failure.data.error) })
    const chunk = Chunk.safeParse(body)
    if (!chunk.success) return `data: ${data}\n\n`
    for (const { delta, finish_reason: finish } of chunk.data.choices) {
      if (delta !== undefined) output.take(delta)
      if (typeof finish === 'string') reason = finish
    }
    if (chunk.data.usage !== undefined) usage = chunk.data.usage
    return start() + drain()
  }
}
