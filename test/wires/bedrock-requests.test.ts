import type { ContentBlock, ConverseCommandInput, Message } from '@aws-sdk/client-bedrock-runtime'
import { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chat } from '#data-plane/wires/chat/index.ts'
import { messages } from '#data-plane/wires/messages/index.ts'
import { bedrockPlan, CLAUDE } from '#test/support/bytes/bedrock.ts'
import { buildRaw } from '#test/support/bytes/build-market.ts'
import { refusalOf } from '#test/support/bytes/refusal.ts'
import { dataOf } from '#test/support/bytes/wire-bytes.ts'

const ASK = { model: 'gpt-5-mini', max_tokens: 10_000, messages: [{ role: 'user', content: 'hi' }] }

function sent(request: object, plan = bedrockPlan()) {
  const encoded = chat.read(buildRaw(JSON.stringify({ ...ASK, ...request }))).encode(plan)
  const json: Record<string, unknown> = JSON.parse(encoded.body)
  return { ...encoded, json }
}

/** The request that AWS's SDK sends for an input. */
async function sentBySdk(input: ConverseCommandInput, isStreamed: boolean) {
  let seen: { path: string; body: unknown; headers: Record<string, string> } | undefined
  const client = new BedrockRuntimeClient({
    region: 'us-east-1',
    credentials: { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'x'.repeat(40) },
    maxAttempts: 1,
    requestHandler: {
      handle: async (request: { path: string; body: string | Uint8Array; headers: Record<string, string> }) => {
        const text = typeof request.body === 'string' ? request.body : Buffer.from(request.body).toString('utf8')
        seen = { path: request.path, body: JSON.parse(text), headers: request.headers }
        throw new Error('seen')
      },
    },
  })
  const command = isStreamed ? new ConverseStreamCommand(input) : new ConverseCommand(input)
  await client.send(command as ConverseCommand).catch(() => undefined)
  return seen
}

const PNG = 'iVBORw0KGgo='
const word = fc.stringMatching(/^[a-z]{1,8}( [a-zé]{1,8}){0,4}$/)
const tool = fc.constantFrom('get_weather', 'search', 'f-1')
const turn = fc.record({
  asked: word,
  hasPicture: fc.boolean(),
  answered: fc.option(word, { nil: undefined }),
  thought: fc.option(word, { nil: undefined }),
  calls: fc.array(fc.record({ name: tool, input: fc.dictionary(word, fc.integer()), isError: fc.boolean() }), {
    maxLength: 3,
  }),
})
const talk = fc.record({
  system: fc.option(word, { nil: undefined }),
  turns: fc.array(turn, { maxLength: 4 }),
  last: word,
  temperature: fc.option(fc.constantFrom(0, 0.5, 1), { nil: undefined }),
  stop: fc.array(word, { maxLength: 2 }),
  choice: fc.constantFrom(undefined, 'auto', 'any', 'get_weather'),
  isStreamed: fc.boolean(),
  isLong: fc.boolean(),
})
type Talk = typeof talk extends fc.Arbitrary<infer Value> ? Value : never

const TOOLS = ['get_weather', 'search', 'f-1'].map((name) => ({
  name,
  description: `does ${name}`,
  input_schema: { type: 'object' as const, properties: { a: { type: 'number' as const } } },
}))

