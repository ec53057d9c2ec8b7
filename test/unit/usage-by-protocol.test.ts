import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'
import { chatCodecOf, PROTOCOL_NAMES, PROTOCOLS } from '#shared/protocols/index.ts'
import { amazonEvent } from '#test/support/bytes/bedrock.ts'

/** The usage of a call with reasoning alone, as a provider counts it. */
const CALLS = fc.record({
  fresh: fc.nat(50_000),
  cached: fc.nat(50_000),
  short: fc.nat(50_000),
  long: fc.nat(50_000),
  thought: fc.nat(50_000),
})
type Call = typeof CALLS extends fc.Arbitrary<infer Made> ? Made : never

/** The bytes of an answer without content that ends at its limit: whole, and as a stream. */
type Answer = { readonly whole: object; readonly stream: readonly (string | Buffer)[] }

const sse = (data: object, event?: string) =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`
const inputOf = ({ fresh, cached, short, long }: Call) => fresh + cached + short + long

function chat(call: Call): Answer {
  const writes = { ttl_30m_tokens: call.short, ttl_12h_tokens: call.long }
  const usage = {
    prompt_tokens: inputOf(call),
    completion_tokens: call.thought,
    total_tokens: inputOf(call) + call.thought,
    prompt_tokens_details: { cached_tokens: call.cached, cache_write_tokens_details: writes },
    completion_tokens_details: { reasoning_tokens: call.thought },
  }
  const ended = { index: 0, finish_reason: 'length' }
  const whole = { id: 'c', model: 'm', choices: [{ ...ended, message: { role: 'assistant', content: '' } }], usage }
  const chunk = { id: 'c', model: 'm', object: 'chat.completion.chunk', choices: [{ ...ended, delta: {} }] }
  return { whole, stream: [sse(chunk), sse({ ...chunk, choices: [], usage }), 'data: [DONE]\n\n'] }
}

function response(call: Call): Answer {
  const writes = { ttl_30m_tokens: call.short, ttl_12h_tokens: call.long }
  const usage = {
    input_tokens: inputOf(call),
    output_tokens: call.thought,
    total_tokens: inputOf(call) + call.thought,
    input_tokens_details: { cached_tokens: call.cached, cache_write_tokens_details: writes },
    output_tokens_details: { reasoning_tokens: call.thought },
  }
  const common = { id: 'r', object: 'response', model: 'm', error: null, output: [] }
  const whole = { ...common, status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, usage }
  const begun = { type: 'response.created', response: { ...common, status: 'in_progress', usage: null } }
  const ended = { type: 'response.incomplete', response: whole }
  return { whole, stream: [sse(begun, begun.type), sse(ended, ended.type)] }
}

function message({ fresh, cached, short, long, thought }: Call): Answer {
  const input = {
    input_tokens: fresh,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: short + long,
    cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long },
  }
  const output = { output_tokens: thought, output_tokens_details: { thinking_tokens: thought } }
  const common = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], stop_sequence: null }
  const begun = {
    type: 'message_start',
    message: { ...common, stop_reason: null, usage: { ...input, output_tokens: 1 } },
  }
  const ended = { type: 'message_delta', delta: { stop_reason: 'max_tokens', stop_sequence: null }, usage: output }
  const stop = { type: 'message_stop' }
  const whole = { ...common, stop_reason: 'max_tokens', usage: { ...input, ...output } }
  return { whole, stream: [begun, ended, stop].map((event) => sse(event, event.type)) }
}

function generated(call: Call): Answer {
  const usageMetadata = {
    promptTokenCount: inputOf(call),
    cachedContentTokenCount: call.cached,
    thoughtsTokenCount: call.thought,
    totalTokenCount: inputOf(call) + call.thought,
  }
  const whole = { candidates: [{ index: 0, finishReason: 'MAX_TOKENS' }], usageMetadata, modelVersion: 'm' }
  // Each number counts from the beginning of the stream.
  const earlier = { ...usageMetadata, thoughtsTokenCount: Math.floor(call.thought / 2) }
  const early = {
    candidates: [],
    usageMetadata: { ...earlier, totalTokenCount: inputOf(call) + earlier.thoughtsTokenCount },
  }
  return { whole, stream: [sse(early), sse(whole)] }
}

function conversed({ fresh, cached, short, long, thought }: Call): Answer {
  const usage = {
    inputTokens: fresh,
    cacheReadInputTokens: cached,
    cacheWriteInputTokens: short + long,
    cacheDetails: [
      { ttl: '5m', inputTokens: short },
      { ttl: '1h', inputTokens: long },
    ],
    outputTokens: thought,
    totalTokens: fresh + cached + short + long + thought,
  }
  const whole = { output: { message: { role: 'assistant', content: [] } }, stopReason: 'max_tokens', usage }
  const stream = [
    amazonEvent('messageStart', { role: 'assistant' }),
    amazonEvent('messageStop', { stopReason: 'max_tokens' }),
    amazonEvent('metadata', { usage, metrics: { latencyMs: 1 } }),
  ]
  return { whole, stream }
}

/** The answers of every protocol to the same call. Gemini reports no cache writes, and Converse no reasoning. */
const ANSWERS = {
  openai: chat,
  azure: chat,
  azuredeployments: chat,
  together: chat,
  responses: response,
  azureresponses: response,
  messages: message,
  vertexclaude: message,
  gemini: generated,
  vertex: generated,
  bedrock: conversed,
} as const satisfies { readonly [Name in ProtocolName]?: (call: Call) => Answer }
type Spoken = keyof typeof ANSWERS

const COUNTS_WRITES: readonly Spoken[] = [
  'messages',
  'vertexclaude',
  'bedrock',
  'openai',
  'azure',
  'azuredeployments',
  'together',
  'responses',
  'azureresponses',
]

function read(apiFormat: Spoken, isStreamed: boolean, call: Call): ReportedUsage {
  const { whole, stream } = ANSWERS[apiFormat](call)
  const reader = chatCodecOf({ apiFormat }).reader(isStreamed)
  for (const piece of isStreamed ? stream : [JSON.stringify(whole)]) reader.push(Buffer.from(piece))
  reader.end()
  return reader.reported()
}

describe.each(Object.keys(ANSWERS) as Spoken[])('the usage of an answer of reasoning alone in %s', (apiFormat) => {
  it.each([
    ['whole', false],
    ['streamed', true],
  ])('is read in full, %s', (_name, isStreamed) => {
    fc.assert(
      fc.property(CALLS, (call) => {
        const { fresh, cached, short, long, thought } = call
        const reported = read(apiFormat, isStreamed, call)
        const { inputTokens, outputTokens, cachedTokens = 0, cacheWriteTokens = 0, cacheWriteLongTokens = 0 } = reported
        expect([inputTokens, outputTokens, cachedTokens]).toEqual([fresh + cached + short + long, thought, cached])
        if (COUNTS_WRITES.includes(apiFormat))
          expect([cacheWriteTokens, cacheWriteLongTokens]).toEqual([short + long, long])
        if (apiFormat !== 'bedrock')
          expect((reported.reasoningTokens ?? 0) + (reported.unnamedTokens ?? 0)).toBe(thought)
        expect(reported.insaneFields).toBe(0)
      }),
    )
  })
})

it('this test covers every protocol with conversations', () => {
  const talking = PROTOCOL_NAMES.filter((name) => 'chat' in PROTOCOLS[name] && PROTOCOLS[name].chat !== undefined)
  expect(talking.filter((name) => !Object.hasOwn(ANSWERS, name))).toEqual([])
})
