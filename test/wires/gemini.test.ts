import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { classifyBadAnswer } from '#data-plane/upstream/classify.ts'
import { responses } from '#data-plane/wires/responses/index.ts'
import { geminiReader } from '#shared/protocols/gemini/reader.ts'
import { buildRaw } from '#test/support/bytes/build-market.ts'
import { geminiPlan } from '#test/support/bytes/gemini-plan.ts'
import type { HeardOnWire, WireName } from '#test/support/bytes/heard-on-wire.ts'
import { hearOnWire, WIRE_NAMES, WIRES } from '#test/support/bytes/heard-on-wire.ts'
import { dataOf } from '#test/support/bytes/wire-bytes.ts'

/** An answer with these parts, or an event of it. */
const answer = (parts: readonly object[] | undefined, finishReason?: string, more: object = {}) => ({
  candidates: [
    { index: 0, ...(parts && { content: { role: 'model', parts } }), ...(finishReason && { finishReason }) },
  ],
  ...more,
})
const USAGE = {
  promptTokenCount: 100,
  toolUsePromptTokenCount: 7,
  candidatesTokenCount: 20,
  thoughtsTokenCount: 30,
  cachedContentTokenCount: 60,
  totalTokenCount: 157,
}
const PARTS = [
  { text: 'Let me see.', thought: true },
  { text: 'It is ' },
  { text: 'sunny.' },
  { functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: 'c2ln' },
  { functionCall: { id: 'own', name: '_1st' } },
]
const stream = (...events: readonly object[]) =>
  events.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join('')
const AS = {
  whole: () => JSON.stringify(answer(PARTS, 'STOP', { usageMetadata: USAGE, responseId: 'r-1' })),
  streamed: () =>
    stream(
      ...PARTS.map((part, at) =>
        answer([part], undefined, {
          responseId: 'r-1',
          usageMetadata: { ...USAGE, candidatesTokenCount: at, totalTokenCount: 137 + at },
        }),
      ),
      answer([{ text: '' }], 'STOP', { usageMetadata: USAGE, responseId: 'r-1' }),
    ),
} as const
const withArguments = (args: string) =>
  `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":${args}}}]},"finishReason":"STOP"}]}`
const FORMS = ['whole', 'streamed'] as const
const WAYS = WIRE_NAMES.flatMap((wire) => FORMS.map((form) => [wire, form] as const))

function read(isStreamed: boolean, text: string, cuts: readonly number[] = []) {
  const reader = geminiReader(isStreamed)
  const bytes = Buffer.from(text)
  const events = [0, ...cuts].flatMap((from, at) => reader.push(bytes.subarray(from, cuts[at] ?? bytes.length)))
  return { events: [...events, ...reader.end()], failure: reader.failure(), reported: reader.reported() }
}

