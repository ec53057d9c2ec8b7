import fc from 'fast-check'
import OpenAI from 'openai'
import type { ResponseInputItem } from 'openai/resources/responses/responses'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ModelPlan } from '#data-plane/call.ts'
import type { SampleProvider } from '#dev/provider/server.ts'
import { createSampleProvider } from '#dev/provider/server.ts'
import type { AssistantPart, Conversation, UserPart } from '#shared/protocols/middle-form/conversation.ts'
import { PLAIN_CONVERSATION } from '#shared/protocols/middle-form/conversation.ts'
import { encodeResponses } from '#shared/protocols/responses/encode.ts'
import { encryptedDetail } from '#shared/protocols/responses-form.ts'
import { buildModel, buildOffer, buildPlan, buildRaw, buildTarget } from '#test/support/bytes/build-market.ts'
import type { HeardOnWire, WireName } from '#test/support/bytes/heard-on-wire.ts'
import { hearOnWire, WIRE_NAMES, WIRES } from '#test/support/bytes/heard-on-wire.ts'
import { readResponse } from '#test/support/bytes/read-response.ts'
import { dataOf, offerOf } from '#test/support/bytes/wire-bytes.ts'

const KEY = 'sk-of-the-seller'
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, additionalProperties: false }
const PICTURE = `data:image/png;base64,${Buffer.from('picture').toString('base64')}`

let provider: SampleProvider
let client: OpenAI

beforeAll(async () => {
  provider = await createSampleProvider({ host: '127.0.0.1', port: 0, name: 'sandbox' })
  client = new OpenAI({ apiKey: KEY, baseURL: provider.url, maxRetries: 0 })
})
afterAll(() => provider.close())

const model = buildModel({
  features: ['tools', 'reasoning', 'vision'],
  inputModalities: ['text', 'image', 'file'],
  parameters: [...buildModel().parameters, 'verbosity', 'reasoning_effort'],
})
const offer = buildOffer({ apiFormat: 'responses', providerModel: 'gpt-5-thinking' })
const planOf = (given: Partial<ModelPlan> = {}) =>
  buildPlan({ offer: offerOf(offer), target: buildTarget(model), maxOutputTokens: 400, ...given })

