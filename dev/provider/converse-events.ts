import { EventStreamCodec } from '@smithy/core/event-streams'
import { fromUtf8, toUtf8 } from '@smithy/core/serde'
import { z } from 'zod'
import { parseJson } from '#shared/parse-json.ts'
import type { ReplyTranslation } from './translated-reply.ts'

const Call = z.looseObject({
  id: z.string().optional(),
  function: z.looseObject({ name: z.string().optional(), arguments: z.string().optional() }).optional(),
})
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
const Failure = z.looseObject({ error: z.looseObject({ message: z.string() }) })
const Counts = z.looseObject({
  prompt_tokens: z.number(),
  completion_tokens: z.unknown(),
  prompt_tokens_details: z.looseObject({ cached_tokens: z.number() }).optional(),
})
type CallText = z.infer<typeof Call>

const STOP_WORDS: Readonly<Record<string, string>> = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' }
const SIGNATURE = 'c2FuZGJveA=='

/** The types of refusals, by their status. */
const TYPES: Readonly<Record<number, string>> = {
  400: 'ValidationException',
  401: 'UnrecognizedClientException',
  403: 'AccessDeniedException',
  404: 'ResourceNotFoundException',
  429: 'ThrottlingException',
  503: 'ServiceUnavailableException',
}

/** The translation of chats to Converse. */
export function converseOf(): ReplyTranslation {
  return {
    whole: converseOfChat,
    events: createMessages,
    streamType: 'application/vnd.amazon.eventstream',
  }
}

/** Turns a whole chat into a whole answer, and an error into AWS's form. */
function converseOfChat(body: unknown, status: number): unknown {
  const failure = Failure.safeParse(body)
  if (failure.success)
    return { __type: TYPES[status] ?? 'InternalServerException', message: failure.data.error.message }
  const chunk = Chunk.safeParse(body).data
  const [choice] = chunk?.choices ?? []
  const message = choice?.message
  if (message === undefined) return body
  const thought = { reasoningText: { text: message.reasoning_content, signature: SIGNATURE } }
  const content = [
    ...(message.reasoning_content ? [{ reasoningContent: thought }] : []),
    ...(message.content ? [{ text: message.content }] : []),
    ...(message.tool_calls ?? []).map((call) => ({
      toolUse: {
        toolUseId: call.id,
        name: call.function?.name,
        input: JSON.parse(call.function?.arguments || '{}') as unknown,
      },
    })),
  ]
  return {
    output: { message: { role: 'assistant', content } },
    stopReason: STOP_WORDS[choice?.finish_reason ?? ''] ?? 'end_turn',
    ...(chunk?.usage === undefined ? {} : { usage: converseUsage(chunk.usage) }),
    metrics: { latencyMs: 1 },
  }
}

/** Usage in this protocol's terms. A field keeps its original value, also an invalid one. */
function converseUsage(usage: unknown): unknown {
  const counts = Counts.safeParse(usage)
  if (!counts.success) return usage
  const { prompt_tokens: input, completion_tokens: output, prompt_tokens_details: details } = counts.data
  const cached = details?.cached_tokens ?? 0
  return {
    inputTokens: input - cached,
    outputTokens: output,
    totalTokens: input + Number(output),
    cacheReadInputTokens: cached,
    cacheWriteInputTokens: 0,
  }
}

const codec = new EventStreamCodec(toUtf8, fromUtf8)

/** The bytes of a message, one character per byte. */
function message(type: string, payload: object, kind: 'event' | 'exception' = 'event'): string {
  const text = (value: string) => ({ type: 'string', value }) as const
  const headers = {
    [`:${kind}-type`]: text(type),
    ':content-type': text('application/json'),
    ':message-type': text(kind),
  }
  return Buffer.from(codec.encode({ headers, body: fromUtf8(JSON.stringify(payload)) })).toString('latin1')
}

/** The blocks of a stream. One is open at a time, and thoughts are signed when they close. Only calls have a start. */
function createBlocks() {
  let index = -1
  let open: string | undefined
  const delta = (members: object) => message('contentBlockDelta', { contentBlockIndex: index, delta: members })
  const close = () => {
    if (open === undefined) return ''
    const signatureEvent = open === 'thought' ? delta({ reasoningContent: { signature: SIGNATURE } }) : ''
    open = undefined
    return signatureEvent + message('contentBlockStop', { contentBlockIndex: index })
  }
  return {
    close,
    delta,
    openName: () => open,
    begin(name: string, start?: object) {
      if (open === name) return ''
      const closing = close()
      index += 1
      open = name
      return closing + (start === undefined ? '' : message('contentBlockStart', { contentBlockIndex: index, start }))
    },
  }
}

/** Turns the chunks of a chat stream into messages, in order. The usage follows the stop reason. */
function createMessages(): (data: string) => string {
  const { close, delta, openName, begin } = createBlocks()
  let hasStarted = false
  let stopReason = 'end_turn'
  let usage: unknown

  function callPiece({ id, function: fn }: CallText): string {
    const name = id === undefined ? (openName() ?? 'call') : `call ${id}`
    const json = fn?.arguments ?? ''
    const beginning = begin(name, { toolUse: { toolUseId: id, name: fn?.name } })
    return beginning + (json === '' ? '' : delta({ toolUse: { input: json } }))
  }

  function take({ content, reasoning_content: thought, tool_calls: calls }: z.infer<typeof ChatMessage>): string {
    const thoughts = thought ? begin('thought') + delta({ reasoningContent: { text: thought } }) : ''
    const text = content ? begin('text') + delta({ text: content }) : ''
    return thoughts + text + (calls ?? []).map(callPiece).join('')
  }

  return (data) => {
    if (data === '[DONE]') {
      const figures = usage === undefined ? {} : { usage: converseUsage(usage) }
      const end =
        message('messageStop', { stopReason }) + message('metadata', { ...figures, metrics: { latencyMs: 1 } })
      return close() + end
    }
    const body: unknown = parseJson(data)
    const failure = Failure.safeParse(body)
    if (failure.success)
      return message('modelStreamErrorException', { message: failure.data.error.message }, 'exception')
    const chunk = Chunk.safeParse(body).data
    if (chunk === undefined) return data
    let text = hasStarted ? '' : message('messageStart', { role: 'assistant' })
    hasStarted = true
    for (const { delta: choiceDelta, finish_reason: reason } of chunk.choices) {
      if (choiceDelta !== undefined) text += take(choiceDelta)
      if (typeof reason === 'string') stopReason = STOP_WORDS[reason] ?? 'end_turn'
    }
    usage = chunk.usage ?? usage
    return text
  }
}
