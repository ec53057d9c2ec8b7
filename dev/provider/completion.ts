import { createHash } from 'node:crypto'
import { composeAnswer, composeReasoning, exampleOf, tokensOf } from './answer-text.ts'
import type { SampleChatRequest } from './chat-request.ts'

const TOKENS_PER_IMAGE = 765
const BYTES_PER_TOKEN = 4
/** Names of models that think before they answer. */
const REASONING_NAME = /(^|[^a-z])(o[134]|r1|qwq|magistral|thinking|reason)/

export type SampleUsage = {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly prompt_tokens_details: { readonly cached_tokens: number }
  readonly completion_tokens_details: { readonly reasoning_tokens: number }
}

/** An answer before it is sent: its tokens in order, and its usage. */
export type Completion = {
  readonly id: string
  readonly created: number
  readonly model: string
  readonly reasoning: readonly string[]
  readonly content: readonly string[]
  readonly toolCall:
    | { readonly id: string; readonly name: string; readonly arguments: string; readonly extra?: object }
    | undefined
  readonly finishReason: 'stop' | 'length' | 'tool_calls'
  readonly usage: SampleUsage
  /** The number of answers, and of other tokens beside each probability, if any. */
  readonly choices: number
  readonly logprobs: number | undefined
}

export type CompletionFacts = {
  readonly cachedTokens: number
  /** Unix seconds. */
  readonly now: number
  /** A text that replaces the composed answer. */
  readonly text?: string
  readonly isReasoning?: boolean
}

/** Makes the whole answer to a request. The same request gets the same answer. */
export function complete(request: SampleChatRequest, facts: CompletionFacts): Completion {
  const limit = request.maxTokens ?? Number.POSITIVE_INFINITY
  const thinks = facts.isReasoning === true || request.mustReason || REASONING_NAME.test(request.model.toLowerCase())
  const reasoning = thinks ? tokensOf(composeReasoning(request)).slice(0, limit) : []
  const id = createHash('sha256').update(`${request.model}\n${request.prompt}`).digest('hex').slice(0, 24)
  const tool = request.toolToCall
  const toolCall = tool
    ? { id: `call_${id}`, name: tool.name, arguments: JSON.stringify(exampleOf(tool.parameters, request.question)) }
    : undefined
  const all = toolCall ? [] : tokensOf(cutAtStop(facts.text ?? composeAnswer(request), request.stops))
  const content = all.slice(0, limit - reasoning.length)
  const spoken = toolCall ? tokensOf(toolCall.arguments).length : content.length
  const promptTokens = countPromptTokens(request)
  return {
    id: `chatcmpl-${id}`,
    created: facts.now,
    model: request.model,
    reasoning,
    content,
    toolCall,
    finishReason: toolCall ? 'tool_calls' : content.length < all.length ? 'length' : 'stop',
    usage: usageOf(promptTokens, (reasoning.length + spoken) * request.choices, {
      cached: Math.min(facts.cachedTokens, promptTokens),
      reasoning: reasoning.length * request.choices,
    }),
    choices: request.choices,
    logprobs: request.logprobs,
  }
}

/** A usage object in OpenAI's shape. */
export function usageOf(
  promptTokens: number,
  completionTokens: number,
  parts: { readonly cached: number; readonly reasoning: number },
): SampleUsage {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: parts.cached },
    completion_tokens_details: { reasoning_tokens: parts.reasoning },
  }
}

function countPromptTokens(request: SampleChatRequest): number {
  const textTokens = Math.ceil(Buffer.byteLength(request.prompt) / BYTES_PER_TOKEN)
  return Math.max(1, textTokens + request.imageCount * TOKENS_PER_IMAGE)
}

function cutAtStop(text: string, stops: readonly string[]): string {
  const places = stops.filter((stop) => stop !== '').map((stop) => text.indexOf(stop))
  const first = Math.min(...places.filter((place) => place >= 0), text.length)
  return text.slice(0, first)
}