/** A conversation of a buyer of the messages wire. */
function asBuyer({ system, turns, last, temperature, stop, choice, isStreamed, isLong }: Talk): object {
  const mark = { cache_control: { type: 'ephemeral', ...(isLong && { ttl: '1h' }) } }
  return {
    model: 'gpt-5-mini',
    max_tokens: 10_000,
    stream: isStreamed,
    ...(system !== undefined && { system: [{ type: 'text', text: system, ...mark }] }),
    ...(temperature !== undefined && { temperature }),
    ...(stop.length > 0 && { stop_sequences: stop }),
    tools: TOOLS,
    ...(choice !== undefined && {
      tool_choice: choice === 'auto' || choice === 'any' ? { type: choice } : { type: 'tool', name: choice },
    }),
    messages: [
      ...turns.flatMap((given, at) => {
        const { asked, hasPicture, answered = 'well', thought, calls } = given
        const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } }
        const results = calls.map(({ name, isError }, index) => ({
          type: 'tool_result',
          tool_use_id: `t${at}_${index}`,
          content: [{ type: 'text', text: `${name} ok` }],
          ...(isError && { is_error: true }),
        }))
        return [
          { role: 'user', content: [{ type: 'text', text: asked }, ...(hasPicture ? [picture] : [])] },
          {
            role: 'assistant',
            content: [
              ...(thought === undefined ? [] : [{ type: 'thinking', thinking: thought, signature: 'c2ln' }]),
              { type: 'text', text: answered },
              ...calls.map(({ name, input }, index) => ({ type: 'tool_use', id: `t${at}_${index}`, name, input })),
            ],
          },
          ...(results.length > 0 ? [{ role: 'user', content: results }] : []),
        ]
      }),
      { role: 'user', content: [{ type: 'text', text: last }] },
    ],
  }
}

/** The same conversation as an input of AWS's SDK. */
function asSdk({ system, turns, last, temperature, stop, choice, isLong }: Talk): ConverseCommandInput {
  const list: Message[] = []
  const add = (role: 'user' | 'assistant', content: ContentBlock[]) => {
    const before = list.at(-1)
    if (before?.role === role) before.content?.push(...content)
    else list.push({ role, content })
  }
  for (const [at, { asked, hasPicture, answered = 'well', thought, calls }] of turns.entries()) {
    const bytes = Buffer.from(PNG, 'base64')
    add('user', [{ text: asked }, ...(hasPicture ? [{ image: { format: 'png' as const, source: { bytes } } }] : [])])
    add('assistant', [
      ...(thought === undefined ? [] : [{ reasoningContent: { reasoningText: { text: thought, signature: 'c2ln' } } }]),
      { text: answered },
      ...calls.map(({ name, input }, index) => ({ toolUse: { toolUseId: `t${at}_${index}`, name, input } })),
    ])
    const results: ContentBlock[] = calls.map(({ name, isError }, index) => ({
      toolResult: {
        toolUseId: `t${at}_${index}`,
        content: [{ text: `${name} ok` }],
        ...(isError && { status: 'error' as const }),
      },
    }))
    if (results.length > 0) add('user', results)
  }
  add('user', [{ text: last }])
  return {
    modelId: CLAUDE,
    messages: list,
    ...(system !== undefined && {
      system: [{ text: system }, { cachePoint: { type: 'default', ...(isLong && { ttl: '1h' as const }) } }],
    }),
    inferenceConfig: {
      maxTokens: 10_000,
      ...(temperature !== undefined && { temperature }),
      ...(stop.length > 0 && { stopSequences: stop }),
    },
    toolConfig: {
      tools: TOOLS.map(({ name, description, input_schema: json }) => ({
        toolSpec: { name, description, inputSchema: { json } },
      })),
      ...(choice === 'any' && { toolChoice: { any: {} } }),
      ...(choice === 'get_weather' && { toolChoice: { tool: { name: choice } } }),
    },
    ...(stop.length > 0 && { additionalModelResponseFieldPaths: ['/stop_sequence'] }),
  }
}

