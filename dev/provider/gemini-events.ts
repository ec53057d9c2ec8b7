import { z } from 'zod'
import { parseJson } from '#shared/parse-json.ts'
import { signatureOf, signsCalls } from './gemini-request.ts'
import type { ReplyTranslation } from './translated-reply.ts'

const Call = z.looseObject({
  index: z.number().optional(),
  id: z.string().optional(),
  function: z.looseObject({ name: z.string().optional(), arguments: z.string().optional() }).optional(),
})
type Call = z.infer<typeof Call>
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
const Failure = z.looseObject({
  error: z.looseObject({ message: z.string(), code: z.string().nullish(), type: z.string().nullish() }),
})
const Counts = z.looseObject({
  prompt_tokens: z.unknown(),
  completion_tokens: z.unknown(),
  total_tokens: z.unknown(),
  prompt_tokens_details: z.looseObject({ cached_tokens: z.number() }).optional(),
  completion_tokens_details: z.looseObject({ reasoning_tokens: z.number().optional() }).optional(),
})

const FINISH_WORDS: Readonly<Record<string, string>> = { length: 'MAX_TOKENS', content_filter: 'SAFETY' }
const STATUS_WORDS: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

/** The model, the answer's own id, and the tier at Vertex AI, which is in the usage. */
export type GeminiFacts = { readonly model: string; readonly responseId: string; readonly trafficType?: string }

/** The translation of chats to answers of Gemini's own protocol. */
export function geminiOf(facts: GeminiFacts): ReplyTranslation {
  return {
    whole: (body, status) => answerOfChat(body, facts, status),
    events: () => createEventMaker(facts),
  }
}

/** A refusal in Google's form. */
export function geminiError(code: number, message: string, reason?: string): object {
  const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'googleapis.com' }]
  return {
    error: { code, message, status: STATUS_WORDS[code] ?? 'INTERNAL', ...(reason !== undefined && { details }) },
  }
}

/** An answer, or an event of one, with these parts of the first candidate. */
function answerWith(
  { model, responseId, trafficType }: GeminiFacts,
  parts: readonly object[],
  { finishReason, usage }: { readonly finishReason?: string; readonly usage?: unknown },
): object {
  return {
    candidates: [{ content: { parts, role: 'model' }, index: 0, ...(finishReason !== undefined && { finishReason }) }],
    ...(usage !== undefined && { usageMetadata: withTraffic(usageOf(usage), trafficType) }),
    modelVersion: model,
    responseId,
  }
}

function answerOfChat(body: unknown, facts: GeminiFacts, status: number): unknown {
  const failure = failureOf(body, status)
  if (failure !== undefined) return failure
  const chunk = Chunk.safeParse(body).data
  const [choice] = chunk?.choices ?? []
  const message = choice?.message
  if (chunk === undefined || message === undefined) return body
  const finishReason = FINISH_WORDS[choice?.finish_reason ?? ''] ?? 'STOP'
  const parts = [...saidParts(message), ...(message.tool_calls ?? []).map((call, at) => callPart(call, at, facts))]
  return answerWith(facts, parts, { finishReason, usage: chunk.usage })
}

function failureOf(body: unknown, status: number): object | undefined {
  const failure = Failure.safeParse(body)
  if (!failure.success) return undefined
  const { message, code, type } = failure.data.error
  return geminiError(status === 200 ? 500 : status, message, (code ?? type ?? undefined)?.toUpperCase())
}

function saidParts({ reasoning_content: thought, content }: z.infer<typeof ChatMessage>): object[] {
  return [...(thought ? [{ text: thought, thought: true }] : []), ...(content ? [{ text: content }] : [])]
}

/** A call. Of several, only the first is signed. */
function callPart({ function: called }: Call, at: number, { model }: GeminiFacts): object {
  const name = called?.name ?? ''
  const args: unknown = parseJson(called?.arguments || '{}')
  const isSigned = at === 0 && signsCalls(model)
  return { functionCall: { name, args }, ...(isSigned && { thoughtSignature: signatureOf(name, args) }) }
}

/**
 * Usage in this protocol's terms: thoughts are counted beside the candidates. A field keeps its original value, also an
 * invalid one.
 */
function usageOf(usage: unknown): unknown {
  const counts = Counts.safeParse(usage)
  if (!counts.success) return usage
  const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = counts.data
  const cached = counts.data.prompt_tokens_details?.cached_tokens ?? 0
  const thoughts = counts.data.completion_tokens_details?.reasoning_tokens ?? 0
  return {
    promptTokenCount: input,
    candidatesTokenCount: typeof output === 'number' ? output - thoughts : output,
    totalTokenCount: total,
    ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
    ...(cached > 0 && { cachedContentTokenCount: cached }),
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: input }],
  }
}

function withTraffic(usage: unknown, trafficType: string | undefined): unknown {
  return trafficType === undefined || typeof usage !== 'object' ? usage : { ...usage, trafficType }
}

function event(data: object): string {
  return `data: ${JSON.stringify(data)}\r\n\r\n`
}

/**
 * Turns the chunks of a chat stream into events, in order. A call arrives whole, and the last event has the finish
 * reason.
 */
function createEventMaker(facts: GeminiFacts): (data: string) => string {
  const calls: { id: string | undefined; name: string; input: string }[] = []
  let reason: string | undefined
  let isOver = false

  /** The calls that have arrived together, and the reason for the end. */
  function end(usage: unknown): string {
    if (isOver) return ''
    isOver = true
    const parts = calls.map(({ name, input }, at) => callPart({ function: { name, arguments: input } }, at, facts))
    const finishReason = FINISH_WORDS[reason ?? ''] ?? 'STOP'
    return event(answerWith(facts, parts.length === 0 ? [{ text: '' }] : parts, { finishReason, usage }))
  }

  function takeCall({ index, id, function: called }: Call): void {
    const known = id === undefined ? calls[index ?? calls.length - 1] : calls.find((call) => call.id === id)
    if (known !== undefined) known.input += called?.arguments ?? ''
    else calls.push({ id, name: called?.name ?? '', input: called?.arguments ?? '' })
  }

  return (data) => {
    if (data === '[DONE]') return end(undefined)
    const body: unknown = parseJson(data)
    const failure = failureOf(body, 200)
    if (failure !== undefined) return event(failure)
    const chunk = Chunk.safeParse(body)
    if (!chunk.success) return `data: ${data}\n\n`
    const { choices, usage } = chunk.data
    if (choices.length === 0) return end(usage)
    const parts: object[] = []
    for (const { delta, finish_reason: given } of choices) {
      if (delta !== undefined) parts.push(...saidParts(delta))
      for (const call of delta?.tool_calls ?? []) takeCall(call)
      if (typeof given === 'string') reason = given
    }
    return parts.length === 0 ? '' : event(answerWith(facts, parts, { usage }))
  }
}
