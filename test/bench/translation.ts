import type { Decoder, ModelPlan, Receipt, UpstreamRequest } from '#data-plane/call.ts'
import { chat } from '#data-plane/wires/chat/index.ts'
import { readChatRequest } from '#data-plane/wires/chat/read-request.ts'
import { sameProtocol } from '#data-plane/wires/chat/same-protocol/index.ts'
import { toConversation as chatConversation } from '#data-plane/wires/chat/to-conversation.ts'
import { chatWriter } from '#data-plane/wires/chat/writer.ts'
import { completions } from '#data-plane/wires/completions/index.ts'
import { messages } from '#data-plane/wires/messages/index.ts'
import { readMessagesRequest } from '#data-plane/wires/messages/read-request.ts'
import { encodeMessagesRequest } from '#data-plane/wires/messages/same-protocol.ts'
import { toConversation as messagesConversation } from '#data-plane/wires/messages/to-conversation.ts'
import { responses } from '#data-plane/wires/responses/index.ts'
import { readResponsesRequest } from '#data-plane/wires/responses/read-request.ts'
import { sameProtocol as sameResponses } from '#data-plane/wires/responses/same-protocol/index.ts'
import { responsesWriter } from '#data-plane/wires/responses/writer.ts'
import { NO_FORMAT, translateAnswer, translateRequest } from '#data-plane/wires/translate.ts'
import type { ModelWire } from '#data-plane/wires/wire.ts'
import { microUsd } from '#shared/money.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'
import { MESSAGES_FORM } from '#shared/protocols/messages-form.ts'
import type { Conversation } from '#shared/protocols/middle-form/conversation.ts'
import { amazonEvent } from '#test/support/bytes/bedrock.ts'
import { buildPlan, buildRaw } from '#test/support/bytes/build-market.ts'
import { chatFrame, messagesEvent, offerOf } from '#test/support/bytes/wire-bytes.ts'
import { middle } from './middle.ts'

const CHUNKS = 256
const STREAMS_A_ROUND = 100
/** All ways are measured in turns, so that other work of the machine hits each of them. The median counts. */
const ROUNDS = 15

const RECEIPT: Receipt = {
  chargeMicro: microUsd(1),
  listMicro: microUsd(2),
  listInputMicro: microUsd(1),
  usage: { input: 1, output: CHUNKS },
}

type Decoding = {
  readonly name: string
  readonly format: 'openai' | 'messages' | 'responses' | 'gemini' | 'bedrock'
  readonly frames: readonly Buffer[]
  /** Opens the decoder of one stream. */
  readonly open: (plan: ModelPlan) => Decoder
}

type Encoding = { readonly name: string; readonly run: () => UpstreamRequest }

const word = (index: number) => ` word${index % 10}`
const CHAT_FRAMES = [
  chatFrame({ delta: { role: 'assistant', content: '' } }),
  ...Array.from({ length: CHUNKS }, (_, index) => chatFrame({ delta: { content: word(index) } })),
  chatFrame({ delta: {}, finish_reason: 'stop' }),
  'data: [DONE]\n\n',
].map((text) => Buffer.from(text))
const MESSAGE_FRAMES = [
  messagesEvent({ type: 'message_start', message: { usage: { input_tokens: 1 } } }),
  messagesEvent({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
  ...Array.from({ length: CHUNKS }, (_, index) =>
    messagesEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: word(index) } }),
  ),
  messagesEvent({ type: 'content_block_stop', index: 0 }),
  messagesEvent({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: CHUNKS } }),
  messagesEvent({ type: 'message_stop' }),
].map((text) => Buffer.from(text))

const RESPONSE_FRAMES = [
  messagesEvent({ type: 'response.created', sequence_number: 0, response: { status: 'in_progress' } }),
  messagesEvent({
    type: 'response.output_item.added',
    sequence_number: 1,
    output_index: 0,
    item: { id: 'msg_1', type: 'message', status: 'in_progress', role: 'assistant', content: [] },
  }),
  ...Array.from({ length: CHUNKS }, (_, index) =>
    messagesEvent({
      type: 'response.output_text.delta',
      sequence_number: index + 2,
      item_id: 'msg_1',
      output_index: 0,
      content_index: 0,
      delta: word(index),
    }),
  ),
  messagesEvent({
    type: 'response.completed',
    sequence_number: CHUNKS + 2,
    response: { status: 'completed', output: [], usage: { input_tokens: 1, output_tokens: CHUNKS } },
  }),
].map((text) => Buffer.from(text))

/** Each event of this protocol is a whole answer with all of its metadata. */
const geminiFrame = (text: string, count: number, more: object = {}) => {
  const candidates = [{ content: { parts: [{ text }], role: 'model' }, index: 0, ...more }]
  const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: count, totalTokenCount: count + 1 }
  return `data: ${JSON.stringify({ candidates, usageMetadata, modelVersion: 'vendor', responseId: 'x' })}\r\n\r\n`
}
const GEMINI_FRAMES = [
  ...Array.from({ length: CHUNKS }, (_, index) => geminiFrame(word(index), index + 1)),
  geminiFrame('', CHUNKS, { finishReason: 'STOP' }),
].map((text) => Buffer.from(text))

