import { readFileSync } from 'node:fs'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { chat } from '#data-plane/wires/chat/index.ts'
import { completions } from '#data-plane/wires/completions/index.ts'
import { embeddings } from '#data-plane/wires/embeddings/index.ts'
import { messages } from '#data-plane/wires/messages/index.ts'
import { responses } from '#data-plane/wires/responses/index.ts'
import { transcriptions } from '#data-plane/wires/transcriptions/index.ts'
import type { ModelWire } from '#data-plane/wires/wire.ts'
import { buildPlan, buildRaw } from '#test/support/bytes/build-market.ts'
import { RECEIPT } from '#test/support/bytes/chat-answers.ts'
import { decodePieces, headOf, offerOf } from '#test/support/bytes/wire-bytes.ts'

/**
 * Answers of providers with one spoiled member. Each is a failed attempt, or the buyer's answer is valid: the official
 * clients accept it, and every member with a type has that type.
 */

const recorded = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`./fixtures/${name}.body`, import.meta.url), 'utf8'))

const SPOILED: readonly unknown[] = [5, -1, 1.5, true, '', 'x', null, [], {}, [5], [null], { x: 5 }]

type Path = readonly (string | number)[]

function* pathsOf(value: unknown, path: Path = []): Iterable<Path> {
  if (path.length > 0) yield path
  if (typeof value !== 'object' || value === null) return
  for (const [name, part] of Object.entries(value)) {
    yield* pathsOf(part, [...path, Array.isArray(value) ? Number(name) : name])
  }
}

/** A copy with the value at the path replaced, or removed for undefined. */
function spoil(value: unknown, [name, ...rest]: Path, by: unknown): unknown {
  if (name === undefined) return by
  if (Array.isArray(value)) {
    const list = value.map((part: unknown, at) => (at === name ? spoil(part, rest, by) : part))
    return list.filter((part, at) => at !== name || part !== undefined)
  }
  return { ...Object(value), [name]: spoil(Reflect.get(Object(value), name), rest, by) }
}

const text = z.string().nullish()
const ToolCall = z.union([
  z.object({
    id: z.string().min(1),
    type: z.string().refine((type) => type !== 'custom'),
    function: z.object({ name: z.string().min(1), arguments: z.string() }),
  }),
  z.object({ type: z.literal('custom'), custom: z.object({ name: z.string().min(1), input: z.string() }) }),
])
const Logprobs = z.object({ content: z.array(z.looseObject({})).nullish() }).nullish()
const Choice = z.object({ index: z.int().nonnegative().nullish(), finish_reason: text, logprobs: Logprobs })
const Message = z.object({
  role: z.enum(['assistant', '']).nullish(),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]).nullish(),
  refusal: text,
  reasoning: text,
  reasoning_content: text,
  annotations: z.array(z.looseObject({})).nullish(),
  audio: z.looseObject({}).nullish(),
  tool_calls: z.array(ToolCall).nullish(),
})
const Completion = z.object({ choices: z.array(Choice.extend({ message: Message })).min(1) })
const TextCompletion = z.object({ choices: z.array(Choice.extend({ text: z.string() })).min(1) })
const Vectors = z.object({ data: z.array(z.object({ index: z.int(), embedding: z.array(z.number()) })).length(2) })
const Block = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('tool_use'), id: z.string(), name: z.string().min(1), input: z.looseObject({}) }),
  z.object({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() }),
  z.object({ type: z.literal('redacted_thinking'), data: z.string() }),
])
const MessageAnswer = z.object({
  role: z.literal('assistant'),
  content: z.array(Block),
  stop_reason: z.string(),
  usage: z.object({ input_tokens: z.number(), output_tokens: z.number() }),
})
const Transcript = z.object({
  text: z.string(),
  language: text,
  segments: z.array(z.object({ start: z.number().nullish(), end: z.number().nullish(), text })).nullish(),
  words: z.array(z.object({ start: z.number().nullish(), end: z.number().nullish(), word: text })).nullish(),
})

const answered = (body: string) => ({
  apiKey: 'key',
  maxRetries: 0,
  fetch: () => Promise.resolve(new Response(body, { headers: { 'content-type': 'application/json' } })),
})
const openai = (body: string) => new OpenAI(answered(body))
const anthropic = (body: string) => new Anthropic(answered(body))

