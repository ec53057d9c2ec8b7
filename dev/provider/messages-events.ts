import { z } from 'zod'
import { parseJson } from '#shared/parse-json.ts'
import type { ReplyTranslation } from './translated-reply.ts'

const Call = z.looseObject({
  index: z.number().optional(),
  id: z.string().optional(),
  function: z.looseObject({ name: z.string().optional(), arguments: z.string().optional() }).optional(),
})
const ChatMessage = z.looseObject({
  content: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  tool_calls: z.array(Call).nullish(),
})
const Chunk = z.looseObject({
  choices: z.array(
    z.looseObject({
      delta: ChatMessage.optional(),
      message: ChatMessage.optional(),
      finish_reason: z.string().nullish(),
    }),
  ),
  usage: z.unknown().optional(),
})
const Failure = z.looseObject({ error: z.looseObject({ message: z.string(), type: z.string().nullish() }) })
const Counts = z.looseObject({
  prompt_tokens: z.unknown(),
  completion_tokens: z.unknown(),
  prompt_tokens_details: z.looseObject({ cached_tokens: z.number() }).optional(),
})

const STOP_WORDS: Readonly<Record<string, string>> = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' }
const SIGNATURE = 'c2FuZGJveA=='

/** The translation of chats to messages. */
export function messagesOf(facts: MessageFacts): ReplyTranslation {
  return {
    whole: (body, status) => messageOfChat(body, facts, status),
    events: () => createEventMaker(facts),
  }
}

/** The answer's id and its input count, for the first event. */
export type MessageFacts = {
  readonly id: string
  readonly model: string
  /** Undefined when the tested behaviour reports no usage. */
  readonly usage: unknown
}

/** Turns a whole chat into a whole message, and an error into the other envelope. Other bodies stay as they are. */
function messageOfChat(body: unknown, facts: MessageFacts, status: number): unknown {
  const failure = Failure.safeParse(body)
  if (failure.success) {
    const { type, message } = failure.data.error
    return { type: 'error', error: { type: status === 200 ? (type ?? errorType(status)) : errorType(status), message } }
  }
  const [choice] = Chunk.safeParse(body).data?.choices ?? []
  const message = choice?.message
  if (message === undefined) return body
  const usage = Chunk.safeParse(body).data?.usage
  return {
    id: facts.id,
    type: 'message',
    role: 'assistant',
    model: facts.model,
    content: [
      ...(message.reasoning_content
        ? [{ type: 'thinking', thinking: message.reasoning_content, signature: SIGNATURE }]
        : []),
      ...(message.content ? [{ type: 'text', text: message.content }] : []),
      ...(message.tool_calls ?? []).map((call) => ({
        type: 'tool_use',
        id: call.id,
        name: call.function?.name,
        input: JSON.parse(call.function?.arguments || '{}'),
      })),
    ],
    stop_reason: STOP_WORDS[choice?.finish_reason ?? ''] ?? 'end_turn',
    stop_sequence: null,
    ...(usage === undefined ? {} : { usage: messageUsage(usage) }),
  }
}

/** The error type of a status. */
function errorType(status: number): string {
  switch (status) {
    case 400:
      return 'invalid_request_error'
    case 401:
      return 'authentication_error'
    case 402:
      return 'billing_error'
    case 404:
      return 'not_found_error'
    case 429:
      return 'rate_limit_error'
    case 529:
      return 'overloaded_error'
    default:
      return 'api_error'
  }
}

/** Usage in this protocol's terms. A field keeps its original value, also an invalid one. */
function messageUsage(usage: unknown): unknown {
  const counts = Counts.safeParse(usage)
  if (!counts.success) return usage
  const { prompt_tokens: input, completion_tokens: output, prompt_tokens_details: details } = counts.data
  const cached = details?.cached_tokens ?? 0
  return {
    input_tokens: typeof input === 'number' ? input - cached : input,
    output_tokens: output,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: 0,
  }
}

function event(type: string, members: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`
}

/** The blocks of a message stream. One is open at a time, and thoughts are signed when they close. */
function createBlocks() {
  let index = -1
  let open: string | undefined

  function close(): string {
    if (open === undefined) return ''
    const delta = { type: 'signature_delta', signature: SIGNATURE }
    const signatureEvent = open === 'thinking' ? event('content_block_delta', { index, delta }) : ''
    open = undefined
    return signatureEvent + event('content_block_stop', { index })
  }

  /** A piece of a block. Opens its block when another one is open. */
  function piece(name: string, block: object, delta: object | undefined): string {
    let text = ''
    if (open !== name) {
      text = close()
      index += 1
      open = name
      text += event('content_block_start', { index, content_block: block })
    }
    return delta === undefined ? text : text + event('content_block_delta', { index, delta })
  }

  return { close, piece, openName: () => open }
}

/** Turns the chunks of a chat stream into the events of a message stream, in order. */
function createEventMaker(facts: MessageFacts): (data: string) => string {
  let hasStarted = false
  let stopReason = 'end_turn'
  const { close, piece, openName } = createBlocks()

  function start(): string {
    if (hasStarted) return ''
    hasStarted = true
    const { id, model, usage } = facts
    const message = {
      id,
      type: 'message',
      role: 'assistant',
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
    }
    return event('message_start', { message: usage === undefined ? message : { ...message, usage } }) + event('ping')
  }

  function callPiece(call: z.infer<typeof Call>): string {
    const name = call.id === undefined ? (openName() ?? 'call') : `call ${call.id}`
    const block = { type: 'tool_use', id: call.id, name: call.function?.name, input: {} }
    const json = call.function?.arguments ?? ''
    return piece(name, block, json === '' ? undefined : { type: 'input_json_delta', partial_json: json })
  }

  function take(chunkChoice: z.infer<typeof ChatMessage>): string {
    let text = ''
    if (chunkChoice.reasoning_content) {
      const block = { type: 'thinking', thinking: '', signature: '' }
      text += piece('thinking', block, { type: 'thinking_delta', thinking: chunkChoice.reasoning_content })
    }
    if (chunkChoice.content)
      text += piece('text', { type: 'text', text: '' }, { type: 'text_delta', text: chunkChoice.content })
    for (const call of chunkChoice.tool_calls ?? []) text += callPiece(call)
    return text
  }

  return (data) => {
    if (data === '[DONE]') {
      const delta = { stop_reason: stopReason, stop_sequence: null }
      return start() + close() + event('message_delta', { delta, usage: {} }) + event('message_stop')
    }
    const body: unknown = parseJson(data)
    const failure = Failure.safeParse(body)
    if (failure.success) {
      const { type, message } = failure.data.error
      return event('error', { error: { type: type ?? 'api_error', message } })
    }
    const chunk = Chunk.safeParse(body)
    if (!chunk.success) return `data: ${data}\n\n`
    let text = start()
    for (const { delta, finish_reason: reason } of chunk.data.choices) {
      if (delta !== undefined) text += take(delta)
      if (typeof reason === 'string') stopReason = STOP_WORDS[reason] ?? 'end_turn'
    }
    const { usage } = chunk.data
    if (usage !== undefined) {
      const isLast = chunk.data.choices.length === 0
      const delta = { stop_reason: isLast ? stopReason : null, stop_sequence: null }
      text += (isLast ? close() : '') + event('message_delta', { delta, usage: messageUsage(usage) })
    }
    return text
  }
}