/** Messages of AWS's binary event stream. */
const BEDROCK_FRAMES = [
  amazonEvent('messageStart', { role: 'assistant' }),
  ...Array.from({ length: CHUNKS }, (_, index) =>
    amazonEvent('contentBlockDelta', { contentBlockIndex: 0, delta: { text: word(index) } }),
  ),
  amazonEvent('contentBlockStop', { contentBlockIndex: 0 }),
  amazonEvent('messageStop', { stopReason: 'end_turn' }),
  amazonEvent('metadata', { usage: { inputTokens: 1, outputTokens: CHUNKS, totalTokens: CHUNKS + 1 } }),
]

const COMPLETION_FRAMES = [
  ...Array.from({ length: CHUNKS }, (_, index) => completionFrame({ index: index % 2, text: word(index) })),
  ...[0, 1].map((index) => completionFrame({ index, text: '', finish_reason: 'stop' })),
  'data: [DONE]\n\n',
].map((text) => Buffer.from(text))

const STREAMED = { model: 'gpt-5-mini', max_tokens: 1_000, stream: true, messages: [{ role: 'user', content: 'hi' }] }
/** Two choices are requested, which only the completions protocol itself can express. */
const COMPLETION = { model: 'gpt-5-mini', max_tokens: 1_000, stream: true, prompt: 'hi', n: 2 }
const RESPONSE = { model: 'gpt-5-mini', max_output_tokens: 1_000, stream: true, input: 'hi' }
const openBy = (wire: ModelWire, body: object = STREAMED) => {
  const call = wire.read(buildRaw(JSON.stringify(body)))
  return (plan: ModelPlan) => call.decoder(plan)
}
/** Measures the same bytes without the short path for sides that use one protocol. */
const openTranslated = (plan: ModelPlan) =>
  translateAnswer(plan, { isStreamed: true, ...NO_FORMAT }, () => chatWriter(plan, true))
const RESPONSE_REQUEST = readResponsesRequest(buildRaw(JSON.stringify(RESPONSE)))
const openTranslatedResponse = (plan: ModelPlan) =>
  translateAnswer(plan, RESPONSE_REQUEST.conversation, (reported) => responsesWriter(RESPONSE_REQUEST, plan, reported))

const OPENAI = { format: 'openai', frames: CHAT_FRAMES } as const
const MESSAGES = { format: 'messages', frames: MESSAGE_FRAMES } as const
const RESPONSES = { format: 'responses', frames: RESPONSE_FRAMES } as const
const GEMINI = { format: 'gemini', frames: GEMINI_FRAMES } as const
const BEDROCK = { format: 'bedrock', frames: BEDROCK_FRAMES } as const
const COMPLETIONS = { format: 'openai', frames: COMPLETION_FRAMES } as const
const SAME_PROTOCOL: Decoding = { name: 'chat wire, OpenAI seller', ...OPENAI, open: openBy(chat) }
const DECODINGS: readonly Decoding[] = [
  SAME_PROTOCOL,
  { name: 'the same without its short way', ...OPENAI, open: openTranslated },
  { name: 'completions wire, same protocol', ...COMPLETIONS, open: openBy(completions, COMPLETION) },
  { name: 'messages wire, OpenAI seller', ...OPENAI, open: openBy(messages) },
  { name: 'chat wire, messages seller', ...MESSAGES, open: openBy(chat) },
  { name: 'messages wire, messages seller', ...MESSAGES, open: openBy(messages) },
  { name: 'chat wire, responses seller', ...RESPONSES, open: openBy(chat) },
  { name: 'messages wire, responses seller', ...RESPONSES, open: openBy(messages) },
  { name: 'responses wire, responses seller', ...RESPONSES, open: openBy(responses, RESPONSE) },
  { name: 'the same without its short way', ...RESPONSES, open: openTranslatedResponse },
  { name: 'chat wire, Gemini seller', ...GEMINI, open: openBy(chat) },
  { name: 'messages wire, Gemini seller', ...GEMINI, open: openBy(messages) },
  { name: 'chat wire, Bedrock seller', ...BEDROCK, open: openBy(chat) },
  { name: 'messages wire, Bedrock seller', ...BEDROCK, open: openBy(messages) },
]