describe('an answer in Gemini’s own protocol', () => {
  it.each(WAYS)('reaches the %s wire, %s', (wire, form) => {
    const heard = hearOnWire(wire, form === 'streamed', AS[form](), { plan: geminiPlan() })
    expect(heard.text).toBe('It is sunny.')
    expect(heard.calls.map(({ name, input }) => ({ name, input: JSON.parse(input || '{}') }))).toEqual([
      { name: 'f', input: { a: 1 } },
      { name: '1st', input: {} },
    ])
    expect(heard.calls[0]?.id).toMatch(/^call_r-1_0/)
    expect(heard.calls[1]?.id).toBe('own')
    if (wire !== 'messages') expect(heard.thought).toBe('Let me see.')
  })

  it('is the same cut anywhere', () => {
    const text = AS.streamed()
    const { events, reported } = read(true, text)
    const cuts = fc.array(fc.nat({ max: text.length }), { maxLength: 6 }).map((at) => at.sort((a, b) => a - b))
    fc.assert(
      fc.property(cuts, (at) => {
        expect(read(true, text, at)).toMatchObject({ events, reported })
      }),
    )
    expect(reported).toEqual(read(false, AS.whole()).reported)
  })

  it.each(FORMS)('has the arguments of a call character by character, %s', (form) => {
    const args = '{ "id": 1234567890123456789, "x": 1.0, "t": "}]" }'
    const text = `{"candidates":[{"content":{"parts":[{"text":"a"},{"functionCall":{"name":"f","args":${args}}}]},"finishReason":"STOP"}]}`
    const { events } = read(form === 'streamed', form === 'streamed' ? `data: ${text}\n\n` : text)
    expect(events).toContainEqual({ kind: 'toolInput', index: 0, text: args })
  })

  it.each([
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['SAFETY', 'contentFilter'],
    ['RECITATION', 'contentFilter'],
    ['OTHER', 'contentFilter'],
    ['IMAGE_PROHIBITED_CONTENT', 'contentFilter'],
    ['CONTINUATION', 'stop'],
  ])('with the reason %s has the finish %s', (finishReason, reason) => {
    const text = JSON.stringify(answer([{ text: 'a' }], finishReason))
    for (const [isStreamed, bytes] of [
      [false, text],
      [true, `data: ${text}\n\n`],
    ] as const) {
      expect(read(isStreamed, bytes).events.at(-1)).toEqual({ kind: 'finish', reason, stopSequence: null })
    }
  })

  it.each(['MALFORMED_FUNCTION_CALL', 'MALFORMED_RESPONSE', 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS'])(
    'with a spoilt form (%s) is the fault of this provider only',
    (finishReason) => {
      for (const isStreamed of [false, true]) {
        const text = JSON.stringify(answer(undefined, finishReason, { usageMetadata: USAGE }))
        const { failure } = read(isStreamed, isStreamed ? `data: ${text}\n\n` : text)
        const { fault, errorClass } = classifyBadAnswer(failure!, { holdsKey: () => false, requestText: () => '' })
        expect({ fault, errorClass }).toEqual({ fault: 'offer', errorClass: 'server_error' })
      }
    },
  )

  it.each(['SAFETY', 'PROHIBITED_CONTENT', 'JAILBREAK'])(
    'to a prompt that is blocked (%s) is a refusal',
    (blockReason) => {
      const text = JSON.stringify({ promptFeedback: { blockReason }, usageMetadata: { promptTokenCount: 9 } })
      for (const isStreamed of [false, true]) {
        const { failure, reported } = read(isStreamed, isStreamed ? `data: ${text}\n\n` : text)
        const { fault } = classifyBadAnswer(failure!, { holdsKey: () => false, requestText: () => '' })
        expect(fault).toBe('buyer')
        expect(reported).toEqual({ insaneFields: 0 })
      }
    },
  )

  it.each([
    ['without candidates', false, '{"usageMetadata":{}}', 'malformed'],
    [
      'with an empty list of candidates',
      false,
      '{"candidates":[],"usageMetadata":{"promptTokenCount":9}}',
      'malformed',
    ],
    ['with an empty candidate', false, '{"candidates":[{"index":0}]}', 'malformed'],
    ['with candidates that are not a list', true, 'data: {"candidates":{}}\n\n', 'malformed'],
    ['with a malformed candidate', true, 'data: {"candidates":["a"]}\n\n', 'malformed'],
    ['with malformed content', true, 'data: {"candidates":[{"content":"a"}]}\n\n', 'malformed'],
    ['with parts that are not a list', true, 'data: {"candidates":[{"content":{"parts":{}}}]}\n\n', 'malformed'],
    ['with arguments as a string', false, withArguments('"{}"'), 'malformed'],
    ['with arguments as a list', false, withArguments('[1]'), 'malformed'],
    ['with a malformed part', false, '{"candidates":[{"content":{"parts":[1]}}]}', 'malformed'],
    ['with a call without a name', false, '{"candidates":[{"content":{"parts":[{"functionCall":{}}]}}]}', 'malformed'],
    ['that stops in the middle', true, stream(answer([{ text: 'a' }])), 'cut'],
  ])('%s cannot be read', (_name, isStreamed, text, kind) => {
    expect(read(isStreamed, text).failure?.kind).toBe(kind)
  })
})

describe('an odd but valid answer of Gemini', () => {
  const finishOf = (text: string, isStreamed = false) => read(isStreamed, text).events.at(-1)

  it.each([
    ['has only its finish reason', '{"candidates":[{"finishReason":"STOP"}]}'],
    ['has no parts', '{"candidates":[{"content":{"role":"model"},"finishReason":"STOP"}]}'],
    ['has null in the place of its content', '{"candidates":[{"content":null,"finishReason":"STOP"}]}'],
  ])('%s', (_what, text) => {
    for (const isStreamed of [false, true]) {
      const { events, failure } = read(isStreamed, isStreamed ? `data: ${text}\n\n` : text)
      expect([failure, events]).toEqual([undefined, [{ kind: 'finish', reason: 'stop', stopSequence: null }]])
    }
  })

  it('has only thoughts, up to its limit', () => {
    const text = JSON.stringify(answer([{ text: 'Hm.', thought: true }], 'MAX_TOKENS', { usageMetadata: USAGE }))
    expect(read(false, text)).toMatchObject({
      events: [
        { kind: 'reasoning', text: 'Hm.' },
        { kind: 'finish', reason: 'length' },
      ],
      reported: { outputTokens: 50 },
      failure: undefined,
    })
  })

  it('has its figures after its end', () => {
    const frames = stream(answer([{ text: 'a' }]), answer(undefined, 'MAX_TOKENS'), { usageMetadata: USAGE })
    expect(read(true, frames)).toMatchObject({ reported: { inputTokens: 107 }, failure: undefined })
    expect(finishOf(frames, true)).toMatchObject({ reason: 'length' })
  })

  it('has calls of one function and one id, each of which gets an id of its own', () => {
    const call = { functionCall: { id: 'c', name: 'f', args: { a: 1 } } }
    const { events } = read(false, JSON.stringify(answer([call, call, { functionCall: { name: 'f' } }], 'STOP')))
    const started = events.flatMap((event) => (event.kind === 'toolStart' ? [[event.index, event.id, event.name]] : []))
    expect(started).toEqual([
      [0, 'c', 'f'],
      [1, 'c_', 'f'],
      [2, 'call_2', 'f'],
    ])
  })
})

describe('the usage of Gemini', () => {
  const usageOf = (usageMetadata: object) =>
    read(false, JSON.stringify(answer([{ text: 'a' }], 'STOP', { usageMetadata }))).reported

  it('has thoughts beside the answer, tools beside the prompt, and a cache within it', () => {
    expect(usageOf(USAGE)).toEqual({
      inputTokens: 107,
      outputTokens: 50,
      reasoningTokens: 30,
      cachedTokens: 60,
      insaneFields: 0,
    })
  })

  it('has sound and pictures apart, sound with its part from a cache, pictures without theirs', () => {
    const details = (AUDIO: number, IMAGE: number) => [
      { modality: 'TEXT', tokenCount: 1 },
      { modality: 'AUDIO', tokenCount: AUDIO },
      { modality: 'IMAGE', tokenCount: IMAGE },
    ]
    const reported = usageOf({
      ...USAGE,
      promptTokensDetails: details(40, 50),
      cacheTokensDetails: details(10, 45),
      candidatesTokensDetails: details(3, 4),
    })
    expect(reported).toMatchObject({
      audioInputTokens: 40,
      cachedAudioTokens: 10,
      imageInputTokens: 5,
      audioOutputTokens: 3,
      imageOutputTokens: 4,
    })
  })

  it('has the figures of the last event, and those of an earlier one that the last leaves out', () => {
    const { reported } = read(
      true,
      stream(
        answer([{ text: 'a', thought: true }], undefined, {
          usageMetadata: { promptTokenCount: 10, thoughtsTokenCount: 5 },
        }),
        answer([{ text: 'b' }], 'STOP', { usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 2 } }),
        { usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 4 } },
      ),
    )
    expect(reported).toMatchObject({ inputTokens: 10, outputTokens: 9, reasoningTokens: 5 })
  })

  it('has thoughts that are only in the total', () => {
    expect(usageOf({ promptTokenCount: 10, candidatesTokenCount: 12, totalTokenCount: 522 })).toMatchObject({
      outputTokens: 12,
      unnamedTokens: 500,
    })
  })

  it('has the serving tier, in the usage or in a header', () => {
    expect(usageOf({ ...USAGE, serviceTier: 'flex' })).toMatchObject({ serviceTier: 'flex' })
    expect(usageOf({ ...USAGE, trafficType: 'ON_DEMAND_PRIORITY' })).toMatchObject({
      serviceTier: 'ON_DEMAND_PRIORITY',
    })
    const body = { model: 'gpt-5-mini', input: 'hi' }
    for (const form of FORMS) {
      const isStreamed = form === 'streamed'
      const decoder = responses.read(buildRaw(JSON.stringify({ ...body, stream: isStreamed }))).decoder(geminiPlan())
      decoder.head?.takeHeaders?.({ 'x-gemini-service-tier': 'priority' })
      // A provider may answer in the other form.
      decoder.push(Buffer.from(AS[isStreamed ? 'whole' : 'streamed']()))
      decoder.end()
      expect(decoder.ending().reported.serviceTier).toBe('priority')
    }
  })
})