/** The body of a whole answer. */
export function wholeBody(completion: Completion): Record<string, unknown> {
  const { toolCall } = completion
  const message = {
    role: 'assistant',
    content: toolCall ? null : completion.content.join(''),
    ...(completion.reasoning.length > 0 ? { reasoning_content: completion.reasoning.join('') } : {}),
    ...(toolCall ? { tool_calls: [toolCallBody(toolCall)] } : {}),
  }
  return {
    id: completion.id,
    object: 'chat.completion',
    created: completion.created,
    model: completion.model,
    choices: placesOf(completion).map((index) => ({
      index,
      message,
      finish_reason: completion.finishReason,
      logprobs: logprobsOf(completion, completion.content),
    })),
    usage: completion.usage,
  }
}

function toolCallBody(call: NonNullable<Completion['toolCall']>): Record<string, unknown> {
  return { id: call.id, type: 'function', function: { name: call.name, arguments: call.arguments }, ...call.extra }
}

/** A chunk of a stream with these choices. */
export function chunkOf(completion: Completion, choices: readonly unknown[], more: object = {}): string {
  const { id, created, model } = completion
  return JSON.stringify({ id, object: 'chat.completion.chunk', created, model, choices, ...more })
}

/** A chunk with this delta of one choice. */
export function deltaChunk(
  completion: Completion,
  delta: object,
  finishReason: string | null = null,
  index = 0,
): string {
  return chunkOf(completion, [{ index, delta, finish_reason: finishReason }])
}

/** The chunks of one choice of a stream between the first (`role`) and the last (`finish_reason`). */
export function contentChunks(completion: Completion, index = 0): readonly string[] {
  const { toolCall } = completion
  const chunk = (delta: object) => deltaChunk(completion, delta, null, index)
  const thoughts = completion.reasoning.map((token) => chunk({ reasoning_content: token }))
  const words = completion.content.map((token) => {
    const logprobs = logprobsOf(completion, [token])
    if (logprobs === null) return chunk({ content: token })
    return chunkOf(completion, [{ index, delta: { content: token }, logprobs, finish_reason: null }])
  })
  const calls = toolCall ? [chunk({ tool_calls: [{ index: 0, ...toolCallBody(toolCall) }] })] : []
  return [...thoughts, ...words, ...calls]
}

export function openingChunk(completion: Completion, index = 0): string {
  return deltaChunk(completion, { role: 'assistant', content: completion.toolCall ? null : '' }, null, index)
}

export function closingChunk(completion: Completion, index = 0): string {
  return deltaChunk(completion, {}, completion.finishReason, index)
}

/** All chunks of every choice, one choice after the other. */
export function choiceChunks(completion: Completion): readonly string[] {
  return placesOf(completion).flatMap((index) => [
    openingChunk(completion, index),
    ...contentChunks(completion, index),
    closingChunk(completion, index),
  ])
}

function placesOf({ choices }: Completion): readonly number[] {
  return Array.from({ length: choices }, (_, index) => index)
}

/** Invented probabilities of tokens, in OpenAI's shape. Null when none were requested. */
function logprobsOf({ logprobs }: Completion, tokens: readonly string[]): object | null {
  if (logprobs === undefined) return null
  const logprobOf = (token: string, place: number) => ({
    token,
    logprob: -(place + 1) / 8,
    bytes: [...Buffer.from(token)],
  })
  return {
    content: tokens.map((token) => ({
      ...logprobOf(token, 0),
      top_logprobs: Array.from({ length: logprobs }, (_, place) =>
        logprobOf(place === 0 ? token : `${token.slice(0, 1)}${place}`, place),
      ),
    })),
    refusal: null,
  }
}

/** The extra chunk for `stream_options.include_usage`. */
export function usageChunk(completion: Completion, usage: unknown = completion.usage): string {
  return chunkOf(completion, [], { usage })
}
