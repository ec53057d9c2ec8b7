import { describe, expect, it } from 'vitest'
import type { ModelPlan } from '#data-plane/call.ts'
import { messages } from '#data-plane/wires/messages/index.ts'
import { AppError } from '#shared/errors.ts'
import { buildModel, buildPlan, buildRaw, buildTarget } from '#test/support/bytes/build-market.ts'
import { offerOf } from '#test/support/bytes/wire-bytes.ts'

const GOOD = { model: 'gpt-5-mini', max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] }

const read = (body: object) => messages.read(buildRaw(JSON.stringify(body)))

function refusalOf(body: string | Buffer): { code: string; param: string | undefined } | undefined {
  try {
    messages.read(buildRaw(body))
    return undefined
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { code: error.code, param: error.param }
  }
}

const codeOf = (body: object | string) => refusalOf(typeof body === 'string' ? body : JSON.stringify(body))?.code

function forwarded(body: object, plan: Partial<ModelPlan>) {
  const { body: text, adaptedParams, path } = read(body).encode(buildPlan(plan))
  return { text, json: JSON.parse(text), adaptedParams, path }
}

const TOOL = { name: 'f', description: 'does', input_schema: { type: 'object', properties: { a: { type: 'number' } } } }

describe('a message request', () => {
  it.each([
    ['malformed JSON', '{', 'invalid_json'],
    ['no max_tokens', { ...GOOD, max_tokens: undefined }, 'invalid_request'],
    ['max_tokens of the wrong type', { ...GOOD, max_tokens: '5' }, 'invalid_request'],
    ['no messages', { ...GOOD, messages: [] }, 'invalid_request'],
    ['an unknown role', { ...GOOD, messages: [{ role: 'root', content: 'x' }] }, 'invalid_request'],
    [
      'an image among instructions',
      { ...GOOD, messages: [{ role: 'system', content: [{ type: 'image' }] }] },
      'invalid_request',
    ],
    ['an image as system', { ...GOOD, system: [{ type: 'image' }] }, 'invalid_request'],
    ['a number as system', { ...GOOD, system: 5 }, 'invalid_request'],
    ['an empty system', { ...GOOD, system: '' }, 'invalid_request'],
    ['thinking without a budget', { ...GOOD, thinking: { type: 'enabled' } }, 'invalid_request'],
    [
      'a budget past the limit',
      { ...GOOD, max_tokens: 2_000, thinking: { type: 'enabled', budget_tokens: 2_000 } },
      'invalid_request',
    ],
    ['stop sequences of a megabyte', { ...GOOD, stop_sequences: ['x'.repeat(1_000_000)] }, 'invalid_request'],
    ['a user id that is an object', { ...GOOD, metadata: { user_id: {} } }, 'invalid_request'],
    ['an unreadable block list', { ...GOOD, providers_blocked: {} }, 'invalid_request'],
    ['broken tools', { ...GOOD, tools: [{ name: 'f' }] }, 'invalid_request'],
    ['a hot temperature', { ...GOOD, temperature: 1.5 }, 'invalid_request'],
    ['stream that is not a boolean', { ...GOOD, stream: 'true' }, 'invalid_request'],
    [
      'a block of an unknown type',
      { ...GOOD, messages: [{ role: 'user', content: [{ type: 'hologram' }] }] },
      'invalid_request',
    ],
    [
      'an image by file id',
      { ...GOOD, messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] }] },
      'unresolvable_file_reference',
    ],
    [
      'a string of three megabytes',
      { ...GOOD, messages: [{ role: 'user', content: 'x'.repeat(3_000_000) }] },
      'request_too_large',
    ],
  ])('%s is refused', (_name, body, code) => {
    expect(codeOf(body)).toBe(code)
  })

  it('names the member at fault', () => {
    const body = { ...GOOD, messages: [GOOD.messages[0], { role: 'user', content: [{ type: 'text' }] }] }
    expect(refusalOf(JSON.stringify(body))?.param).toBe('messages.1.content.0.text')
  })

  it('accepts thinking of any kind for any model', () => {
    for (const thinking of [{ type: 'adaptive' }, { type: 'disabled' }, { type: 'enabled', budget_tokens: 1_024 }]) {
      expect(codeOf({ ...GOOD, max_tokens: 4_096, thinking })).toBeUndefined()
    }
  })

  it('bounds tokens by bytes, without inlined images', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(1_000_000) } }
    const { demand } = read({ ...GOOD, messages: [{ role: 'user', content: [{ type: 'text', text: 'ü' }, image] }] })
    expect(demand.needs.imageInput).toBe(true)
    expect(demand.bounds).toMatchObject({ inputImages: 1, maxOutputTokens: 50, choices: 1, inputBytes: 1 })
    expect(demand.bounds.inputTokens).toBeLessThan(500)
  })
})

