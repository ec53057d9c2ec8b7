import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ModelPlan, Receipt } from '#data-plane/call.ts'
import { chat } from '#data-plane/wires/chat/index.ts'
import { microUsd } from '#shared/money.ts'
import { buildModel, buildPlan, buildRaw, buildTarget } from '#test/support/bytes/build-market.ts'
import { dataOf, decodePieces, messagesEvent, offerOf } from '#test/support/bytes/wire-bytes.ts'

const ASK = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'hi' }] }
const RECEIPT: Receipt = {
  chargeMicro: microUsd(38),
  listMicro: microUsd(75),
  listInputMicro: microUsd(25),
  usage: { input: 8, cacheRead: 4, output: 6 },
}

const Chunk = z.object({
  choices: z.array(
    z.object({ delta: z.object({ content: z.string().nullish() }), finish_reason: z.string().nullish() }),
  ),
})

const read = (body: object) => chat.read(buildRaw(JSON.stringify(body)))
const anyModel = buildTarget(buildModel({ parameters: [], features: ['reasoning'] }))

function forwarded(body: object, plan: Partial<ModelPlan> = {}) {
  const given = { offer: offerOf({ apiFormat: 'messages' }), target: anyModel, ...plan }
  const { body: text, path, adaptedParams } = read(body).encode(buildPlan(given))
  return { text, path, adaptedParams, json: JSON.parse(text) }
}

