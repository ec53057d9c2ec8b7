import { describe, expect, it } from 'vitest'
import { chat } from '#data-plane/wires/chat/index.ts'
import { buildRaw } from '#test/support/bytes/build-market.ts'
import { geminiPlan } from '#test/support/bytes/gemini-plan.ts'
import { WIRES } from '#test/support/bytes/heard-on-wire.ts'
import { dataOf } from '#test/support/bytes/wire-bytes.ts'

function sent(request: object, plan = geminiPlan()) {
  const body = { model: 'gpt-5-mini', max_tokens: 10_000, messages: [{ role: 'user', content: 'hi' }], ...request }
  const encoded = chat.read(buildRaw(JSON.stringify(body))).encode(plan)
  const json: Record<string, unknown> = JSON.parse(encoded.body)
  return { ...encoded, json, config: dataOf(json, 'generationConfig') }
}

const CALL = (id: string, name: string, input = '{}', more: object = {}) => ({
  id,
  type: 'function',
  function: { name, arguments: input },
  ...more,
})
const SIGNED = (signature: string) => ({ extra_content: { google: { thought_signature: signature } } })
const TOOL = (name: string, parameters?: object) => ({ type: 'function', function: { name, parameters } })
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } }
const DUMMY = 'skip_thought_signature_validator'