const MODEL = { model: 'gpt-5-mini' }
const USER = [{ role: 'user' as const, content: 'hi' }]
const FORM = [
  ['model', 'm'],
  ['response_format', 'verbose_json'],
  ['timestamp_granularities[]', 'word'],
]
const form = () => {
  const fields = FORM.map(
    ([name, value]) => `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const head = '--b\r\ncontent-disposition: form-data; name="file"; filename="a.mp3"\r\n\r\n'
  const body = Buffer.from(`${head}${'x'.repeat(2_000)}\r\n${fields.join('')}--b--\r\n`)
  return buildRaw(body, { 'content-type': 'multipart/form-data; boundary=b' })
}
const json = (body: object) => buildRaw(JSON.stringify({ ...MODEL, ...body }))

const CHAT = recorded('chat-whole')
const THOUGHT = spoil(CHAT, ['choices', 0, 'message', 'reasoning_content'], 'hm')
const MESSAGE = recorded('messages-whole')
const NATIVE = {
  choices: [
    { index: 0, text: 'a', logprobs: null, finish_reason: 'stop' },
    { index: 1, text: 'b', logprobs: { tokens: ['b'] }, finish_reason: 'length' },
  ],
  usage: { prompt_tokens: 2, completion_tokens: 2 },
}
const HEARD = {
  text: 'hello there',
  language: 'en',
  duration: 1.5,
  segments: [{ id: 0, start: 0, end: 1.5, text: 'hello there' }],
  words: [{ word: 'hello', start: 0, end: 0.5 }],
}

type Format = 'openai' | 'messages' | 'responses' | 'gemini' | 'bedrock'
const CANDIDATE = {
  content: {
    role: 'model',
    parts: [
      { text: 'Let me see.', thought: true },
      { text: 'Sunny.', thoughtSignature: 'c2ln' },
      { functionCall: { id: 'a', name: 'f', args: { a: 1 } }, thoughtSignature: 'c2ln' },
    ],
  },
  finishReason: 'STOP',
}
const GEMINI = {
  candidates: [CANDIDATE],
  usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 5, thoughtsTokenCount: 3, totalTokenCount: 17 },
  responseId: 'r',
}
const GEMINI_VECTORS = {
  embeddings: [{ values: [0.5, 1] }, { values: [1, 0] }],
  usageMetadata: { promptTokenCount: 2 },
}
const CONVERSE = {
  output: {
    message: {
      role: 'assistant',
      content: [
        { reasoningContent: { reasoningText: { text: 'Let me see.', signature: 'c2ln' } } },
        { text: 'Sunny.' },
        { toolUse: { toolUseId: 'a', name: 'f', input: { a: 1 } } },
      ],
    },
  },
  stopReason: 'tool_use',
  usage: { inputTokens: 9, outputTokens: 5, totalTokens: 14 },
}
const RESPONSE = {
  status: 'completed',
  output: [
    {
      type: 'reasoning',
      id: 'rs',
      summary: [{ type: 'summary_text', text: 'Let me see.' }],
      encrypted_content: 'c2ln',
    },
    {
      type: 'message',
      id: 'm',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'Sunny.', annotations: [] }],
    },
    { type: 'function_call', id: 'f', call_id: 'a', name: 'f', arguments: '{"a":1}' },
  ],
  usage: { input_tokens: 9, output_tokens: 5 },
}

type Raw = ReturnType<typeof buildRaw>
type Case = {
  readonly wire: ModelWire
  readonly raw: Raw
  readonly format: Format
  readonly answer: unknown
  readonly read: (body: string) => Promise<unknown>
}
type Row = readonly [name: string, row: Case]
const readChat = async (body: string) =>
  Completion.parse(await openai(body).chat.completions.parse({ ...MODEL, messages: USER }))
const readCompletion = async (body: string) =>
  TextCompletion.parse(await openai(body).completions.create({ ...MODEL, prompt: 'hi' }))
const readMessage = async (body: string) =>
  MessageAnswer.parse(await anthropic(body).messages.parse({ ...MODEL, messages: USER, max_tokens: 50 }))
const readVectors = async (body: string) =>
  Vectors.parse(await openai(body).embeddings.create({ ...MODEL, input: 'a', encoding_format: 'float' }))
async function readResponse(body: string) {
  const answer = await openai(body).responses.parse({ ...MODEL, input: 'hi' })
  return z.object({ output_text: z.string(), output: z.array(z.looseObject({ type: z.string() })) }).parse(answer)
}
async function readTranscript(body: string) {
  const asked = { model: 'm', file: new File(['x'], 'a.mp3'), response_format: 'verbose_json' as const }
  return Transcript.parse(await openai(body).audio.transcriptions.create(asked))
}

const CHAT_ASK = json({ messages: USER })
const MESSAGES_ASK = json({ messages: USER, max_tokens: 50 })
const VECTORS = recorded('embeddings-float')
/** The answers of protocols that no wire uses, on each wire of text. */
const TRANSLATED: readonly Row[] = (
  [
    ['gemini', GEMINI],
    ['bedrock', CONVERSE],
    ['responses', RESPONSE],
  ] as const
).flatMap(([format, answer]): Row[] => [
  [`chat from ${format}`, { wire: chat, raw: CHAT_ASK, format, answer, read: readChat }],
  [`messages from ${format}`, { wire: messages, raw: MESSAGES_ASK, format, answer, read: readMessage }],
  [`responses from ${format}`, { wire: responses, raw: json({ input: 'hi' }), format, answer, read: readResponse }],
])
const ROWS: readonly Row[] = [
  ...TRANSLATED,
  ['chat', { wire: chat, raw: CHAT_ASK, format: 'openai', answer: THOUGHT, read: readChat }],
  ['chat from messages', { wire: chat, raw: CHAT_ASK, format: 'messages', answer: MESSAGE, read: readChat }],
  [
    'completions',
    { wire: completions, raw: json({ prompt: 'hi' }), format: 'openai', answer: CHAT, read: readCompletion },
  ],
  [
    'completions of many prompts',
    {
      wire: completions,
      raw: json({ prompt: ['hi', 'ho'], suffix: '!' }),
      format: 'openai',
      answer: NATIVE,
      read: readCompletion,
    },
  ],
  [
    'completions of many answers in chat',
    {
      wire: completions,
      raw: json({ prompt: 'hi', n: 2 }),
      format: 'openai',
      answer: spoil(CHAT, ['choices'], [spoiledChoice(['index'], 0), spoiledChoice(['index'], 1)]),
      read: readCompletion,
    },
  ],
  ['responses', { wire: responses, raw: json({ input: 'hi' }), format: 'openai', answer: THOUGHT, read: readResponse }],
  [
    'embeddings',
    { wire: embeddings, raw: json({ input: ['a', 'b'] }), format: 'openai', answer: VECTORS, read: readVectors },
  ],
  [
    'embeddings of Gemini',
    {
      wire: embeddings,
      raw: json({ input: ['a', 'b'] }),
      format: 'gemini',
      answer: GEMINI_VECTORS,
      read: readVectors,
    },
  ],
  ['messages', { wire: messages, raw: MESSAGES_ASK, format: 'messages', answer: MESSAGE, read: readMessage }],
  ['messages from chat', { wire: messages, raw: MESSAGES_ASK, format: 'openai', answer: CHAT, read: readMessage }],
  ['transcriptions', { wire: transcriptions, raw: form(), format: 'openai', answer: HEARD, read: readTranscript }],
]

const PLAN = buildPlan()

function decode(wire: ModelWire, raw: Raw, format: Format, answer: unknown) {
  const plan = { ...PLAN, offer: offerOf({ apiFormat: format }) }
  const decoder = wire.read(raw).decoder(plan)
  decoder.head?.takes?.(headOf('application/json'))
  decodePieces(decoder, JSON.stringify(answer), [])
  return { failure: decoder.failure(), bytes: decoder.ending().contentBytes, text: () => decoder.finish(RECEIPT) }
}

describe('an unreadable answer', () => {
  it.each(ROWS)(
    'is a failed attempt on %s, whichever member is spoiled',
    async (_, { wire, raw, format, answer, read }) => {
      const sound = decode(wire, raw, format, answer)
      expect(sound.failure).toBeUndefined()
      await read(sound.text())
      let refused = 0
      for (const path of pathsOf(answer)) {
        for (const by of [...SPOILED, undefined]) {
          const { failure, bytes, text: written } = decode(wire, raw, format, spoil(answer, path, by))
          if (failure !== undefined) refused++
          // An answer without content is free, and another seller gets the call.
          else if (bytes > 0) {
            const what = `${path.join('.')} as ${JSON.stringify(by)}`
            await read(written()).catch((error: unknown) => expect.fail(`${what}: ${String(error)}`))
          }
        }
      }
      expect(refused).toBeGreaterThan(20)
    },
  )

  const spoiledChat: readonly (readonly [path: Path, by: unknown])[] = [
    [['choices', 0, 'message', 'content'], 5],
    [['choices', 0, 'message', 'role'], 'system'],
    [['choices', 0, 'finish_reason'], 5],
    [['choices', 0, 'message', 'tool_calls', 0], null],
    [['choices', 0, 'message', 'tool_calls', 0, 'function', 'arguments'], 5],
  ]
  const wires = [
    ['chat', chat, { messages: USER }],
    ['responses', responses, { input: 'hi' }],
    ['completions', completions, { prompt: 'hi' }],
    ['messages', messages, { messages: USER, max_tokens: 50 }],
  ] as const
  it.each(wires)('is malformed on %s, whole and streamed', (_, wire, ask) => {
    for (const [path, by] of spoiledChat) {
      const { failure } = decode(wire, json(ask), 'openai', spoil(CHAT, path, by))
      expect(failure?.kind, path.join('.')).toBe('malformed')
      const [, , ...within] = path
      const { message, ...rest } = z.looseObject({ message: z.unknown() }).parse(spoiledChoice(within, by))
      const frame = `data: ${JSON.stringify({ choices: [{ ...rest, delta: message }] })}\n\ndata: [DONE]\n\n`
      const decoder = wire.read(json({ ...ask, stream: true })).decoder({ ...PLAN, offer: offerOf({}) })
      decodePieces(decoder, frame, [])
      expect([decoder.failure()?.kind, decoder.contentPieces()], path.join('.')).toEqual(['malformed', 0])
    }
  })

  const loose: readonly (readonly [path: Path, by: unknown])[] = [
    [['choices', 0, 'message', 'content'], null],
    [['choices', 0, 'message', 'content'], [{ type: 'text', text: 'hi' }]],
    [['choices', 0, 'message', 'role'], undefined],
    [['choices', 0, 'message', 'of_our_own'], { x: 5 }],
    [['choices', 0, 'finish_reason'], 'eos'],
    [['choices', 0, 'finish_reason'], null],
    [['choices', 0, 'index'], undefined],
    [['choices', 0, 'logprobs'], undefined],
    [['choices', 0, 'message', 'tool_calls', 0, 'function', 'arguments'], { city: 'Rome' }],
    [['choices', 0, 'message', 'tool_calls', 0, 'id'], undefined],
    [['choices', 0, 'message', 'tool_calls', 0, 'type'], undefined],
    [['usage'], undefined],
  ]
  it.each(wires)('differs from the answers of real providers on %s with their own habits', (_, wire, ask) => {
    for (const [path, by] of loose) {
      expect(decode(wire, json(ask), 'openai', spoil(CHAT, path, by)).failure, path.join('.')).toBeUndefined()
    }
  })

  it('gets its calls in the strict form where a provider sends them loosely', () => {
    const path = ['choices', 0, 'message', 'tool_calls', 0]
    const { text: written } = decode(
      chat,
      json({ messages: USER }),
      'openai',
      spoil(CHAT, path, {
        function: { name: 'weather', arguments: { city: 'Rome' } },
      }),
    )
    expect(Completion.parse(JSON.parse(written())).choices[0]?.message.tool_calls?.[0]).toEqual({
      id: 'call_0',
      type: 'function',
      function: { name: 'weather', arguments: '{"city":"Rome"}' },
    })
  })
})

function spoiledChoice(path: Path, by: unknown): unknown {
  return spoil(z.object({ choices: z.array(z.unknown()) }).parse(CHAT).choices[0], path, by)
}