describe('a chat to a seller of the messages protocol', () => {
  it('expresses instructions, turns, calls with their results and images in that protocol', () => {
    const call = {
      id: 'functions.f:0',
      type: 'function',
      function: { name: 'f', arguments: '{"a": 12345678901234567890}' },
    }
    const body = {
      ...ASK,
      max_tokens: 50,
      stream: true,
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'developer',
          content: [{ type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral', ttl: '1h' } }],
        },
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
            { type: 'image_url', image_url: { url: 'https://a.example/a.png' } },
            { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AB==' } },
            { type: 'text', text: '' },
          ],
        },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'functions.f:0', content: 'fine' },
        { role: 'user', content: 'go on' },
        { role: 'assistant', content: 'So ' },
      ],
      stop: ['END', '\n'],
      temperature: 1.7,
      seed: 5,
      user: 'u1',
      logit_bias: { 1: 2 },
      metadata: { a: 'b' },
    }
    const { json, text, path, adaptedParams } = forwarded(body)
    expect(path).toBe('/messages')
    expect(text).toContain('"input":{"a": 12345678901234567890}')
    expect(json).toEqual({
      model: 'vendor-gpt-5-mini',
      max_tokens: 50,
      system: [
        { type: 'text', text: 'Be brief.' },
        { type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral', ttl: '1h' } },
      ],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } },
            { type: 'image', source: { type: 'url', url: 'https://a.example/a.png' } },
            {
              type: 'document',
              source: { type: 'base64', media_type: 'application/pdf', data: 'AB==' },
              title: 'a.pdf',
            },
          ],
        },
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'functions_f_0', name: 'f', input: expect.anything() }],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'functions_f_0', content: [{ type: 'text', text: 'fine' }] },
            { type: 'text', text: 'go on' },
          ],
        },
        { role: 'assistant', content: [{ type: 'text', text: 'So' }] },
      ],
      temperature: 1,
      stop_sequences: ['END'],
      metadata: { user_id: 'u1' },
      stream: true,
    })
    expect(new Set(adaptedParams)).toEqual(new Set(['metadata', 'seed', 'logit_bias', 'temperature', 'stop']))
  })

  const fn = { type: 'function', function: { name: 'f', parameters: { properties: {} } } }

  it.each([
    ['auto', undefined, { type: 'auto' }],
    ['none', false, { type: 'none' }],
    ['required', undefined, { type: 'any' }],
    [
      { type: 'function', function: { name: 'f' } },
      false,
      { type: 'tool', name: 'f', disable_parallel_tool_use: true },
    ],
    [undefined, false, { type: 'auto', disable_parallel_tool_use: true }],
    [undefined, true, undefined],
  ])('tool_choice %o, parallel %o', (tool_choice, parallel_tool_calls, said) => {
    const { json } = forwarded({ ...ASK, tools: [fn, { type: 'web_search' }], tool_choice, parallel_tool_calls })
    expect(json.tools).toEqual([{ name: 'f', input_schema: { type: 'object', properties: {} } }])
    expect(json.tool_choice).toEqual(said)
  })

  it('is refused with parts that the protocol lacks and would lose', () => {
    const sound = { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } }
    const said = (part: object) => read({ ...ASK, messages: [{ role: 'user', content: [part] }] }).demand
    expect(said(sound)).toMatchObject({ needs: { openAiFormat: true } })
    expect(said({ type: 'text', text: 'hi' })).not.toMatchObject({ needs: { openAiFormat: true } })
  })

  it("keeps an assistant's refusals, and documents under their other name", () => {
    const { json } = forwarded({
      ...ASK,
      messages: [
        { role: 'user', content: [{ type: 'input_file', file_data: 'data:application/pdf;base64,AA==' }] },
        { role: 'assistant', content: [{ type: 'refusal', refusal: 'I will not.' }] },
        { role: 'user', content: 'hi' },
      ],
    })
    expect(json.messages[0].content).toMatchObject([{ type: 'document' }])
    expect(json.messages[1].content).toEqual([{ type: 'text', text: 'I will not.' }])
  })

  it('removes tools of a model that takes none', () => {
    const target = buildTarget(buildModel({ parameters: ['max_tokens'] }))
    const { json, adaptedParams } = forwarded({ ...ASK, max_tokens: 50, tools: [fn], tool_choice: 'auto' }, { target })
    expect(json).not.toHaveProperty('tools')
    expect(adaptedParams).toEqual(['tools', 'tool_choice'])
  })

  it.each([
    [{ reasoning_effort: 'high' }, 10_000, { type: 'enabled', budget_tokens: 8_000 }],
    [{ reasoning: { max_tokens: 3_000 } }, 10_000, { type: 'enabled', budget_tokens: 3_000 }],
    [{ reasoning: { max_tokens: 30_000 } }, 10_000, { type: 'enabled', budget_tokens: 9_999 }],
    [{ reasoning: { enabled: false } }, 10_000, undefined],
    [{ reasoning_effort: 'none' }, 10_000, undefined],
    [{ reasoning_effort: 'high' }, 1_000, undefined],
    [{ reasoning_effort: 'high', tools: [fn], tool_choice: 'required' }, 10_000, undefined],
  ])('a reasoning setting %o within %i', (fields, maxOutputTokens, thinking) => {
    const { json } = forwarded({ ...ASK, temperature: 0.5, ...fields }, { maxOutputTokens })
    expect(json.thinking).toEqual(thinking)
    expect(json.temperature).toBe(thinking === undefined ? 0.5 : undefined)
  })

  it('sends signed thoughts back, and thinks on only with them', () => {
    const calls = [{ id: 'c', type: 'function', function: { name: 'f', arguments: '' } }]
    const thoughts = [
      { type: 'reasoning.text', text: 'hm', signature: 's' },
      { type: 'reasoning.encrypted', data: 'zz' },
    ]
    const asked = (more: object) => ({
      ...ASK,
      reasoning_effort: 'low',
      messages: [
        ...ASK.messages,
        { role: 'assistant', tool_calls: calls, ...more },
        { role: 'tool', tool_call_id: 'c', content: 'x' },
      ],
    })
    const signed = forwarded(asked({ reasoning_details: thoughts }), { maxOutputTokens: 10_000 })
    expect(signed.json.messages[1].content).toEqual([
      { type: 'thinking', thinking: 'hm', signature: 's' },
      { type: 'redacted_thinking', data: 'zz' },
      { type: 'tool_use', id: 'c', name: 'f', input: {} },
    ])
    expect(signed.json.thinking).toEqual({ type: 'enabled', budget_tokens: 2_000 })
    const unsigned = forwarded(asked({ reasoning_content: 'hm' }), { maxOutputTokens: 10_000 })
    expect(unsigned.json.messages[1].content).toHaveLength(1)
    expect(unsigned.json).not.toHaveProperty('thinking')
    expect(unsigned.adaptedParams).toContain('reasoning')
  })

  const schema = { type: 'object', properties: { city: { type: 'string' } } }
  const inFormat = (json_schema: object) => ({
    ...ASK,
    max_tokens: 50,
    response_format: { type: 'json_schema', json_schema },
  })
  const capable = buildTarget(buildModel({ parameters: ['tools', 'response_format', 'structured_outputs'] }))

  it('sends a schema to a model that accepts it, and adapts nothing', () => {
    const { json, adaptedParams } = forwarded(inFormat({ name: 'answer', schema }), { target: capable })
    expect(json.output_config).toEqual({ format: { type: 'json_schema', schema } })
    expect(json).not.toHaveProperty('tools')
    expect(adaptedParams).toEqual([])
  })

  it('sends a tool that must be called to any other model', () => {
    const { json, adaptedParams } = forwarded(inFormat({ name: 'answer', schema }))
    expect(json.tools).toEqual([{ name: 'give_answer', description: expect.any(String), input_schema: schema }])
    expect(json.tool_choice).toEqual({ type: 'tool', name: 'give_answer' })
    expect(json).not.toHaveProperty('output_config')
    expect(adaptedParams).toEqual(['response_format'])
  })

  it('wraps a schema that is not an object, and lets the model call the tools of the buyer instead', () => {
    const own = { type: 'function', function: { name: 'give_answer', parameters: { type: 'object' } } }
    const list = { $defs: { n: { type: 'number' } }, type: 'array', items: { $ref: '#/$defs/n' } }
    const { json } = forwarded({ ...inFormat({ name: 'list', schema: list }), tools: [own] })
    expect(json.tool_choice).toEqual({ type: 'any' })
    expect(json.tools[1]).toMatchObject({
      name: 'give_answer_',
      input_schema: { $defs: list.$defs, required: ['answer'], properties: { answer: { type: 'array' } } },
    })
  })

  it('shows the call as the answer, however it is cut, without any other text', () => {
    const call = (input: string[], name = 'give_answer') => [
      messagesEvent({ type: 'message_start', message: { usage: { input_tokens: 8, output_tokens: 1 } } }),
      messagesEvent({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
      messagesEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Here: ' } }),
      messagesEvent({ type: 'content_block_stop', index: 0 }),
      messagesEvent({
        type: 'content_block_start',
        index: 1,
        content_block: { type: 'tool_use', id: 't', name, input: {} },
      }),
      ...input.map((text) =>
        messagesEvent({
          type: 'content_block_delta',
          index: 1,
          delta: { type: 'input_json_delta', partial_json: text },
        }),
      ),
      messagesEvent({ type: 'content_block_stop', index: 1 }),
      messagesEvent({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 6 } }),
      messagesEvent({ type: 'message_stop' }),
    ]
    const said = (body: object, frames: readonly string[]) => {
      const plan = buildPlan({ offer: offerOf({ apiFormat: 'messages' }), target: anyModel })
      const decoder = read({ ...body, stream: true }).decoder(plan)
      const bytes = frames.join('')
      const text = decodePieces(decoder, bytes, [bytes.length >> 1]) + decoder.finish(RECEIPT)
      const chunks = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => Chunk.parse(JSON.parse(data)))
      const choices = chunks.flatMap((chunk) => chunk.choices)
      return {
        text: choices.map(({ delta }) => delta.content ?? '').join(''),
        finish: choices.map(({ finish_reason: reason }) => reason).find((reason) => reason),
      }
    }
    const asked = inFormat({ name: 'answer', schema })
    expect(said(asked, call(['{"ci', 'ty":"O', 'slo"}']))).toEqual({ text: '{"city":"Oslo"}', finish: 'stop' })
    expect(said(asked, call([]))).toEqual({ text: '{}', finish: 'stop' })
    const list = inFormat({ name: 'list', schema: { type: 'array' } })
    expect(said(list, call(['{"answer":[1,', '2]}']))).toEqual({ text: '[1,2]', finish: 'stop' })
    const tools = [{ type: 'function', function: { name: 'look_up', parameters: { type: 'object' } } }]
    expect(said({ ...asked, tools }, call(['{}'], 'look_up'))).toEqual({ text: 'Here: ', finish: 'tool_calls' })
  })

  it('opens with a user turn where there is none', () => {
    const { json } = forwarded({ ...ASK, messages: [{ role: 'system', content: 'Go.' }] })
    expect(json.messages).toEqual([{ role: 'user', content: [{ type: 'text', text: 'Continue.' }] }])
  })

  it('goes only to sellers of the OpenAI protocol when no other can express it', () => {
    expect(read(ASK).demand.needs.openAiFormat).toBe(false)
    expect(read({ ...ASK, n: 2 }).demand.needs.openAiFormat).toBe(true)
    expect(read({ ...ASK, logprobs: true }).demand.needs.openAiFormat).toBe(true)
  })
})

