import { BedrockRuntimeClient, ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { classifyBadAnswer } from '#data-plane/upstream/classify.ts'
import { bedrock } from '#shared/protocols/bedrock/index.ts'
import { converseReader } from '#shared/protocols/bedrock/reader.ts'
import { amazonEvent, bedrockPlan } from '#test/support/bytes/bedrock.ts'
import { buildRaw } from '#test/support/bytes/build-market.ts'
import type { WireName } from '#test/support/bytes/heard-on-wire.ts'
import { hearOnWire, WIRE_NAMES, WIRES } from '#test/support/bytes/heard-on-wire.ts'
import { dataOf } from '#test/support/bytes/wire-bytes.ts'

const USAGE = {
  inputTokens: 100,
  outputTokens: 50,
  totalTokens: 150,
  cacheReadInputTokens: 1_000,
  cacheWriteInputTokens: 700,
  cacheDetails: [
    { ttl: '5m', inputTokens: 300 },
    { ttl: '1h', inputTokens: 400 },
  ],
}
const BIG = '{"id":1234567890123456789}'
const CONTENT = `[
  {"reasoningContent":{"reasoningText":{"text":"Let me see.","signature":"c2ln"}}},
  {"text":"It is "},{"text":"sunny."},
  {"toolUse":{"toolUseId":"tooluse_1","name":"f","input":${BIG}}},
  {"toolUse":{"toolUseId":"tooluse_2","name":"g","input":{}}}
]`
const WHOLE = `{"output":{"message":{"role":"assistant","content":${CONTENT}}},"stopReason":"tool_use","usage":${JSON.stringify(USAGE)},"metrics":{"latencyMs":1},"serviceTier":{"type":"priority"}}`

const delta = (contentBlockIndex: number, given: object) =>
  amazonEvent('contentBlockDelta', { contentBlockIndex, delta: given, p: 'abcdefgh' })
const stop = (contentBlockIndex: number) => amazonEvent('contentBlockStop', { contentBlockIndex })
const call = (contentBlockIndex: number, toolUseId: string, name: string) =>
  amazonEvent('contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId, name } } })
const BEFORE_END = [
  amazonEvent('messageStart', { role: 'assistant' }),
  delta(0, { reasoningContent: { text: 'Let me ' } }),
  delta(0, { reasoningContent: { text: 'see.' } }),
  delta(0, { reasoningContent: { signature: 'c2ln' } }),
  stop(0),
  delta(1, { text: 'It is ' }),
  delta(1, { text: 'sunny.' }),
  stop(1),
  call(2, 'tooluse_1', 'f'),
  delta(2, { toolUse: { input: BIG.slice(0, 9) } }),
  delta(2, { toolUse: { input: BIG.slice(9) } }),
  stop(2),
  call(3, 'tooluse_2', 'g'),
  delta(3, { toolUse: { input: '' } }),
  stop(3),
  amazonEvent('somethingNew', { a: 1 }),
]
const MESSAGE_STOP = amazonEvent('messageStop', { stopReason: 'tool_use' })
const METADATA = amazonEvent('metadata', { usage: USAGE, metrics: { latencyMs: 1 }, serviceTier: { type: 'priority' } })
const STREAM = Buffer.concat([...BEFORE_END, MESSAGE_STOP, METADATA])
const FORMS = ['whole', 'streamed'] as const
const AS = { whole: Buffer.from(WHOLE), streamed: STREAM } as const
/** The request for thoughts, and for the parts that a later request must repeat. */
const WISHES: Readonly<Record<WireName, object>> = {
  chat: {},
  messages: { max_tokens: 3_000, thinking: { type: 'enabled', budget_tokens: 1_024 } },
  responses: { store: false, include: ['reasoning.encrypted_content'] },
}
const WAYS = WIRE_NAMES.flatMap((wire) => FORMS.map((form) => [wire, form] as const))

function read(isStreamed: boolean, bytes: Buffer, cuts: readonly number[] = []) {
  const reader = converseReader(isStreamed)
  const events = [0, ...cuts].flatMap((from, at) => reader.push(bytes.subarray(from, cuts[at] ?? bytes.length)))
  return {
    isDone: reader.isDone(),
    events: [...events, ...reader.end()],
    failure: reader.failure(),
    reported: reader.reported(),
  }
}

describe('an answer of Bedrock', () => {
  it.each(WAYS)('reaches the %s wire, %s', (wire, form) => {
    const heard = hearOnWire(wire, form === 'streamed', AS[form], { plan: bedrockPlan(), request: WISHES[wire] })
    expect(heard).toMatchObject({ text: 'It is sunny.', thought: 'Let me see.' })
    expect(heard.calls.map(({ id, name }) => [id, name])).toEqual([
      ['tooluse_1', 'f'],
      ['tooluse_2', 'g'],
    ])
    // The test's own reader of messages parses the inputs.
    if (wire !== 'messages') expect(heard.calls[0]?.input).toBe(BIG)
    const reasons: Readonly<Record<WireName, string>> = {
      chat: 'tool_calls',
      messages: 'tool_use',
      responses: 'completed',
    }
    expect(heard.reason).toBe(reasons[wire])
  })

  it.each(FORMS)('is billed by its figures, %s: the input without cached tokens, which are added once', (form) => {
    const { reported, isDone } = read(form === 'streamed', AS[form])
    expect(reported).toEqual({
      inputTokens: 1_800,
      outputTokens: 50,
      cachedTokens: 1_000,
      cacheWriteTokens: 700,
      cacheWriteShortTokens: 300,
      cacheWriteLongTokens: 400,
      serviceTier: 'priority',
      insaneFields: 0,
    })
    expect(isDone).toBe(form === 'streamed')
  })

  it('ends with its figures, which follow its stop reason', () => {
    const reader = converseReader(true)
    reader.push(Buffer.concat([...BEFORE_END, MESSAGE_STOP]))
    expect([reader.isDone(), reader.reported().outputTokens]).toEqual([false, undefined])
    reader.push(METADATA)
    expect([reader.isDone(), reader.reported().outputTokens]).toEqual([true, 50])
    const without = read(true, Buffer.concat([...BEFORE_END, MESSAGE_STOP]))
    expect([without.failure, without.events.at(-1)?.kind]).toEqual([undefined, 'finish'])
    expect(read(true, Buffer.concat(BEFORE_END)).failure?.kind).toBe('cut')
    expect(read(true, STREAM.subarray(0, STREAM.length - 5)).failure?.kind).toBe('cut')
  })

  it('is the same wherever its bytes are cut', () => {
    const property = fc.property(fc.array(fc.nat({ max: STREAM.length }), { maxLength: 12 }), (places) => {
      const cuts = [...places].sort((one, other) => one - other)
      const cut = read(true, STREAM, cuts)
      const whole = read(true, STREAM)
      expect(textsOf(cut.events)).toEqual(textsOf(whole.events))
      expect([cut.failure, cut.reported]).toEqual([undefined, whole.reported])
    })
    fc.assert(property, { numRuns: 200 })
  })

  it('is accepted only with the right checksums, whichever byte changes', () => {
    const property = fc.property(fc.nat({ max: STREAM.length - 1 }), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const bytes = Buffer.from(STREAM)
      bytes[at] = (bytes[at] ?? 0) ^ change
      const { failure, reported } = read(true, bytes)
      expect(failure).toBeDefined()
      expect(reported.outputTokens).toBeUndefined()
    })
    fc.assert(property, { numRuns: 500 })
  })

  it('is refused when its lengths do not add up, without waiting for more bytes', () => {
    const prelude = (total: number, headers: number) => {
      const message = amazonEvent('messageStart', { role: 'assistant' })
      const bytes = Buffer.alloc(12)
      bytes.writeUInt32BE(total, 0)
      bytes.writeUInt32BE(headers, 4)
      return Buffer.concat([withChecksum(bytes), message])
    }
    for (const [total, headers] of [
      [0xffffffff, 0],
      [1_048_577, 0],
      [16, 1],
      [15, 0],
      [0, 0],
      [1_000, 999],
      [1_000_000, 131_073],
    ] as const) {
      const reader = converseReader(true)
      reader.push(prelude(total, headers))
      expect(reader.failure()?.kind, `${total} ${headers}`).toBe('malformed')
    }
  })

  it('keeps sealed thoughts, and the stop sequence that ended it', () => {
    const redacted = { reasoningContent: { redactedContent: 'c2VhbGVk' } }
    const end = { stopReason: 'stop_sequence', additionalModelResponseFields: { stop_sequence: 'END' } }
    const message = { role: 'assistant', content: [redacted, { text: 'a' }] }
    const whole = read(false, Buffer.from(JSON.stringify({ output: { message }, ...end, usage: USAGE })))
    const streamed = read(
      true,
      Buffer.concat([delta(0, redacted), delta(1, { text: 'a' }), amazonEvent('messageStop', end), METADATA]),
    )
    const expected = [
      { kind: 'redactedReasoning', text: 'c2VhbGVk' },
      { kind: 'text', text: 'a' },
      { kind: 'finish', reason: 'stop', stopSequence: 'END' },
    ]
    expect([whole.events, streamed.events]).toEqual([expected, expected])
  })

  it.each([
    ['end_turn', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['content_filtered', 'contentFilter'],
    ['guardrail_intervened', 'contentFilter'],
    ['something_new', 'stop'],
  ])('that stopped by %s ended by %s', (stopReason, reason) => {
    const { events } = read(true, Buffer.concat([amazonEvent('messageStop', { stopReason }), METADATA]))
    expect(events).toEqual([{ kind: 'finish', reason, stopSequence: null }])
  })

  it.each(['malformed_model_output', 'malformed_tool_use'])('that stopped by %s is malformed', (stopReason) => {
    expect(read(true, amazonEvent('messageStop', { stopReason })).failure?.kind).toBe('malformed')
  })
})

function textsOf(events: readonly { readonly kind: string; readonly text?: string }[]): string {
  return events.map(({ kind, text = '' }) => `${kind} ${text}`).join('\n')
}

/** The first eight bytes of a message, followed by their checksum. */
function withChecksum(bytes: Buffer): Buffer {
  let crc = 0xffffffff
  for (const byte of bytes.subarray(0, 8)) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  bytes.writeUInt32BE((crc ^ 0xffffffff) >>> 0, 8)
  return bytes
}

describe('an exception in a stream of Bedrock', () => {
  it.each([
    ['throttlingException', 'rate_limited'],
    ['modelStreamErrorException', 'server_error'],
    ['internalServerException', 'server_error'],
    ['serviceUnavailableException', 'overloaded'],
    ['validationException', 'bad_request'],
    ['expiredTokenException', 'credential_rejected'],
    ['someNewException', 'server_error'],
  ])('%s is a failure: %s', (type, errorClass) => {
    const bytes = Buffer.concat([...BEFORE_END.slice(0, 6), amazonEvent(type, { message: 'Some words.' }, 'exception')])
    const { failure } = read(true, bytes)
    expect(failure?.kind).toBe('error')
    const speaker = { holdsKey: () => false, requestText: () => '' }
    expect(failure && classifyBadAnswer(failure, speaker).errorClass).toBe(errorClass)
  })
})

describe('a refusal of Bedrock', () => {
  it('is read by the header and the body', () => {
    const read = (type: string | undefined, body: object) =>
      bedrock.readError(JSON.stringify(body), type === undefined ? {} : { 'x-amzn-errortype': type }).codes
    expect(read('ThrottlingException:http://internal.amazon.com/coral/', { message: 'Too many requests' })).toEqual([
      'throttlingexception',
    ])
    expect(read(undefined, { __type: 'com.amazon.coral.service#UnrecognizedClientException' })).toEqual([
      'unrecognizedclientexception',
    ])
    const denied = 'AccessDeniedException'
    expect(read(denied, { Message: "You don't have access to the model with the specified model ID." })).toEqual([
      'accessdeniedexception',
    ])
    // A bad key is refused under the same name.
    expect(read(denied, { Message: 'Authentication failed: Please make sure your API Key is valid.' })).toEqual([
      'unrecognizedclientexception',
    ])
  })
})

/** The request of AWS's SDK for a stream, with an answer of the test. */
async function heardBySdk(bytes: Buffer) {
  const client = new BedrockRuntimeClient({
    region: 'us-east-1',
    credentials: { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'x'.repeat(40) },
    requestHandler: {
      handle: async () => ({
        response: {
          statusCode: 200,
          headers: { 'content-type': 'application/vnd.amazon.eventstream' },
          body: new ReadableStream({
            start(controller) {
              controller.enqueue(new Uint8Array(bytes))
              controller.close()
            },
          }),
        },
      }),
    },
  })
  const { stream } = await client.send(new ConverseStreamCommand({ modelId: 'm', messages: [] }))
  const events: object[] = []
  for await (const event of stream ?? []) events.push(event)
  return events
}

describe('the recorded stream', () => {
  it('is readable for AWS’s SDK', async () => {
    const events = await heardBySdk(STREAM)
    expect(dataOf(events.at(-1), 'metadata', 'usage', 'cacheDetails')).toEqual(USAGE.cacheDetails)
    expect(events.some((event) => 'messageStop' in event)).toBe(true)
  })
})

describe('the turn that a buyer sends back', () => {
  it.each(WAYS)('has its thoughts, calls and results at Bedrock again, from the %s wire, %s', (name, form) => {
    const plan = bedrockPlan()
    const tool = { name: 'f', description: 'd' }
    const parameters = { type: 'object', properties: {} }
    const { turn, calls } = hearOnWire(name, form === 'streamed', AS[form], { plan, request: WISHES[name] })
    const result = (at: number) => calls[at]?.id ?? ''
    const ask = {
      chat: {
        tools: [{ type: 'function', function: { ...tool, parameters } }],
        messages: [
          { role: 'user', content: 'hi' },
          turn,
          ...[0, 1].map((at) => ({ role: 'tool', tool_call_id: result(at), content: 'ok' })),
        ],
      },
      messages: {
        max_tokens: 50,
        tools: [{ ...tool, input_schema: parameters }],
        messages: [
          { role: 'user', content: 'hi' },
          turn,
          {
            role: 'user',
            content: [0, 1].map((at) => ({ type: 'tool_result', tool_use_id: result(at), content: 'ok' })),
          },
        ],
      },
      responses: {
        tools: [{ type: 'function', ...tool, parameters, strict: false }],
        input: [
          { role: 'user', content: 'hi' },
          ...(Array.isArray(turn) ? turn : []),
          ...[0, 1].map((at) => ({ type: 'function_call_output', call_id: result(at), output: 'ok' })),
        ],
      },
    }[name]
    const encoded = WIRES[name].wire.read(buildRaw(JSON.stringify({ model: 'gpt-5-mini', ...ask }))).encode(plan)
    const json: unknown = JSON.parse(encoded.body)
    expect(dataOf(json, 'messages')).toMatchObject([
      { role: 'user', content: [{ text: 'hi' }] },
      {
        role: 'assistant',
        content: [
          { reasoningContent: { reasoningText: { text: 'Let me see.', signature: 'c2ln' } } },
          ...(dataOf(json, 'messages', '1', 'content', '2', 'text') === undefined
            ? [{ text: 'It is sunny.' }]
            : [{ text: 'It is ' }, { text: 'sunny.' }]),
          { toolUse: { toolUseId: 'tooluse_1', name: 'f' } },
          { toolUse: { toolUseId: 'tooluse_2', name: 'g', input: {} } },
        ],
      },
      {
        role: 'user',
        content: [
          { toolResult: { toolUseId: 'tooluse_1', content: [{ text: 'ok' }] } },
          { toolResult: { toolUseId: 'tooluse_2', content: [{ text: 'ok' }] } },
        ],
      },
    ])
    // The digits of the input return unchanged.
    if (name !== 'messages') expect(encoded.body).toContain(`"input":${BIG}`)
    expect(dataOf(json, 'toolConfig', 'tools')).toMatchObject([
      { toolSpec: { name: 'f' } },
      // The protocol wants each called tool to be named.
      { toolSpec: { name: 'g', inputSchema: { json: { type: 'object' } } } },
    ])
  })
})