describe('a request in Gemini’s own protocol', () => {
  it('has the model and the form of its answer in the path', () => {
    expect(sent({}).path).toBe('/models/gemini-3-flash-preview:generateContent')
    expect(sent({ stream: true })).toMatchObject({
      path: '/models/gemini-3-flash-preview:streamGenerateContent?alt=sse',
      accept: 'text/event-stream',
    })
    expect(sent({}, geminiPlan('models/gemini-2.5-pro')).path).toBe('/models/gemini-2.5-pro:generateContent')
    expect(sent({}, geminiPlan('tunedModels/a b')).path).toBe('/tunedModels/a%20b:generateContent')
    expect(sent({}, geminiPlan('../../files')).path).toBe('/models/..%2F..%2Ffiles:generateContent')
  })

  it('has instructions, text, inlined data and addresses in their places', () => {
    const image = (url: string) => ({ type: 'image_url', image_url: { url } })
    const { json } = sent({
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look.' },
            image('data:image/png;base64,AAAA'),
            image('https://a.example/b.JPG?c'),
            { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,BBBB' } },
          ],
        },
        { role: 'user', content: 'What is it?' },
      ],
    })
    expect(json).toMatchObject({
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [
        {
          role: 'user',
          parts: [
            { text: 'Look.' },
            { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
            { fileData: { mimeType: 'image/jpeg', fileUri: 'https://a.example/b.JPG?c' } },
            { inlineData: { mimeType: 'application/pdf', data: 'BBBB' } },
            { text: 'What is it?' },
          ],
        },
      ],
    })
  })

  it('has no empty turn, and begins with the user', () => {
    const { json } = sent({
      messages: [
        { role: 'assistant', content: 'Hello.' },
        { role: 'user', content: '' },
        { role: 'assistant', content: 'Still there?' },
      ],
    })
    expect(json['contents']).toEqual([
      { role: 'user', parts: [{ text: 'Continue.' }] },
      { role: 'model', parts: [{ text: 'Hello.' }, { text: 'Still there?' }] },
    ])
  })

  it('passes the input of a call and an object of a result on character by character', () => {
    const input = '{ "id": 1234567890123456789, "x":1.0 }'
    const { body } = sent({
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: null, tool_calls: [CALL('a', 'f', input), CALL('b', 'g', 'no object')] },
        { role: 'tool', tool_call_id: 'a', content: '{"n": 9007199254740993}' },
        { role: 'tool', tool_call_id: 'b', content: '[1]' },
      ],
    })
    expect(body).toContain(`"functionCall":{"id":"a","name":"f","args":${input}}`)
    expect(body).toContain('"functionCall":{"id":"b","name":"g","args":{}}')
    expect(body).toContain('"functionResponse":{"id":"a","name":"f","response":{"n": 9007199254740993}}')
    expect(body).toContain('"functionResponse":{"id":"b","name":"g","response":{"output":"[1]"}}')
  })

  it('names the function of each result, in the order of the calls, with pictures after them', () => {
    const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
    const use = (id: string, name: string) => ({ type: 'tool_use', id, name, input: {} })
    const body = {
      model: 'gpt-5-mini',
      max_tokens: 10,
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: [use('a', 'f')] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'one' }] },
        { role: 'assistant', content: [use('a', 'g'), use('b', 'h')] },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'b', content: 'broken', is_error: true },
            { type: 'tool_result', tool_use_id: 'a', content: [picture, { type: 'text', text: 'two' }] },
          ],
        },
      ],
    }
    const { body: text } = WIRES.messages.wire.read(buildRaw(JSON.stringify(body))).encode(geminiPlan())
    const last = dataOf(JSON.parse(text), 'contents', '4', 'parts')
    expect(last).toEqual([
      { functionResponse: { id: 'a', name: 'g', response: { output: 'two' } } },
      { functionResponse: { id: 'b', name: 'h', response: { error: 'broken' } } },
      { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
    ])
  })

  describe('signatures', () => {
    const messages = [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: null, tool_calls: [CALL('a', 'f')] },
      { role: 'tool', tool_call_id: 'a', content: 'x' },
      { role: 'assistant', content: 'Well.' },
      { role: 'user', content: 'two' },
      { role: 'assistant', content: null, tool_calls: [CALL('b', 'f'), CALL('c', 'f')] },
      { role: 'tool', tool_call_id: 'b', content: 'x' },
      { role: 'tool', tool_call_id: 'c', content: 'x' },
      { role: 'assistant', content: null, tool_calls: [CALL('d', 'f', '{}', SIGNED('c2ln'))] },
      { role: 'tool', tool_call_id: 'd', content: 'x' },
    ]
    const signaturesOf = (model: string) => {
      const { json } = sent({ messages }, geminiPlan(model))
      const contents: readonly unknown[] = Array.isArray(json['contents']) ? json['contents'] : []
      return contents
        .flatMap((turn) => dataOf(turn, 'parts') as readonly unknown[])
        .filter((part) => dataOf(part, 'functionCall') !== undefined)
        .map((part) => dataOf(part, 'thoughtSignature'))
    }

    it('return, and replace the missing ones of other makers, at the first call of each step', () => {
      expect(signaturesOf('gemini-3.1-pro-preview')).toEqual([undefined, DUMMY, undefined, 'c2ln'])
    })

    it('are never invented for a model that does not check them', () => {
      expect(signaturesOf('gemini-2.5-pro')).toEqual([undefined, undefined, undefined, 'c2ln'])
    })

    it('of texts return with the last text, and other makers’ thoughts never', () => {
      const details = [
        { type: 'reasoning.text', text: 'hm', signature: 'Y2xhdWRl' },
        { type: 'reasoning.encrypted', data: 'Z2VtaW5p', format: 'google-gemini-v1' },
        { type: 'reasoning.encrypted', data: 'b3BlbmFp', format: 'openai-responses-v1' },
      ]
      const turn = { role: 'assistant', content: 'Well.', reasoning_details: details }
      const { json } = sent({ messages: [{ role: 'user', content: 'hi' }, turn, { role: 'user', content: 'go' }] })
      expect(dataOf(json, 'contents', '1', 'parts')).toEqual([{ text: 'Well.', thoughtSignature: 'Z2VtaW5p' }])
    })
  })

  it('has functions with JSON schemas, and none for one without arguments', () => {
    const { json, adaptedParams } = sent({
      tools: [TOOL('f', SCHEMA), TOOL('g', { type: 'object', properties: {} }), TOOL('h')],
      parallel_tool_calls: false,
    })
    expect(json['tools']).toEqual([
      { functionDeclarations: [{ name: 'f', parametersJsonSchema: SCHEMA }, { name: 'g' }, { name: 'h' }] },
    ])
    expect(adaptedParams).toEqual(['parallel_tool_calls'])
  })

  it.each([
    ['auto', { mode: 'AUTO' }],
    ['none', { mode: 'NONE' }],
    ['required', { mode: 'ANY' }],
    [
      { type: 'function', function: { name: 'f' } },
      { mode: 'ANY', allowedFunctionNames: ['f'] },
    ],
  ])('expresses the choice %j', (tool_choice, functionCallingConfig) => {
    const { json } = sent({ tools: [TOOL('f', SCHEMA)], tool_choice })
    expect(json['toolConfig']).toEqual({ functionCallingConfig })
  })

  it('has every parameter that the protocol knows, and names the others', () => {
    const { config, json, adaptedParams } = sent({
      temperature: 0.5,
      top_p: 0.9,
      top_k: 40,
      seed: 7,
      presence_penalty: 0.1,
      frequency_penalty: 0.2,
      stop: ['a', 'b', 'c', 'd', 'e', 'f'].slice(0, 4),
      min_p: 0.1,
      repetition_penalty: 1.1,
      logit_bias: { 1: 1 },
      user: 'u',
      service_tier: 'priority',
    })
    expect(config).toEqual({
      maxOutputTokens: 10_000,
      temperature: 0.5,
      topP: 0.9,
      topK: 40,
      seed: 7,
      presencePenalty: 0.1,
      frequencyPenalty: 0.2,
      stopSequences: ['a', 'b', 'c', 'd'],
    })
    expect(json['serviceTier']).toBe('priority')
    expect(new Set(adaptedParams)).toEqual(new Set(['logit_bias', 'min_p', 'repetition_penalty', 'user']))
    expect(sent({ seed: 2 ** 40 })).toMatchObject({ config: { maxOutputTokens: 10_000 }, adaptedParams: ['seed'] })
    expect(sent({ service_tier: 'auto' }).json).not.toHaveProperty('serviceTier')
  })

  it.each(['gemini', 'vertex'] as const)('sends %s no picture by a URL that does not show its type', (apiFormat) => {
    const plan = geminiPlan()
    const at = { ...plan, offer: { ...plan.offer, apiFormat } }
    const ask = (url: string) => ({
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
    })
    // A video at a URL costs as much as a thousand pictures.
    for (const url of ['https://files.example/a', 'https://www.youtube.com/watch?v=1', 'https://youtu.be/1?t=.png'])
      expect(() => sent(ask(url), at)).toThrow(expect.objectContaining({ code: 'invalid_request', param: 'messages' }))
    const typed = JSON.stringify(sent(ask('https://files.example/a.png?b=1'), at).json)
    expect(typed).toContain('{"mimeType":"image/png","fileUri":"https://files.example/a.png?b=1"}')
  })

  it('sends a tier to Vertex AI in a header', () => {
    const plan = geminiPlan()
    const offer = { ...plan.offer, apiFormat: 'vertex' as const }
    const { json, headers, adaptedParams, path } = sent({ service_tier: 'flex' }, { ...plan, offer })
    expect(json).not.toHaveProperty('serviceTier')
    expect(headers).toEqual(['x-vertex-ai-llm-shared-request-type', 'flex'])
    expect({ adaptedParams, path }).toEqual({
      adaptedParams: [],
      path: '/models/gemini-3-flash-preview:generateContent',
    })
    expect(sent({}, { ...plan, offer })).not.toHaveProperty('headers')
  })

  it('requests no picture, because no buyer’s wire could carry it', () => {
    const { config } = sent({}, geminiPlan('gemini-2.5-flash-image', { outputModalities: ['image', 'text'] }))
    expect(config).toMatchObject({ responseModalities: ['TEXT'] })
  })

  it.each([
    ['gemini-2.5-flash', { reasoning_effort: 'low' }, { includeThoughts: true, thinkingBudget: 1_024 }, false],
    ['gemini-2.5-flash', { reasoning_effort: 'high' }, { includeThoughts: true, thinkingBudget: 9_999 }, false],
    ['gemini-2.5-flash', { reasoning_effort: 'none' }, { thinkingBudget: 0 }, false],
    ['gemini-2.5-pro', { reasoning_effort: 'none' }, { thinkingBudget: 128 }, true],
    ['gemini-2.5-flash-lite', { reasoning: { max_tokens: 10 } }, { includeThoughts: true, thinkingBudget: 512 }, true],
    [
      'gemini-3-flash-preview',
      { reasoning_effort: 'minimal' },
      { includeThoughts: true, thinkingLevel: 'MINIMAL' },
      false,
    ],
    ['gemini-3-flash-preview', { reasoning_effort: 'none' }, { thinkingLevel: 'MINIMAL' }, true],
    ['gemini-3-pro-preview', { reasoning_effort: 'medium' }, { includeThoughts: true, thinkingLevel: 'HIGH' }, true],
    ['gemini-3.1-pro', { reasoning_effort: 'medium' }, { includeThoughts: true, thinkingLevel: 'MEDIUM' }, false],
    ['gemini-3.1-pro', { reasoning_effort: 'minimal' }, { includeThoughts: true, thinkingLevel: 'LOW' }, true],
    ['gemini-3.8-flash', { reasoning: { max_tokens: 20_000 } }, { includeThoughts: true, thinkingLevel: 'HIGH' }, true],
    ['gemini-3.8-flash', { reasoning: { enabled: true } }, { includeThoughts: true }, false],
    ['gemini-2.0-flash', { reasoning_effort: 'low' }, undefined, true],
    ['gemini-2.0-flash', { reasoning_effort: 'none' }, undefined, false],
    ['gemma-3-27b-it', { reasoning_effort: 'low' }, undefined, true],
  ])('thinks with %s as requested by %j', (model, given, thinkingConfig, isNamed) => {
    const { config, adaptedParams } = sent(given, geminiPlan(model))
    expect(dataOf(config, 'thinkingConfig')).toEqual(thinkingConfig)
    expect(adaptedParams.includes('reasoning')).toBe(isNamed)
  })

  it('sends a schema itself, and a function where the model accepts no schema beside functions', () => {
    const response_format = { type: 'json_schema', json_schema: { name: 'a', schema: SCHEMA } }
    expect(sent({ response_format }).config).toMatchObject({
      responseMimeType: 'application/json',
      responseJsonSchema: SCHEMA,
    })
    expect(sent({ response_format: { type: 'json_object' } }).config).toEqual({
      maxOutputTokens: 10_000,
      responseMimeType: 'application/json',
    })
    const beside = { response_format, tools: [TOOL('f', SCHEMA)] }
    expect(sent(beside, geminiPlan('gemini-3-flash', { id: 'gemini-3-flash' })).config).toHaveProperty(
      'responseJsonSchema',
    )
    const older = sent(beside, geminiPlan('gemini-2.5-flash', { id: 'gemini-2.5-flash' }))
    expect(older.config).not.toHaveProperty('responseMimeType')
    expect(older.adaptedParams).toContain('response_format')
    expect(dataOf(older.json, 'tools', '0', 'functionDeclarations', '1', 'name')).toBe('give_answer')
  })
})