const block = (index: number, content_block: object) =>
  messagesEvent({ type: 'content_block_start', index, content_block })
const delta = (index: number, piece: object) => messagesEvent({ type: 'content_block_delta', index, delta: piece })
const STREAM =
  messagesEvent({
    type: 'message_start',
    message: { usage: { input_tokens: 8, cache_read_input_tokens: 4, output_tokens: 1 } },
  }) +
  block(0, { type: 'thinking', thinking: '' }) +
  delta(0, { type: 'thinking_delta', thinking: 'hm' }) +
  delta(0, { type: 'signature_delta', signature: 'sig' }) +
  messagesEvent({ type: 'content_block_stop', index: 0 }) +
  block(1, { type: 'text', text: '' }) +
  delta(1, { type: 'text_delta', text: 'Grüße 🌍' }) +
  block(2, { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }) +
  delta(2, { type: 'input_json_delta', partial_json: '{"a"' }) +
  delta(2, { type: 'input_json_delta', partial_json: ':1}' }) +
  messagesEvent({ type: 'content_block_stop', index: 2 }) +
  block(3, { type: 'tool_use', id: 'toolu_2', name: 'g', input: { b: 2 } }) +
  messagesEvent({ type: 'content_block_stop', index: 3 }) +
  messagesEvent({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 6 } }) +
  messagesEvent({ type: 'message_stop' })