async function post(body: string, key = KEY) {
  const answer = await fetch(`${provider.url}/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
  })
  return { status: answer.status, text: await answer.text() }
}

describe('the official SDK at the sample provider', () => {
  const tools = [{ type: 'function' as const, name: 'get_weather', parameters: SCHEMA, strict: true }]
  const base = { model: 'gpt-5-thinking', store: false, include: ['reasoning.encrypted_content' as const] }

  it.each([
    ['whole', false],
    ['streamed', true],
  ])('finishes a tool loop with encrypted reasoning, %s', async (_form, isStreamed) => {
    const input: ResponseInputItem[] = [{ role: 'user', content: 'What is the weather in Bern?' }]
    const ask = () =>
      isStreamed
        ? client.responses.stream({ ...base, input, tools }).finalResponse()
        : client.responses.create({ ...base, input, tools })
    const first = await ask()
    expect(first.output.map(({ type }) => type)).toEqual(['reasoning', 'function_call'])
    for (const item of first.output) {
      if (item.type === 'reasoning') input.push({ ...item, id: undefined } as unknown as ResponseInputItem)
      if (item.type !== 'function_call') continue
      const { call_id, name, arguments: said } = item
      input.push({ type: 'function_call', call_id, name, arguments: said })
      input.push({ type: 'function_call_output', call_id, output: 'Sunny.' })
    }
    const second = await ask()
    expect(second.output_text).toMatch(/./)
    expect(second.usage?.total_tokens).toBe((second.usage?.input_tokens ?? 0) + (second.usage?.output_tokens ?? 0))
  })

  it('streams events that add up to the whole answer', async () => {
    const ask = { ...base, input: 'Say something short.' }
    const whole = await client.responses.create(ask)
    const streamed = await client.responses.stream(ask).finalResponse()
    expect(streamed.output).toMatchObject(whole.output)
    expect(streamed.usage).toEqual(whole.usage)
  })
})

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 })
const saidPart: fc.Arbitrary<UserPart> = fc.oneof(
  text.map((said) => ({ kind: 'text' as const, text: said })),
  fc.constantFrom('low', 'high', undefined).map((detail) => ({
    kind: 'image' as const,
    source: { kind: 'data' as const, mediaType: 'image/png', data: 'cGljdHVyZQ==' },
    ...(detail !== undefined && { detail }),
  })),
  fc.constant({ kind: 'file' as const, source: { kind: 'url' as const, url: 'https://files.example/a.pdf' } }),
)
const exchange = fc.record({
  said: fc.array(saidPart, { minLength: 1, maxLength: 3 }),
  thought: fc.option(text, { nil: undefined }),
  answer: fc.option(text, { nil: undefined }),
  calls: fc.array(fc.record({ id: fc.string({ minLength: 1, maxLength: 90 }), input: fc.json({ maxDepth: 1 }) }), {
    maxLength: 3,
  }),
})
const conversation: fc.Arbitrary<Conversation> = fc
  .record({
    system: fc.array(text, { maxLength: 2 }),
    exchanges: fc.array(exchange, { maxLength: 4 }),
    last: fc.array(saidPart, { minLength: 1, maxLength: 2 }),
    isStrict: fc.constantFrom(true, undefined),
    toolChoice: fc.constantFrom(
      'auto' as const,
      'none' as const,
      'required' as const,
      { name: 'get_weather' },
      undefined,
    ),
    parallelToolCalls: fc.constantFrom(true, false, undefined),
    verbosity: fc.constantFrom('low', undefined),
    temperature: fc.constantFrom(0.5, undefined),
  })
  .map(({ system, exchanges, last, isStrict, toolChoice, parallelToolCalls, verbosity, temperature }) => ({
    ...PLAIN_CONVERSATION,
    system: system.map((said) => ({ kind: 'text' as const, text: said })),
    turns: [
      ...exchanges.flatMap(({ said, thought, answer, calls }, at) => {
        const parts: AssistantPart[] = []
        if (thought !== undefined)
          parts.push({ kind: 'reasoning', text: thought, details: [encryptedDetail(sealOf(thought))] })
        if (answer !== undefined) parts.push({ kind: 'text', text: answer })
        const made = calls.map(({ id, input }, index) => ({ id: `${at}.${index}.${id}`, input }))
        for (const { id, input } of made) parts.push({ kind: 'toolCall', id, name: 'get_weather', input })
        const results = made.map(({ id }) => ({
          kind: 'toolResult' as const,
          callId: id,
          parts: [{ kind: 'text' as const, text: 'Sunny.' }],
          isError: false,
        }))
        return [
          { role: 'user' as const, parts: said },
          { role: 'assistant' as const, parts },
          ...(results.length === 0 ? [] : [{ role: 'user' as const, parts: results }]),
        ]
      }),
      { role: 'user' as const, parts: last },
    ],
    tools: [{ name: 'get_weather', description: 'The weather.', schema: SCHEMA, ...(isStrict && { isStrict }) }],
    toolChoice,
    parallelToolCalls,
    ...(verbosity !== undefined && { verbosity }),
    sampling: temperature === undefined ? {} : { temperature },
    maxTokens: 400,
  }))

let sealed = ''
/** A thought that the provider has sealed for the key. */
function sealOf(_thought: string): string {
  return sealed
}

describe('conversations of all shapes', () => {
  beforeAll(async () => {
    const first = await post(encodeResponses({ ...PLAIN_CONVERSATION, maxTokens: 400 }, planOf()).body)
    const { events } = readResponse(first.text, false)
    const thought = events.find((event) => event.kind === 'reasoning' && event.details !== undefined)
    sealed = String(thought?.kind === 'reasoning' ? thought.details?.[0]?.['data'] : '')
  })

  it('are understood by the provider, and the answer is the same whole and streamed, cut anywhere', async () => {
    await fc.assert(
      fc.asyncProperty(conversation, fc.array(fc.nat(), { maxLength: 6 }), async (asked, cuts) => {
        const whole = encodeResponses(asked, planOf())
        expect(whole.adaptedParams).toEqual([])
        const [first, second] = [
          await post(whole.body),
          await post(encodeResponses({ ...asked, isStreamed: true }, planOf()).body),
        ]
        expect([first.status, first.text]).toEqual([200, expect.any(String)])
        expect(second.status).toBe(200)
        const heard = readResponse(first.text, false)
        const streamed = readResponse(second.text, true, cuts)
        expect(heard.failure).toBeUndefined()
        expect(streamed.events).toEqual(heard.events)
        expect(streamed.reported).toMatchObject({ outputTokens: heard.reported.outputTokens })
        expect(heard.events.at(-1)?.kind).toBe('finish')
      }),
      { numRuns: 200 },
    )
  })
})

/** The second turn's request, built by a client from the answer. */
function nextRequest(wire: WireName, { turn, calls }: HeardOnWire): object {
  const id = calls[0]?.id ?? ''
  switch (wire) {
    case 'chat':
      return {
        messages: [{ role: 'user', content: 'weather?' }, turn, { role: 'tool', tool_call_id: id, content: 'ok' }],
      }
    case 'messages': {
      const result = { type: 'tool_result', tool_use_id: id, content: 'ok' }
      return { messages: [{ role: 'user', content: 'weather?' }, turn, { role: 'user', content: [result] }] }
    }
    case 'responses': {
      const items = Array.isArray(turn) ? turn : []
      const output = { type: 'function_call_output', call_id: id, output: 'ok' }
      return { input: [{ role: 'user', content: 'weather?' }, ...items, output] }
    }
  }
}

const ASKS: Readonly<Record<WireName, object>> = {
  chat: { tools: [{ type: 'function', function: { name: 'get_weather', parameters: SCHEMA } }] },
  messages: { tools: [{ name: 'get_weather', input_schema: SCHEMA }] },
  responses: {
    tools: [{ type: 'function', name: 'get_weather', parameters: SCHEMA, strict: false }],
    store: false,
    include: ['reasoning.encrypted_content'],
  },
}
const PICTURES: Readonly<Record<WireName, object>> = {
  chat: {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'weather?' },
          { type: 'image_url', image_url: { url: PICTURE } },
        ],
      },
    ],
  },
  messages: {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'weather?' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'cGljdHVyZQ==' } },
        ],
      },
    ],
  },
  responses: {
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'weather?' },
          { type: 'input_image', image_url: PICTURE },
        ],
      },
    ],
  },
}

async function callOn(wire: WireName, isStreamed: boolean, request: object, plan = planOf()) {
  const body = { model: 'gpt-5-mini', ...WIRES[wire].ask, ...ASKS[wire], ...request, stream: isStreamed }
  const sent = WIRES[wire].wire.read(buildRaw(JSON.stringify(body))).encode(plan)
  const text = sent.pieces === undefined ? sent.body : Buffer.concat([...sent.pieces]).toString('utf8')
  const { status, text: answer } = await post(text)
  const read = { ...ASKS[wire], ...request }
  return { sent: JSON.parse(text) as unknown, status, adapted: sent.adaptedParams, answer, read }
}

const WAYS = WIRE_NAMES.flatMap((wire) =>
  [false, true].map((isStreamed) => [wire, isStreamed ? 'streamed' : 'whole', isStreamed] as const),
)

describe.each(WAYS)('a tool loop with thoughts and a picture on the %s wire, %s', (wire, _form, isStreamed) => {
  const types = (sent: unknown) => {
    const input = dataOf(sent, 'input')
    return Array.isArray(input) ? input.map((item) => dataOf(item, 'type') ?? dataOf(item, 'role')) : []
  }

  it("returns in the provider's form, and without its thoughts at another account", async () => {
    const plan = planOf()
    const first = await callOn(wire, isStreamed, PICTURES[wire], plan)
    expect(first.status).toBe(200)
    expect(dataOf(first.sent, 'store')).toBe(false)
    expect(dataOf(first.sent, 'input', '0', 'content', '1')).toMatchObject({ type: 'input_image', image_url: PICTURE })
    const heard = hearOnWire(wire, isStreamed, first.answer, { plan, request: first.read })
    expect(heard.calls).toMatchObject([{ name: 'get_weather' }])

    const second = await callOn(wire, isStreamed, nextRequest(wire, heard), plan)
    expect(types(second.sent)).toEqual(['user', 'reasoning', 'function_call', 'function_call_output'])
    expect(second.status).toBe(200)
    expect(hearOnWire(wire, isStreamed, second.answer, { plan, request: second.read }).text).toMatch(/./)

    const other = planOf({ offer: offerOf({ ...offer, credential: { ...offer.credential, id: 'crd_other' } }) })
    const third = await callOn(wire, isStreamed, nextRequest(wire, heard), other)
    expect(types(third.sent)).toEqual(['user', 'function_call', 'function_call_output'])
    expect(third.adapted).toContainEqual(expect.stringMatching(/reasoning|redacted_thinking/))

    const elsewhere = buildPlan({ target: buildTarget(model) })
    const asked = { model: 'gpt-5-mini', ...WIRES[wire].ask, ...ASKS[wire], ...nextRequest(wire, heard) }
    const { body, adaptedParams } = WIRES[wire].wire.read(buildRaw(JSON.stringify(asked))).encode(elsewhere)
    expect(body).not.toContain('mkt1_')
    expect(adaptedParams).toContainEqual(expect.stringMatching(/reasoning|redacted_thinking/))
  })
})

const PATCH = 'Use the apply_patch tool: "é" 🌍'
const GRAMMAR = { syntax: 'lark', definition: 'start: /[^]+/' }
const DESCRIBED = { name: 'apply_patch', description: 'Edits files.' }
const CUSTOM: { readonly [Name in 'chat' | 'responses']: object } = {
  chat: {
    messages: [{ role: 'user', content: PATCH }],
    tools: [{ type: 'custom', custom: { ...DESCRIBED, format: { type: 'grammar', grammar: GRAMMAR } } }],
    tool_choice: { type: 'custom', custom: { name: 'apply_patch' } },
  },
  responses: {
    input: PATCH,
    tools: [{ type: 'custom', ...DESCRIBED, format: { type: 'grammar', ...GRAMMAR } }],
    tool_choice: { type: 'custom', name: 'apply_patch' },
  },
}

describe.each(
  (['chat', 'responses'] as const).flatMap((wire) => [false, true].map((isStreamed) => [wire, isStreamed] as const)),
)('a custom tool of the %s wire, streamed %s', (wire, isStreamed) => {
  it('stays a custom tool, in the request, in the answer and in the next turn', async () => {
    const plan = planOf()
    const { tools, ...asked } = CUSTOM[wire] as { readonly tools: readonly object[] }
    const { sent, adapted, answer, status } = await callOn(wire, isStreamed, CUSTOM[wire], plan)
    expect(adapted).toEqual(['chat', 'responses'].includes(wire) ? expect.not.arrayContaining(['tools.custom']) : [])
    expect(sent).toMatchObject({
      tools: [{ type: 'custom', ...DESCRIBED, format: { type: 'grammar', ...GRAMMAR } }],
      tool_choice: { type: 'custom', name: 'apply_patch' },
    })
    expect(status).toBe(200)
    const heard = hearOnWire(wire, isStreamed, answer, { plan, request: { ...asked, tools } })
    const turn = JSON.stringify(heard.turn)
    expect(turn).toContain(wire === 'chat' ? '"custom"' : 'custom_tool_call')
    expect(turn).toContain(JSON.stringify(PATCH).slice(0, 20))
    const call = { call_id: 'call_1', name: 'apply_patch' }
    const next =
      wire === 'responses'
        ? {
            input: [
              { role: 'user', content: PATCH },
              { type: 'custom_tool_call', ...call, input: PATCH },
              { type: 'custom_tool_call_output', call_id: 'call_1', output: 'Done.' },
            ],
          }
        : {
            messages: [
              { role: 'user', content: PATCH },
              {
                role: 'assistant',
                content: null,
                tool_calls: [{ id: 'call_1', type: 'custom', custom: { name: 'apply_patch', input: PATCH } }],
              },
              { role: 'tool', tool_call_id: 'call_1', content: 'Done.' },
            ],
          }
    const second = await callOn(wire, isStreamed, { ...next, tools, tool_choice: 'auto' }, plan)
    expect(second.status).toBe(200)
    expect(dataOf(second.sent, 'input')).toEqual([
      { role: 'user', content: PATCH },
      { type: 'custom_tool_call', ...call, input: PATCH },
      { type: 'custom_tool_call_output', call_id: 'call_1', output: 'Done.' },
    ])
  })
})

it('members of OpenAI’s own reach its responses from both of its wires, and are named at another protocol', () => {
  const extras = { prompt_cache_key: 'mine', prompt_cache_retention: '24h' }
  const asks = {
    chat: { messages: [{ role: 'user', content: 'hi' }], verbosity: 'low', ...extras },
    responses: { input: 'hi', text: { verbosity: 'low' }, ...extras },
  }
  for (const wire of ['chat', 'responses'] as const) {
    const read = () => WIRES[wire].wire.read(buildRaw(JSON.stringify({ model: 'gpt-5-mini', ...asks[wire] })))
    const sent = read().encode(planOf())
    expect(sent.adaptedParams.filter((name) => !/^max_/.test(name))).toEqual([])
    expect(JSON.parse(sent.body)).toMatchObject({ ...extras, text: { verbosity: 'low' } })
    const other = read().encode(planOf({ offer: offerOf({ apiFormat: 'messages' }) }))
    const verbosity = wire === 'chat' ? 'verbosity' : 'text.verbosity'
    expect(other.adaptedParams).toEqual(expect.arrayContaining([...Object.keys(extras), verbosity]))
  }
})

it('a requested tier is forwarded, and the answer names the serving tier', () => {
  const ask = { model: 'gpt-5-mini', input: 'hi', service_tier: 'priority' }
  const { body, adaptedParams } = WIRES.responses.wire.read(buildRaw(JSON.stringify(ask))).encode(planOf())
  expect(JSON.parse(body)).toMatchObject({ service_tier: 'priority' })
  expect(adaptedParams).not.toContain('service_tier')
})

it('a chat names members that the protocol cannot express', () => {
  const ask = {
    model: 'gpt-5-mini',
    messages: [{ role: 'user', content: 'hi' }],
    stop: ['x'],
    seed: 1,
    presence_penalty: 0.5,
    frequency_penalty: 0.5,
    logit_bias: { '1': 1 },
    top_k: 4,
    max_tokens: 400,
    verbosity: 'low',
    reasoning_effort: 'high',
  }
  const { body, adaptedParams } = WIRES.chat.wire.read(buildRaw(JSON.stringify(ask))).encode(planOf())
  const unsaid = ['frequency_penalty', 'logit_bias', 'presence_penalty', 'seed', 'stop', 'top_k']
  expect(new Set(adaptedParams)).toEqual(new Set(unsaid))
  expect(JSON.parse(body)).toEqual({
    model: 'gpt-5-thinking',
    input: [{ role: 'user', content: 'hi' }],
    text: { verbosity: 'low' },
    reasoning: { effort: 'high' },
    max_output_tokens: 400,
    store: false,
    include: ['reasoning.encrypted_content'],
  })
})
