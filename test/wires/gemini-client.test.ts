import type { Content, GenerateContentConfig, Part } from '@google/genai'
import { FunctionCallingConfigMode, GoogleGenAI, ServiceTier, ThinkingLevel } from '@google/genai'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { chat } from '#data-plane/wires/chat/index.ts'
import { buildRaw } from '#test/support/build-market.ts'
import { geminiPlan } from '#test/support/gemini-plan.ts'
import { dataOf } from '#test/support/wire-bytes.ts'

const MODEL = 'gemini-3-flash-preview'
const SCHEMA = { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } } }
const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 })
const value = fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
/** A key of this name would change the prototype of what the comparison parses. */
const input = value.filter((given) => !JSON.stringify(given).includes('__proto__'))
const call = fc.record({ name: fc.stringMatching(/^[a-z_]{1,12}$/), input, result: fc.oneof(text, input) })
/** A user's words, and the model's answer: words, calls with their results, or both. */
const exchange = fc.record({
  said: text,
  picture: fc.option(fc.constant('iVBORw0KGgo='), { nil: undefined }),
  answered: fc.option(text, { nil: undefined }),
  calls: fc.array(call, { maxLength: 3 }),
})
const talk = fc.record({
  system: fc.option(text, { nil: undefined }),
  exchanges: fc.array(exchange, { maxLength: 3 }),
  question: text,
  hasTools: fc.boolean(),
  choice: fc.constantFrom('auto', 'none', 'required', undefined),
  temperature: fc.option(fc.constantFrom(0, 0.5, 2), { nil: undefined }),
  topP: fc.option(fc.constantFrom(0.1, 1), { nil: undefined }),
  seed: fc.option(fc.nat({ max: 2_147_483_647 }), { nil: undefined }),
  stops: fc.uniqueArray(text, { maxLength: 4 }),
  effort: fc.constantFrom('minimal', 'low', 'medium', 'high', undefined),
  hasFormat: fc.boolean(),
  isPriority: fc.boolean(),
  isStreamed: fc.boolean(),
})
type Talk = typeof talk extends fc.Arbitrary<infer Value> ? Value : never

const signature = (at: number) => Buffer.from(`signature ${at}`).toString('base64')
const idOf = (at: number, place: number) => `call_${at}_${place}`

/** The conversation as a buyer of the chat wire asks for it. */
function asChat({ system, exchanges, question, ...wish }: Talk): object {
  const messages = exchanges.flatMap(({ said, picture, answered, calls }, at) => [
    {
      role: 'user',
      content: [
        { type: 'text', text: said },
        ...(picture ? [{ type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } }] : []),
      ],
    },
    ...(answered === undefined && calls.length === 0
      ? []
      : [
          {
            role: 'assistant',
            content: answered ?? null,
            ...(calls.length > 0 && {
              tool_calls: calls.map((given, place) => ({
                id: idOf(at, place),
                type: 'function',
                function: { name: given.name, arguments: JSON.stringify(given.input) },
                ...(place === 0 && { extra_content: { google: { thought_signature: signature(at) } } }),
              })),
            }),
          },
        ]),
    ...calls.map(({ result }, place) => ({
      role: 'tool',
      tool_call_id: idOf(at, place),
      content: typeof result === 'string' ? result : JSON.stringify(result),
    })),
  ])
  return {
    model: MODEL,
    max_tokens: 10_000,
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: system }]),
      ...messages,
      { role: 'user', content: question },
    ],
    stream: wish.isStreamed,
    ...(wish.hasTools && {
      tools: [{ type: 'function', function: { name: 'weather', description: 'Weather.', parameters: SCHEMA } }],
      ...(wish.choice && { tool_choice: wish.choice }),
    }),
    temperature: wish.temperature,
    top_p: wish.topP,
    seed: wish.seed,
    ...(wish.stops.length > 0 && { stop: wish.stops }),
    reasoning_effort: wish.effort,
    ...(wish.hasFormat && { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: SCHEMA } } }),
    ...(wish.isPriority && { service_tier: 'priority' }),
  }
}

/** True for a text that is an object in JSON, which the model gets as it is. */
function isObject(given: string): boolean {
  try {
    const parsed: unknown = JSON.parse(given)
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
  } catch {
    return false
  }
}