describe('a tool loop', () => {
  /** The second turn's request, built by a client from the answer. */
  function nextOf(wire: WireName, { turn, calls }: HeardOnWire): object {
    const id = calls[0]?.id ?? ''
    switch (wire) {
      case 'chat':
        return { messages: [{ role: 'user', content: 'hi' }, turn, { role: 'tool', tool_call_id: id, content: 'ok' }] }
      case 'messages': {
        const result = { type: 'tool_result', tool_use_id: id, content: 'ok' }
        return { messages: [{ role: 'user', content: 'hi' }, turn, { role: 'user', content: [result] }] }
      }
      case 'responses': {
        const items = Array.isArray(turn) ? turn : []
        const result = { type: 'function_call_output', call_id: id, output: 'ok' }
        return { store: false, input: [{ role: 'user', content: 'hi' }, ...items, result] }
      }
    }
  }

  it.each(WAYS)('carries the signatures of calls and texts back on the %s wire, %s', (wire, form) => {
    const parts = [
      { text: 'Well.', thoughtSignature: 'dGV4dA==' },
      { functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: 'Y2FsbA==' },
    ]
    const bytes =
      form === 'whole'
        ? JSON.stringify(answer(parts, 'STOP'))
        : stream(...parts.map((part) => answer([part])), answer([{ text: '' }], 'STOP'))
    const request = wire === 'responses' ? { store: false, include: ['reasoning.encrypted_content'] } : {}
    const heard = hearOnWire(wire, form === 'streamed', bytes, { plan: geminiPlan(), request })
    const next = { model: 'gpt-5-mini', ...WIRES[wire].ask, ...nextOf(wire, heard) }
    const { body } = WIRES[wire].wire.read(buildRaw(JSON.stringify(next))).encode(geminiPlan())
    const calls = dataOf(JSON.parse(body), 'contents', '1', 'parts')
    expect(calls).toEqual([
      { text: 'Well.', thoughtSignature: 'dGV4dA==' },
      { functionCall: { id: 'call_0', name: 'f', args: { a: 1 } }, thoughtSignature: 'Y2FsbA==' },
    ])
    expect(dataOf(JSON.parse(body), 'contents', '2', 'parts', '0')).toEqual({
      functionResponse: { id: 'call_0', name: 'f', response: { output: 'ok' } },
    })
  })
})
