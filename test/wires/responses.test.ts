import { describe, expect, it } from 'vitest'
import type { ModelPlan } from '#data-plane/call.ts'
import { responses } from '#data-plane/wires/responses/index.ts'
import { AppError } from '#shared/errors.ts'
import { buildModel, buildPlan, buildRaw, buildTarget } from '#test/support/bytes/build-market.ts'
import { offerOf, ROUTING_MEMBERS } from '#test/support/bytes/wire-bytes.ts'

const GOOD = { model: 'gpt-5-mini', input: 'hi' }
const SIGNED = buildPlan().seal.close('a', { kind: 'signature', text: 'abc' })
const TOOL = {
  type: 'function',
  name: 'weather',
  description: 'of a city',
  parameters: { type: 'object' },
  strict: true,
}

const read = (body: object) => responses.read(buildRaw(JSON.stringify(body)))

function refusalOf(body: unknown): { code: string; param: string | undefined } | undefined {
  try {
    responses.read(buildRaw(typeof body === 'string' ? body : JSON.stringify(body)))
    return undefined
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { code: error.code, param: error.param }
  }
}

function forwarded(body: object, plan: Partial<ModelPlan> = {}) {
  const { body: text, adaptedParams, path } = read(body).encode(buildPlan(plan))
  return { json: JSON.parse(text), adaptedParams, path }
}

const item = (given: object) => ({ ...GOOD, input: [given] })