describe('a request for Bedrock', () => {
  it('equals that of AWS’s SDK', async () => {
    const property = fc.asyncProperty(talk, async (given) => {
      const ours = messages.read(buildRaw(JSON.stringify(asBuyer(given)))).encode(bedrockPlan())
      const theirs = await sentBySdk(asSdk(given), given.isStreamed)
      expect({ path: ours.path, body: JSON.parse(ours.body) as unknown }).toEqual({
        path: theirs?.path,
        body: theirs?.body,
      })
      expect(ours.adaptedParams).toEqual([])
    })
    await fc.assert(property, { numRuns: 200 })
  })

  it('has the model and the form of its answer in the path', () => {
    expect(sent({}).path).toBe('/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse')
    const arn = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc'
    expect(sent({ stream: true }, bedrockPlan(arn))).toMatchObject({
      path: `/model/${encodeURIComponent(arn)}/converse-stream`,
      accept: 'application/vnd.amazon.eventstream',
    })
    expect(sent({}, bedrockPlan('../../a?b')).path).toBe('/model/..%2F..%2Fa%3Fb/converse')
  })

  it('begins with the user, alternates, and has no blank text', () => {
    const { json } = sent({
      messages: [
        { role: 'assistant', content: 'Hello.' },
        { role: 'user', content: ' \n' },
        { role: 'assistant', content: '' },
        { role: 'assistant', content: 'Still there? ' },
      ],
    })
    expect(json['messages']).toEqual([
      { role: 'user', content: [{ text: 'Continue.' }] },
      { role: 'assistant', content: [{ text: 'Hello.' }, { text: 'Still there?' }] },
    ])
  })

  it('has ids in the protocol’s alphabet and length, the same for a call and its result, and no id twice', () => {
    const ids = ['a.b', 'a:b', 'x'.repeat(65), `${'x'.repeat(65)}y`, 'fine_1']
    const calls = ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } }))
    const { json } = sent({
      tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: null, tool_calls: calls },
        ...ids.map((id) => ({ role: 'tool', tool_call_id: id, content: '' })),
      ],
    })
    const list = (at: string, member: string) =>
      ids.map((_, index) => dataOf(json, 'messages', at, 'content', String(index), member, 'toolUseId'))
    expect(list('1', 'toolUse')).toEqual(list('2', 'toolResult'))
    expect(new Set(list('1', 'toolUse')).size).toBe(ids.length)
    for (const id of list('1', 'toolUse')) expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    expect(list('1', 'toolUse').at(-1)).toBe('fine_1')
    expect(dataOf(json, 'messages', '2', 'content', '0', 'toolResult', 'content')).toEqual([{ text: '(no output)' }])
  })

  it('names documents as the protocol requires, with a text beside them', () => {
    const file = (filename: string | undefined, type = 'application/pdf') => ({
      type: 'file',
      file: { ...(filename !== undefined && { filename }), file_data: `data:${type};base64,QUFB` },
    })
    const { json } = sent({
      messages: [
        { role: 'user', content: [file('Ä bill/2026.pdf'), file('Ä bill/2026.pdf'), file(undefined, 'text/csv')] },
      ],
    })
    expect(dataOf(json, 'messages', '0', 'content')).toEqual([
      { document: { name: '- bill-2026-pdf', format: 'pdf', source: { bytes: 'QUFB' } } },
      { document: { name: '- bill-2026-pdf (2)', format: 'pdf', source: { bytes: 'QUFB' } } },
      { document: { name: 'document', format: 'csv', source: { bytes: 'QUFB' } } },
      { text: 'Continue.' },
    ])
  })

  it('is refused with a picture by URL, and with one of an unknown kind', async () => {
    const image = (url: string) => ({
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
    })
    for (const url of ['https://a.example/b.png', 'data:image/tiff;base64,QUFB']) {
      const refused = await refusalOf(Promise.resolve().then(() => sent(image(url))))
      expect([refused.code, refused.param]).toEqual(['invalid_request', 'messages'])
      expect(refused.message).not.toContain('a.example')
    }
  })

  it('has the tools of its history, whatever tools the buyer offers now', () => {
    const history = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'c', content: 'ok' },
    ]
    expect(sent({ messages: history }).json['toolConfig']).toEqual({
      tools: [{ toolSpec: { name: 'f', inputSchema: { json: { type: 'object' } } } }],
    })
    const tools = ['f', 'g'].map((name) => ({ type: 'function', function: { name, parameters: { type: 'object' } } }))
    const none = sent({ messages: history, tools, tool_choice: 'none' })
    expect(dataOf(none.json, 'toolConfig', 'tools')).toHaveLength(1)
    expect([dataOf(none.json, 'toolConfig', 'toolChoice'), none.adaptedParams]).toEqual([undefined, ['tool_choice']])
    const unused = sent({ tools, tool_choice: 'none' })
    expect([unused.json['toolConfig'], unused.adaptedParams]).toEqual([undefined, []])
  })

  it('lets Claude think within the limit, and reports missing features', () => {
    const thinking = bedrockPlan(CLAUDE, { features: ['reasoning'] })
    const { json, adaptedParams } = sent(
      { reasoning_effort: 'medium', temperature: 0.5, top_k: 5, seed: 1, user: 'u', parallel_tool_calls: false },
      thinking,
    )
    expect(json['additionalModelRequestFields']).toEqual({ thinking: { type: 'enabled', budget_tokens: 5_000 } })
    expect(json['inferenceConfig']).toEqual({ maxTokens: 10_000 })
    expect(new Set(adaptedParams)).toEqual(new Set(['parallel_tool_calls', 'seed', 'temperature', 'top_k', 'user']))
    expect(sent({ top_k: 5, top_p: 0.5, temperature: 1.5 }).json).toMatchObject({
      inferenceConfig: { temperature: 1 },
      additionalModelRequestFields: { top_k: 5 },
    })
  })

  it('asks the makers of other models in their own terms', () => {
    const open = sent({ reasoning_effort: 'high', top_k: 5 }, bedrockPlan('openai.gpt-oss-120b-1:0'))
    expect([open.json['additionalModelRequestFields'], open.adaptedParams]).toEqual([
      { reasoning_effort: 'high' },
      ['top_k'],
    ])
    const other = sent({ reasoning_effort: 'high', temperature: 0.5, top_p: 0.5 }, bedrockPlan('us.deepseek.r1-v1:0'))
    expect([other.json['inferenceConfig'], other.adaptedParams]).toEqual([
      { maxTokens: 10_000, temperature: 0.5, topP: 0.5 },
      ['reasoning'],
    ])
  })

  it('marks caches for models that know them, and keeps each digit of an input', () => {
    const marked = {
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral', ttl: '1h' } }] },
        {
          role: 'assistant',
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{"id":1234567890123456789}' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: 'ok' },
      ],
    }
    expect(dataOf(sent(marked).json, 'messages', '0', 'content')).toEqual([
      { text: 'hi' },
      { cachePoint: { type: 'default', ttl: '1h' } },
    ])
    expect(sent(marked).body).toContain('"input":{"id":1234567890123456789}')
    const other = sent(marked, bedrockPlan('us.meta.llama4-scout-17b-instruct-v1:0'))
    expect([dataOf(other.json, 'messages', '0', 'content'), other.adaptedParams]).toEqual([
      [{ text: 'hi' }],
      ['cache_control'],
    ])
  })

  it('asks for a tier that the protocol knows', () => {
    expect(sent({ service_tier: 'flex' }).json['serviceTier']).toEqual({ type: 'flex' })
    expect(sent({ service_tier: 'default' }).json['serviceTier']).toBeUndefined()
  })

  it('asks for a schema where the model accepts one', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } }
    const format = { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } } }
    const plan = bedrockPlan(CLAUDE, { parameters: ['structured_outputs'] })
    expect(sent(format, plan).json['outputConfig']).toEqual({
      textFormat: {
        type: 'json_schema',
        structure: { jsonSchema: { name: 'answer', schema: JSON.stringify(schema) } },
      },
    })
    expect(dataOf(sent(format).json, 'toolConfig', 'toolChoice')).toEqual({ tool: { name: 'give_answer' } })
  })
})