describe('a message request to a seller of the same protocol', () => {
  const plan = { offer: offerOf({ apiFormat: 'messages' }), target: buildTarget(buildModel({ parameters: [] })) }

  it('is forwarded byte for byte, without members of routing and of beta headers', () => {
    const said = '[ {"role":"user","content":"caf\\u00e9 1"} ]'
    const raw = buildRaw(
      `{"model":"x","max_tokens":50,"messages":${said},"temperature":1.0,"provider":"a","min_discount_pct":1,` +
        '"context_management":{},"stream":true}',
    )
    const { body, adaptedParams, path } = messages.read(raw).encode(buildPlan(plan))
    expect(path).toBe('/messages')
    expect(body).toBe(
      `{"model":"vendor-gpt-5-mini","max_tokens":50,"messages":${said},"temperature":1.0,"stream":true}`,
    )
    expect(adaptedParams).toEqual(['context_management'])
  })

  it('keeps tools that are functions, and a budget under the limit', () => {
    const { json, adaptedParams } = forwarded(
      {
        ...GOOD,
        max_tokens: 8_000,
        tools: [TOOL, { type: 'computer_20250124', name: 'computer' }],
        tool_choice: 'any',
        thinking: { type: 'enabled', budget_tokens: 5_000 },
      },
      { ...plan, maxOutputTokens: 4_000 },
    )
    expect(json).toMatchObject({
      max_tokens: 4_000,
      tools: [TOOL],
      tool_choice: { type: 'any' },
      thinking: { type: 'enabled', budget_tokens: 3_999 },
    })
    expect(adaptedParams).toEqual(['tools', 'tools.computer_20250124', 'tool_choice', 'thinking', 'max_tokens'])
  })
})

describe('a message request to a seller of the OpenAI protocol', () => {
  it('becomes a chat: instructions, calls with their results, images, parameters', () => {
    const body = {
      ...GOOD,
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      messages: [
        { role: 'user', content: 'weather?' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 's' },
            { type: 'text', text: 'Let me look.' },
            { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'toolu_1',
              is_error: true,
              content: [
                { type: 'text', text: 'no' },
                { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } },
              ],
            },
            { type: 'text', text: 'go on' },
          ],
        },
      ],
      temperature: 0.5,
      top_k: 3,
      stop_sequences: ['END'],
      tools: [TOOL],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      metadata: { user_id: 'u1' },
      stream: true,
    }
    const target = buildTarget(buildModel({ parameters: [] }))
    const { json, path, adaptedParams } = forwarded(body, { target })
    expect(path).toBe('/chat/completions')
    expect(adaptedParams).toEqual(['cache_control'])
    expect(json).toEqual({
      model: 'vendor-gpt-5-mini',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'weather?' },
        {
          role: 'assistant',
          content: 'Let me look.',
          tool_calls: [{ id: 'toolu_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
        },
        { role: 'tool', tool_call_id: 'toolu_1', content: 'Error: no' },
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
            { type: 'text', text: 'go on' },
          ],
        },
      ],
      temperature: 0.5,
      top_k: 3,
      stop: ['END'],
      tools: [{ type: 'function', function: { name: 'f', description: 'does', parameters: TOOL.input_schema } }],
      tool_choice: 'required',
      parallel_tool_calls: false,
      user: 'u1',
      max_tokens: 50,
      stream: true,
      stream_options: { include_usage: true },
    })
  })

  it.each([
    [{ type: 'auto' }, 'auto'],
    [{ type: 'none' }, 'none'],
    [{ type: 'any' }, 'required'],
    [
      { type: 'tool', name: 'f' },
      { type: 'function', function: { name: 'f' } },
    ],
  ])('expresses tool_choice %o as %o', (choice, said) => {
    const { json } = forwarded({ ...GOOD, tools: [TOOL], tool_choice: choice }, { target: buildTarget() })
    expect(json.tool_choice).toEqual(said)
  })

  it('names unsupported members in the terms of this wire', () => {
    const target = buildTarget(buildModel({ parameters: ['temperature', 'max_tokens'] }))
    const body = { ...GOOD, max_tokens: 4_096, stop_sequences: ['x'], tools: [TOOL], tool_choice: { type: 'auto' } }
    const thinking = { type: 'enabled', budget_tokens: 2_048 }
    expect(forwarded({ ...body, thinking }, { target, maxOutputTokens: 4_096 }).adaptedParams).toEqual([
      'stop_sequences',
      'tools',
      'tool_choice',
      'thinking',
    ])
  })
})