/** The same conversation as a user of Google's own client writes it. */
function asGoogle({ system, exchanges, question, ...wish }: Talk): {
  readonly contents: Content[]
  readonly config: GenerateContentConfig
} {
  const turns: { role: string; parts: Part[] }[] = []
  const add = (role: string, parts: Part[]) => {
    const last = turns.at(-1)
    if (last?.role === role) last.parts.push(...parts)
    else if (parts.length > 0) turns.push({ role, parts })
  }
  for (const [at, { said, picture, answered, calls }] of exchanges.entries()) {
    add('user', [{ text: said }, ...(picture ? [{ inlineData: { mimeType: 'image/png', data: picture } }] : [])])
    const made = calls.map((given, place) => ({
      functionCall: { id: idOf(at, place), name: given.name, args: given.input },
      ...(place === 0 && { thoughtSignature: signature(at) }),
    }))
    add('model', [...(answered === undefined ? [] : [{ text: answered }]), ...made])
    add(
      'user',
      calls.map(({ name, result }, place) => ({
        functionResponse: {
          id: idOf(at, place),
          name,
          response: typeof result !== 'string' ? result : isObject(result) ? JSON.parse(result) : { output: result },
        },
      })),
    )
  }
  add('user', [{ text: question }])
  const modes = {
    auto: FunctionCallingConfigMode.AUTO,
    none: FunctionCallingConfigMode.NONE,
    required: FunctionCallingConfigMode.ANY,
  }
  const levels = {
    minimal: ThinkingLevel.MINIMAL,
    low: ThinkingLevel.LOW,
    medium: ThinkingLevel.MEDIUM,
    high: ThinkingLevel.HIGH,
  }
  const { choice, effort } = wish
  const declared = { name: 'weather', description: 'Weather.', parametersJsonSchema: SCHEMA }
  const config: GenerateContentConfig = {
    maxOutputTokens: 10_000,
    ...(system !== undefined && { systemInstruction: { parts: [{ text: system }] } }),
    ...(wish.hasTools && { tools: [{ functionDeclarations: [declared] }] }),
    ...(wish.hasTools &&
      choice !== undefined && { toolConfig: { functionCallingConfig: { mode: modes[choice as keyof typeof modes] } } }),
    ...(wish.temperature !== undefined && { temperature: wish.temperature }),
    ...(wish.topP !== undefined && { topP: wish.topP }),
    ...(wish.seed !== undefined && { seed: wish.seed }),
    ...(wish.stops.length > 0 && { stopSequences: wish.stops }),
    ...(wish.hasFormat && { responseMimeType: 'application/json', responseJsonSchema: SCHEMA }),
    ...(effort !== undefined && {
      thinkingConfig: { includeThoughts: true, thinkingLevel: levels[effort as keyof typeof levels] },
    }),
    ...(wish.isPriority && { serviceTier: ServiceTier.PRIORITY }),
  }
  return { contents: turns, config }
}

/** The request that Google's own client sends. */
async function sentByClient(given: Talk): Promise<{ readonly path: string; readonly body: unknown }> {
  let sent: { path: string; body: unknown } | undefined
  const record: typeof fetch = async (address, init) => {
    const url = new URL(String(address instanceof Request ? address.url : address))
    sent = { path: url.pathname + url.search, body: JSON.parse(String(init?.body)) }
    return new Response('{"candidates":[]}', { headers: { 'content-type': 'application/json' } })
  }
  const client = new GoogleGenAI({
    apiKey: 'key',
    vertexai: false,
    httpOptions: { baseUrl: 'https://a.example', apiVersion: 'v1beta', fetch: record },
  })
  const request = { model: MODEL, ...asGoogle(given) }
  if (given.isStreamed) await client.models.generateContentStream(request)
  else await client.models.generateContent(request)
  if (sent === undefined) throw new Error('nothing was sent')
  return sent
}

it('a conversation is sent to a seller of Gemini’s own protocol as Google’s own client sends it', async () => {
  const property = fc.asyncProperty(talk, async (given) => {
    const { path, body } = chat
      .read(buildRaw(JSON.stringify(asChat(given))))
      .encode(geminiPlan(MODEL, { id: MODEL, features: ['reasoning', 'tools'] }))
    const client = await sentByClient(given)
    expect(`/v1beta${path}`).toBe(client.path)
    expect(JSON.parse(body)).toEqual(client.body)
    expect(dataOf(client.body, 'contents')).toBeDefined()
  })
  await fc.assert(property, { numRuns: 200 })
})