function stream(cuts: readonly number[]) {
  const decoder = read({ ...ASK, stream: true }).decoder(buildPlan({ offer: offerOf({ apiFormat: 'messages' }) }))
  const out = decodePieces(decoder, STREAM, cuts) + decoder.finish(RECEIPT)
  const frames = out.split('\n\n').filter((part) => part !== '')
  return { decoder, frames: frames.map((part) => (part === 'data: [DONE]' ? 'done' : JSON.parse(part.slice(6)))) }
}

describe('an answer of a seller of the messages protocol, as a chat', () => {
  it('has thoughts under all names, calls in the strict form, one finish, one usage', () => {
    const { frames, decoder } = stream([])
    expect(frames.slice(0, -3).map((frame) => dataOf(frame, 'choices', '0', 'delta'))).toEqual([
      {
        role: 'assistant',
        reasoning: 'hm',
        reasoning_content: 'hm',
        reasoning_details: [{ type: 'reasoning.text', text: 'hm' }],
      },
      { reasoning_details: [{ type: 'reasoning.text', text: '', signature: 'sig' }] },
      { content: 'Grüße 🌍' },
      { tool_calls: [{ index: 0, id: 'toolu_1', type: 'function', function: { name: 'f', arguments: '' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] },
      { tool_calls: [{ index: 0, function: { arguments: ':1}' } }] },
      { tool_calls: [{ index: 1, id: 'toolu_2', type: 'function', function: { name: 'g', arguments: '' } }] },
      { tool_calls: [{ index: 1, function: { arguments: '{"b":2}' } }] },
    ])
    expect(dataOf(frames.at(-3), 'choices', '0', 'finish_reason')).toBe('tool_calls')
    expect(frames.at(-2)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 12, completion_tokens: 6, buyer_cost_micro: 38 },
    })
    expect(frames.at(-1)).toBe('done')
    expect(decoder.ending()).toMatchObject({
      finishReason: 'tool_calls',
      reported: { inputTokens: 12, cachedTokens: 4, outputTokens: 6 },
    })
  })

  it('is the same wherever its bytes are cut', () => {
    const strip = (frames: readonly unknown[]) => frames.map((frame) => dataOf(frame, 'choices') ?? frame)
    const expected = strip(stream([]).frames)
    for (let cut = 1; cut < Buffer.byteLength(STREAM); cut++) {
      expect(strip(stream([cut]).frames), `cut at ${cut}`).toEqual(expected)
    }
  })

  it('is the same for a whole answer', () => {
    const content = [
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'text', text: 'Grüße 🌍' },
      { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } },
    ]
    const decoder = read(ASK).decoder(buildPlan({ offer: offerOf({ apiFormat: 'messages' }) }))
    const body = { type: 'message', content, stop_reason: 'tool_use', usage: { input_tokens: 8, output_tokens: 6 } }
    decodePieces(decoder, JSON.stringify(body), [])
    expect(JSON.parse(decoder.finish(RECEIPT))).toMatchObject({
      object: 'chat.completion',
      choices: [
        {
          message: {
            role: 'assistant',
            content: 'Grüße 🌍',
            reasoning: 'hm',
            reasoning_content: 'hm',
            reasoning_details: [{ type: 'reasoning.text', text: 'hm', signature: 'sig' }],
            tool_calls: [{ id: 'toolu_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
          },
          finish_reason: 'tool_calls',
        },
      ],
      usage: { prompt_tokens: 12, cost: 0.000038 },
    })
  })
})