describe('a responses request', () => {
  it.each([
    ['broken JSON', '{', 'invalid_json', undefined],
    ['no model', { input: 'x' }, 'invalid_request', 'model'],
    ['no input', { model: 'm' }, 'invalid_request', 'input'],
    ['an object as input', { ...GOOD, input: {} }, 'invalid_request', 'input'],
    ['an empty input', { ...GOOD, input: [] }, 'invalid_request', 'input'],
    ['a malformed item', item([]), 'invalid_request', 'input[0]'],
    ['an unknown role', item({ role: 'root', content: 'x' }), 'invalid_request', 'input[0].role'],
    ['only an item of a tool that never ran here', item({ type: 'web_search_call' }), 'invalid_request', 'input'],
    ['an unknown item', item({ type: 'made_up' }), 'invalid_request', 'input[0].type'],
    ['turns that only their maker can read', item({ type: 'compaction' }), 'invalid_request', 'input[0].type'],
    ['an item by its id', item({ type: 'item_reference', id: 'msg_1' }), 'invalid_request', 'input[0]'],
    ['the same without its type', item({ id: 'msg_1' }), 'invalid_request', 'input[0]'],
    [
      'a call without an id',
      item({ type: 'function_call', name: 'f', arguments: '' }),
      'invalid_request',
      'input[0].call_id',
    ],
    ['a previous response', { ...GOOD, previous_response_id: 'resp_1' }, 'invalid_request', 'previous_response_id'],
    ['a conversation', { ...GOOD, conversation: 'conv_1' }, 'invalid_request', 'conversation'],
    ['a stored prompt', { ...GOOD, prompt: { id: 'p' } }, 'invalid_request', 'prompt'],
    ['background mode', { ...GOOD, background: true }, 'invalid_request', 'background'],
    ['an unknown value', { ...GOOD, truncation: 'head' }, 'invalid_request', 'truncation'],
    ['log probabilities', { ...GOOD, top_logprobs: 2 }, 'invalid_request', 'top_logprobs'],
    ['the same by name', { ...GOOD, include: ['message.output_text.logprobs'] }, 'invalid_request', 'include'],
    ['several answers', { ...GOOD, n: 2 }, 'invalid_request', 'n'],
    ['the chat wire’s limit', { ...GOOD, max_tokens: 5 }, 'invalid_request', 'max_tokens'],
    [
      'the chat wire’s format',
      { ...GOOD, response_format: { type: 'json_object' } },
      'invalid_request',
      'response_format',
    ],
    ['a limit of 0', { ...GOOD, max_output_tokens: 0 }, 'invalid_request', 'max_output_tokens'],
    ['a limit as a string', { ...GOOD, max_output_tokens: '5' }, 'invalid_request', 'max_output_tokens'],
    ['a hot temperature', { ...GOOD, temperature: 3 }, 'invalid_request', 'temperature'],
    ['stream as a string', { ...GOOD, stream: 'true' }, 'invalid_request', 'stream'],
    ['tools that are not a list', { ...GOOD, tools: {} }, 'invalid_request', 'tools'],
    [
      'too many tools, in namespaces',
      {
        ...GOOD,
        tools: [1, 2].map((n) => ({
          type: 'namespace',
          name: `n${n}`,
          tools: Array.from({ length: 300 }, () => ({})),
        })),
      },
      'invalid_request',
      'tools',
    ],
    [
      'too many tools, in the input',
      {
        ...GOOD,
        input: [
          { role: 'user', content: 'hi' },
          { type: 'additional_tools', tools: Array.from({ length: 513 }, () => ({ type: 'x' })) },
        ],
      },
      'invalid_request',
      'tools',
    ],
    [
      'two tools with one name, one of them custom',
      { ...GOOD, tools: [{ type: 'custom', name: 'weather' }, TOOL] },
      'invalid_request',
      'tools',
    ],
    [
      'a missing custom choice',
      { ...GOOD, tools: [TOOL], tool_choice: { type: 'custom', name: 'weather' } },
      'invalid_request',
      'tool_choice',
    ],
    ['a function without a name', { ...GOOD, tools: [{ type: 'function' }] }, 'invalid_request', 'tools[0].name'],
    [
      'a missing choice',
      { ...GOOD, tools: [TOOL], tool_choice: { type: 'function', name: 'other' } },
      'invalid_request',
      'tool_choice',
    ],
    [
      'a missing schema',
      { ...GOOD, text: { format: { type: 'json_schema' } } },
      'invalid_request',
      'text.format.schema',
    ],
    ['an unknown effort', { ...GOOD, reasoning: { effort: 5 } }, 'invalid_request', 'reasoning.effort'],
    ['too much metadata', { ...GOOD, metadata: { a: 'x'.repeat(1_000_000) } }, 'invalid_request', 'metadata'],
    [
      'an image by its id',
      item({ role: 'user', content: [{ type: 'input_image', file_id: 'file_1' }] }),
      'unresolvable_file_reference',
      'input[0].content[0]',
    ],
    [
      'an image without a URL',
      item({ role: 'user', content: [{ type: 'input_image', image_url: {} }] }),
      'invalid_request',
      'input[0].content[0].image_url',
    ],
    [
      'a sound',
      item({ role: 'user', content: [{ type: 'input_audio' }] }),
      'invalid_request',
      'input[0].content[0].type',
    ],
    ['an unreadable block list', { ...GOOD, providers_blocked: {} }, 'invalid_request', 'providers_blocked'],
    ['a floor over 100', { ...GOOD, min_discount_pct: 101 }, 'invalid_minimum_discount', 'min_discount_pct'],
    ['a string of 3 MB', { ...GOOD, input: 'x'.repeat(3_000_000) }, 'request_too_large', 'input[0].content'],
  ])('%s is refused', (_name, body, code, param) => {
    expect(refusalOf(body)).toEqual({ code, param })
  })

  it('accepts absent, null and meaningless settings', () => {
    expect(
      refusalOf({ ...GOOD, previous_response_id: null, background: false, truncation: 'disabled', n: 1, store: true }),
    ).toBeUndefined()
  })

  it('accepts a request to shorten the input, and reports that the input was not shortened', () => {
    const adaptedBy = (body: object) => read(body).encode(buildPlan()).adaptedParams
    expect(adaptedBy({ ...GOOD, truncation: 'auto' })).toEqual(['truncation', 'max_output_tokens'])
    expect(adaptedBy({ ...GOOD, truncation: 'disabled' })).toEqual(['max_output_tokens'])
  })

  it('has hints, floors and bounds like every text wire', () => {
    const image = { type: 'input_image', image_url: `data:image/png;base64,${'A'.repeat(3_000_000)}` }
    const body = {
      ...GOOD,
      instructions: 'short',
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'look' }, image] }],
      max_output_tokens: 7,
      provider: { only: ['a'], ignore: ['b'] },
      min_discount_pct: 20,
    }
    const { demand } = read(body)
    expect(demand).toMatchObject({
      endpoint: 'chat',
      hints: { only: [['a']], blocked: ['b'] },
      floorPercents: [20, undefined, undefined],
      needs: { imageInput: true },
      bounds: { inputImages: 1, inputBytes: 9, maxOutputTokens: 7, choices: 1 },
    })
    expect(demand.bounds.inputTokens).toBeLessThan(600)
  })
})