/** The size of a conversation: turns, and words in each. */
const TURNS = 40
const WORDS_A_TURN = 100
const REQUESTS_A_ROUND = 500
const TURN = Array.from({ length: WORDS_A_TURN }, (_, index) => word(index)).join('')
const SAID = Array.from({ length: TURNS }, (_, index) => ({ role: index % 2 ? 'assistant' : 'user', content: TURN }))
const LONG = JSON.stringify({ ...STREAMED, messages: SAID })
const CHAT_REQUEST = readChatRequest(buildRaw(LONG))
const MESSAGES_REQUEST = readMessagesRequest(buildRaw(LONG))
const LONG_RESPONSE_REQUEST = readResponsesRequest(buildRaw(JSON.stringify({ ...RESPONSE, input: SAID })))
const planFor = (apiFormat: ProtocolName) => buildPlan({ offer: offerOf({ apiFormat }) })
const [CHAT_PLAN, MESSAGES_PLAN, RESPONSES_PLAN] = [planFor('openai'), planFor('messages'), planFor('responses')]
/** The protocols of chats, each with its name in a row. */
const TRANSLATED: readonly (readonly [protocol: ProtocolName, words: string])[] = [
  ['openai', 'translated'],
  ['responses', 'as a response'],
  ['messages', 'as a message'],
  ['gemini', 'for Gemini'],
  ['bedrock', 'for Bedrock'],
]
const longWays = (what: string, conversation: () => Conversation): readonly Encoding[] =>
  TRANSLATED.map(([protocol, words]) => {
    const plan = planFor(protocol)
    return { name: `${what}, ${words}`, run: () => translateRequest(conversation(), plan) }
  })
/** The short path of a request before the long ones of the same. */
const ENCODINGS: readonly { readonly short: Encoding; readonly long: readonly Encoding[] }[] = [
  {
    short: { name: 'chat request, same protocol', run: () => sameProtocol.encode(CHAT_REQUEST, CHAT_PLAN) },
    long: longWays('chat request', () => chatConversation(CHAT_REQUEST)),
  },
  {
    short: {
      name: 'messages request, same protocol',
      run: () => encodeMessagesRequest(MESSAGES_REQUEST, MESSAGES_PLAN, MESSAGES_FORM),
    },
    long: longWays('messages request', () => messagesConversation(MESSAGES_REQUEST)),
  },
  {
    short: {
      name: 'responses request, same protocol',
      run: () => sameResponses.encode(LONG_RESPONSE_REQUEST, RESPONSES_PLAN),
    },
    // The conversation is read with the request, so these rows measure the writing only.
    long: longWays('responses request', () => LONG_RESPONSE_REQUEST.conversation),
  },
]

type Figure = { readonly what: string; readonly figure: string; readonly beside: string }

/**
 * Measures chunks per second through the decoders of each pair of protocols, one chunk a read, and requests per second
 * through their encoders, without sockets. Where both sides use one protocol, the short path is measured beside the one
 * through the middle form.
 */
export function measureTranslation(): Figure[] {
  return [...measureDecoding(), ...measureEncoding()]
}

function measureDecoding(): Figure[] {
  const rates = byTurns(DECODINGS, runStreams)
  const bare = rates.get(SAME_PROTOCOL) ?? Number.NaN
  return DECODINGS.map((decoding) => {
    const rate = rates.get(decoding) ?? Number.NaN
    return {
      what: `decoding, ${decoding.name}`,
      figure: `${(rate / 1_000).toFixed(0)}k chunks/s`,
      beside: decoding === SAME_PROTOCOL ? '1.00, same protocol' : `${(rate / bare).toFixed(2)} of the same protocol`,
    }
  })
}

function measureEncoding(): Figure[] {
  const rates = byTurns(
    ENCODINGS.flatMap(({ short, long }) => [short, ...long]),
    runRequests,
  )
  const rateOf = (way: Encoding) => rates.get(way) ?? Number.NaN
  return ENCODINGS.flatMap(({ short, long }) =>
    [short, ...long].map((way) => ({
      what: `encoding, ${way.name}`,
      figure: `${(rateOf(way) / 1_000).toFixed(1)}k requests/s`,
      beside:
        way === short
          ? `1.00, ${(LONG.length / 1_000).toFixed(0)} kB each`
          : `${(rateOf(way) / rateOf(short)).toFixed(2)} of the short way`,
    })),
  )
}

/** The median rate of each way, measured in turns after a first one. */
function byTurns<Way>(ways: readonly Way[], run: (way: Way) => number): ReadonlyMap<Way, number> {
  const rates = new Map<Way, number[]>(ways.map((way) => [way, []]))
  for (const way of ways) run(way)
  for (let round = 0; round < ROUNDS; round++) for (const way of ways) rates.get(way)?.push(run(way))
  return new Map([...rates].map(([way, all]) => [way, middle(all)]))
}

/** Chunks per second over some streams. */
function runStreams({ open, format, frames }: Decoding): number {
  const plan = buildPlan({ offer: offerOf({ apiFormat: format }) })
  const start = performance.now()
  for (let stream = 0; stream < STREAMS_A_ROUND; stream++) {
    const decoder = open(plan)
    for (const frame of frames) decoder.push(frame)
    decoder.end()
    decoder.finish(RECEIPT)
  }
  return (STREAMS_A_ROUND * CHUNKS * 1_000) / (performance.now() - start)
}

/** Requests per second, up to the sent bytes. */
function runRequests({ run }: Encoding): number {
  const start = performance.now()
  for (let request = 0; request < REQUESTS_A_ROUND; request++) Buffer.from(run().body)
  return (REQUESTS_A_ROUND * 1_000) / (performance.now() - start)
}

function completionFrame(choice: object): string {
  return `data: ${JSON.stringify({ object: 'text_completion', choices: [choice] })}\n\n`
}