const TALK = {
  model: 'gpt-5-mini',
  instructions: 'Be brief.',
  max_output_tokens: 50,
  parallel_tool_calls: true,
  safety_identifier: 'u-1',
  tools: [TOOL],
  tool_choice: 'required',
  input: [
    { role: 'developer', content: 'In French.' },
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'Where is it warm?' },
        { type: 'input_image', image_url: 'https://pictures.example/a.png', detail: 'low' },
      ],
    },
    { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'two' }], encrypted_content: SIGNED },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I ask.', annotations: [] }] },
    { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"city":"Rome"}' },
    { type: 'function_call', call_id: 'c2', name: 'weather', arguments: '' },
    { type: 'function_call_output', call_id: 'c1', output: '31' },
    { type: 'function_call_output', call_id: 'c2', output: [{ type: 'input_text', text: '12' }] },
    { role: 'assistant', content: 'Rome.' },
    { role: 'user', content: 'Thanks' },
  ],
}
const MODEL = buildModel({ parameters: ['temperature', 'tools', 'max_tokens', 'reasoning_effort', 'response_format'] })
const OPENAI = { target: buildTarget(MODEL) }
const MESSAGES = { target: buildTarget(MODEL), offer: offerOf({ apiFormat: 'messages' }) }

describe('a conversation', () => {
  it('reaches a seller of the OpenAI protocol as chat messages', () => {
    const { json, path } = forwarded(TALK, OPENAI)
    const call = (id: string, text: string) => ({
      id,
      type: 'function',
      function: { name: 'weather', arguments: text },
    })
    expect(path).toBe('/chat/completions')
    expect(json).toEqual({
      model: 'vendor-gpt-5-mini',
      messages: [
        { role: 'system', content: 'Be brief.\n\nIn French.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Where is it warm?' },
            { type: 'image_url', image_url: { url: 'https://pictures.example/a.png', detail: 'low' } },
          ],
        },
        { role: 'assistant', content: 'I ask.', tool_calls: [call('c1', '{"city":"Rome"}'), call('c2', '{}')] },
        { role: 'tool', tool_call_id: 'c1', content: '31' },
        { role: 'tool', tool_call_id: 'c2', content: '12' },
        { role: 'assistant', content: 'Rome.' },
        { role: 'user', content: 'Thanks' },
      ],
      tools: [
        {
          type: 'function',
          function: { name: 'weather', description: 'of a city', parameters: { type: 'object' }, strict: true },
        },
      ],
      tool_choice: 'required',
      parallel_tool_calls: true,
      user: 'u-1',
      max_tokens: 50,
    })
  })

  it('reaches a seller of the messages protocol as blocks, with the seal of the thought', () => {
    const { json, path } = forwarded(TALK, MESSAGES)
    expect(path).toBe('/messages')
    expect(json.system.map((block: { text: string }) => block.text)).toEqual(['Be brief.', 'In French.'])
    expect(json.messages[1]).toEqual({
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'two', signature: 'abc' },
        { type: 'text', text: 'I ask.' },
        { type: 'tool_use', id: 'c1', name: 'weather', input: { city: 'Rome' } },
        { type: 'tool_use', id: 'c2', name: 'weather', input: {} },
      ],
    })
    expect(json.messages[2].content.map((block: { type: string }) => block.type)).toEqual([
      'tool_result',
      'tool_result',
    ])
    expect(json.tool_choice).toEqual({ type: 'any' })
  })

  it('hides the routing members, and names members that it cannot express', () => {
    const kept = { store: true, metadata: { a: 'b' }, stream_options: { include_obfuscation: false } }
    const unsaid = { service_tier: 'auto', text: { verbosity: 'low' }, made_up: 1 }
    const body = { ...GOOD, max_output_tokens: 50, ...ROUTING_MEMBERS, ...kept, ...unsaid }
    const { json, adaptedParams } = forwarded(body, OPENAI)
    expect(json).toEqual({
      model: 'vendor-gpt-5-mini',
      messages: [{ role: 'user', content: 'hi' }],
      max_tokens: 50,
    })
    expect(adaptedParams).toEqual(['made_up', 'text.verbosity'])
    expect(forwarded({ ...body, service_tier: 'flex' }, OPENAI).json).toMatchObject({ service_tier: 'flex' })
    expect(forwarded(GOOD, OPENAI).adaptedParams).toEqual(['max_output_tokens'])
  })

  it('leaves out tools that never run here, and a choice of one', () => {
    const body = {
      ...GOOD,
      max_output_tokens: 50,
      tools: [{ type: 'web_search' }, TOOL],
      tool_choice: { type: 'web_search' },
    }
    const { json, adaptedParams } = forwarded(body, OPENAI)
    expect(json.tools).toHaveLength(1)
    expect(json.tool_choice).toBeUndefined()
    expect(adaptedParams).toEqual(['tools', 'tools.web_search', 'tool_choice'])
  })

  it('reads the tools of an item, and gives tools of a namespace one name across turns', () => {
    const long = `${'deep_'.repeat(20)}tool`
    const group = { type: 'namespace', name: 'mcp__files__', description: 'Files.', tools: [{ ...TOOL, name: 'list' }] }
    const far = { type: 'namespace', name: 'far', description: '', tools: [{ ...TOOL, name: long }] }
    const call = { type: 'function_call', call_id: 'c1', namespace: 'far', name: long, arguments: '{}' }
    const input = [
      { role: 'user', content: 'hi' },
      { type: 'additional_tools', role: 'developer', tools: [group, far] },
      call,
      { type: 'function_call_output', call_id: 'c1', output: 'ok' },
    ]
    const { json, adaptedParams } = forwarded(
      { ...GOOD, input, tool_choice: { type: 'function', name: 'list' } },
      OPENAI,
    )
    const [list, other] = json.tools.map((tool: { function: { name: string } }) => tool.function.name)
    expect([list, other.length]).toEqual(['mcp__files__list', 64])
    expect(json.messages[1].tool_calls[0].function.name).toBe(other)
    expect(json.tool_choice.function.name).toBe('mcp__files__list')
    expect(adaptedParams).toContain('tools.namespace')
  })

  it('accepts a choice in every form', () => {
    const choose = (choice: unknown) =>
      forwarded({ ...GOOD, tools: [TOOL, { ...TOOL, name: 'other' }], tool_choice: choice }, OPENAI).json
    expect(choose('none').tool_choice).toBe('none')
    expect(choose({ type: 'function', name: 'other' }).tool_choice).toEqual({
      type: 'function',
      function: { name: 'other' },
    })
    const some = choose({ type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'other' }] })
    expect([some.tool_choice, some.tools.length, some.tools[0].function.name]).toEqual(['required', 1, 'other'])
  })

  it('expresses a schema and an effort like the chat wire', () => {
    const format = { type: 'json_schema', name: 'city', schema: { type: 'object' }, strict: true }
    const { json } = forwarded({ ...GOOD, text: { format }, reasoning: { effort: 'low', summary: 'auto' } }, OPENAI)
    expect(json.response_format).toEqual({
      type: 'json_schema',
      json_schema: { name: 'city', schema: { type: 'object' }, strict: true },
    })
    expect(json.reasoning_effort).toBe('low')
  })
})
