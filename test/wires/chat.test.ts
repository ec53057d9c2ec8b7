import { describe, expect, it } from 'vitest'
import type { AttemptPlan, Receipt } from '#data-plane/call.ts'
import { chat } from '#data-plane/wires/chat/index.ts'
import { AppError } from '#shared/errors.ts'
import { microUsd } from '#shared/money.ts'
import { buildModel, buildPlan, buildRaw, buildTarget } from '#test/support/build-market.ts'

const GOOD = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'hi' }] }
const RECEIPT: Receipt = {
  chargeMicro: microUsd(38),
  listMicro: microUsd(75),
  usage: { input: 8, cacheRead: 4, output: 5, reasoning: 1 },
}
const USAGE = {
  prompt_tokens: 12,
  completion_tokens: 6,
  total_tokens: 18,
  prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 1, audio_tokens: 0 },
  cost: 0.000038,
  buyer_cost_micro: 38,
  cost_details: { upstream_inference_cost: 0.000075 },
}

const read = (body: object) => chat.read(buildRaw(JSON.stringify(body)))

function codeOf(body: string | Buffer, headers: Record<string, string> = {}): string | undefined {
  try {
    chat.read(buildRaw(body, headers))
    return undefined
  } catch (error) {
    return error instanceof AppError ? error.code : String(error)
  }
}

function forwarded(body: object, plan: Partial<AttemptPlan> = {}) {
  const { body: text, adaptedParams } = read(body).encode(buildPlan(plan))
  return { text, json: JSON.parse(text), adaptedParams }
}

describe('a chat request', () => {
  it.each([
    ['{', 'invalid_json'],
    ['', 'invalid_json'],
    ['{"model":"m",}', 'invalid_json'],
    ['{"model":NaN}', 'invalid_json'],
    ['[]', 'invalid_request'],
    [JSON.stringify({ ...GOOD, model: 5 }), 'invalid_request'],
    [JSON.stringify({ ...GOOD, messages: [null] }), 'invalid_request'],
    [JSON.stringify({ ...GOOD, messages: [{ role: 'root', content: 'x' }] }), 'invalid_request'],
    [JSON.stringify({ ...GOOD, messages: [{ role: 'user', content: {} }] }), 'invalid_request'],
    [JSON.stringify({ ...GOOD, max_tokens: 1.5 }), 'invalid_request'],
    [JSON.stringify({ ...GOOD, max_tokens: '5' }), 'invalid_request'],
    [JSON.stringify({ ...GOOD, stream: 1 }), 'invalid_request'],
    [JSON.stringify({ ...GOOD, n: 1_000 }), 'invalid_request'],
    [JSON.stringify({ ...GOOD, tools: {} }), 'invalid_request'],
    [JSON.stringify({ ...GOOD, response_format: { type: 'json_schema' } }), 'invalid_request'],
    [JSON.stringify({ ...GOOD, user: 'u'.repeat(1_000_000) }), 'invalid_request'],
    ['{"__proto__":{},"model":"m","messages":[{"role":"user","content":"x"}]}', 'invalid_request'],
    [JSON.stringify({ ...GOOD, messages: [{ role: 'user', content: 'x'.repeat(3_000_000) }] }), 'request_too_large'],
  ])('%.60s is %s', (body, code) => {
    expect(codeOf(body)).toBe(code)
  })

  it('is refused in another encoding, and read behind a byte order mark', () => {
    expect(codeOf(Buffer.from(JSON.stringify(GOOD), 'utf16le'))).toBe('invalid_json')
    expect(codeOf(Buffer.from([0x7b, 0xff, 0x7d]))).toBe('invalid_json')
    expect(codeOf(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(JSON.stringify(GOOD))]))).toBeUndefined()
  })

  it('counts bytes as the bound of tokens, without inlined images', () => {
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(5_000_000)}` } }
    const body = {
      ...GOOD,
      max_tokens: 7,
      n: 2,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'ü' }, image] }],
    }
    const { bounds, needs } = read(body).demand
    expect(needs.imageInput).toBe(true)
    expect(bounds).toMatchObject({ inputImages: 1, maxOutputTokens: 7, choices: 2 })
    expect(bounds.inputTokens).toBeLessThan(400)
  })

  it('goes on with the messages byte for byte, and numbers as they were written', () => {
    const messages = '[ {"role":"user","content":"caf\\u00e9 \\ud800 \\u0000 1"} ]'
    const raw = buildRaw(`{"messages": ${messages} ,"model":"x","temperature":1.0,"seed_like":12345678901234567890}`)
    const { body } = chat.read(raw).encode(buildPlan())
    expect(body).toContain(`"messages":${messages}`)
    expect(body).toContain('"temperature":1.0')
    expect(body).toContain('"seed_like":12345678901234567890')
  })

  it('names the seller’s model, the limit and the stream options, and hides what only routing reads', () => {
    const { json } = forwarded({
      ...GOOD,
      stream: true,
      stream_options: { include_usage: false },
      provider: 'a',
      provider_url: 'https://a.example',
      provider_base_url: 'https://a.example',
      providers_blocked: [],
      provider_order: ['a'],
      allow_untrusted: true,
      min_discount_pct: 5,
      max_price_per_1m: 3,
      usage: { include: true },
    })
    expect(json).toEqual({
      model: 'vendor-gpt-5-mini',
      messages: GOOD.messages,
      max_tokens: 50,
      stream: true,
      stream_options: { include_usage: true },
    })
  })

  it('reads the last of duplicates, for the price and for the provider alike', () => {
    const raw = buildRaw(
      '{"model":"a","max_tokens":9,"messages":[{"role":"user","content":"1"}],"model":"b","max_tokens":7}',
    )
    const call = chat.read(raw)
    expect(call.demand).toMatchObject({ model: 'b', bounds: { maxOutputTokens: 7 } })
    expect(call.encode(buildPlan()).body.match(/max_tokens/g)).toHaveLength(1)
  })

  it('leaves out what the model does not take, and says so', () => {
    const tools = [{ type: 'function', function: { name: 'f', parameters: { __proto__: null, type: 'object' } } }]
    const body = {
      ...GOOD,
      max_tokens: 50,
      tools,
      tool_choice: 'auto',
      reasoning_effort: 'low',
      include_reasoning: true,
      top_p: 1,
    }
    const kept = forwarded(body)
    expect(kept.adaptedParams).toEqual(['reasoning_effort', 'include_reasoning', 'top_p'])
    const model = buildModel({ parameters: ['top_p', 'reasoning_effort', 'include_reasoning'] })
    const stripped = forwarded(body, { target: buildTarget(model) })
    expect(stripped.adaptedParams).toEqual(['tools', 'tool_choice', 'include_reasoning'])
    expect(new Set(Object.keys(stripped.json))).toEqual(
      new Set(['max_tokens', 'messages', 'model', 'reasoning_effort', 'top_p']),
    )
  })

  it('forwards function tools only', () => {
    const fn = { type: 'function', function: { name: 'f' } }
    const { json, adaptedParams } = forwarded({ ...GOOD, max_tokens: 50, tools: [{ type: 'computer_use' }, fn] })
    expect(json.tools).toEqual([fn])
    expect(adaptedParams).toEqual(['tools'])
  })

  it('says that it set the limit when none was given', () => {
    expect(forwarded(GOOD).adaptedParams).toEqual(['max_tokens'])
    expect(forwarded({ ...GOOD, max_completion_tokens: 80 }).json).toMatchObject({ max_completion_tokens: 50 })
  })
})

const WHOLE = {
  id: 'provider-id',
  object: 'chat.completion',
  created: 1,
  model: 'vendor',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Grüße 🌍' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 12, completion_tokens: 6, prompt_tokens_details: { cached_tokens: 4 } },
  secret_of_provider: 'x',
}

function decodeWhole(text: string | Buffer, cuts: readonly number[] = []) {
  const plan = buildPlan()
  const decoder = read(GOOD).decoder(plan)
  const bytes = Buffer.from(text)
  let from = 0
  for (const cut of [...cuts, bytes.length]) {
    expect(decoder.push(bytes.subarray(from, cut))).toBe('')
    from = cut
  }
  decoder.end()
  return { decoder, plan }
}

describe('a whole answer', () => {
  it('keeps the choices as they were and gets our id, model, usage and cost', () => {
    const { decoder, plan } = decodeWhole(JSON.stringify(WHOLE))
    expect(JSON.parse(decoder.finish(RECEIPT))).toEqual({
      id: `chatcmpl-${plan.rid}`,
      object: 'chat.completion',
      created: plan.createdAt,
      model: 'gpt-5-mini',
      choices: WHOLE.choices,
      usage: USAGE,
    })
    expect(decoder.ending()).toMatchObject({
      finishReason: 'stop',
      contentBytes: Buffer.byteLength('Grüße 🌍'),
      reported: { inputTokens: 12, outputTokens: 6, cachedTokens: 4, insaneFields: 0 },
    })
  })

  it('is the same wherever its bytes are cut', () => {
    const bytes = Buffer.from(JSON.stringify(WHOLE))
    for (let cut = 1; cut < bytes.length; cut++) {
      expect(JSON.parse(decodeWhole(bytes, [cut]).decoder.finish(RECEIPT)).choices).toEqual(WHOLE.choices)
    }
  })

  it.each([
    ['{"error":{"message":"no","code":429}}', 'error', 429],
    ['{"error":"no"}', 'error', 502],
    ['<html></html>', 'malformed', 502],
    ['{"choices":[]}', 'malformed', 502],
    ['{"choices":[{"text":"x"}]}', 'malformed', 502],
    [`{"choices":${'['.repeat(100_000)}`, 'malformed', 502],
    [JSON.stringify(WHOLE).slice(0, -9), 'malformed', 502],
    ['', 'malformed', 502],
  ] as const)('%.40s is no answer', (text, kind, status) => {
    expect(decodeWhole(text).decoder.failure()).toMatchObject({ kind, status })
  })

  it('takes no figure that can be no count', () => {
    const usage = { prompt_tokens: -5, completion_tokens: '12', total_tokens: 1e30 }
    const { reported } = decodeWhole(JSON.stringify({ ...WHOLE, usage })).decoder.ending()
    expect(reported).toEqual({ insaneFields: 2 })
  })
})

const frame = (choice: object | null, rest: object = {}) =>
  `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'vendor', choices: choice === null ? [] : [{ index: 0, finish_reason: null, ...choice }], ...rest })}\n\n`

const STREAM =
  frame({ delta: { role: 'assistant', content: '' } }) +
  ': provider comment\n\n' +
  frame({ delta: { content: 'Grüße' } }) +
  frame(
    { delta: { content: ' 🌍' }, logprobs: { content: [] } },
    { usage: { prompt_tokens: 12, completion_tokens: 1 } },
  ) +
  frame({ delta: { content: '' }, finish_reason: 'stop' }) +
  frame(null, { usage: { prompt_tokens: 12, completion_tokens: 6 } }) +
  'data: [DONE]\n\ndata: {"choices":[{"index":0,"delta":{"content":"after the end"}}]}\n\n'

function decodeStream(text: string, cuts: readonly number[] = []) {
  const plan = buildPlan()
  const decoder = read({ ...GOOD, stream: true }).decoder(plan)
  const bytes = Buffer.from(text)
  let out = ''
  let from = 0
  for (const cut of [...cuts, bytes.length]) {
    out += decoder.push(bytes.subarray(from, cut))
    from = cut
  }
  decoder.end()
  return { decoder, plan, out }
}

/** Frames of a stream, each parsed; the end as its word. */
function framesOf(text: string): unknown[] {
  return text
    .split('\n\n')
    .filter((part) => part !== '')
    .map((part) => {
      expect(part).toMatch(/^data: [^\n\r]*$/)
      return part === 'data: [DONE]' ? 'done' : JSON.parse(part.slice(6))
    })
}

describe('a streamed answer', () => {
  it('is rebuilt: content, one finish, one usage with the cost, the end', () => {
    const { decoder, plan, out } = decodeStream(STREAM)
    const head = {
      id: `chatcmpl-${plan.rid}`,
      object: 'chat.completion.chunk',
      created: plan.createdAt,
      model: 'gpt-5-mini',
    }
    expect(framesOf(out + decoder.finish(RECEIPT))).toEqual([
      { ...head, choices: [{ index: 0, delta: { role: 'assistant', content: 'Grüße' }, finish_reason: null }] },
      { ...head, choices: [{ index: 0, delta: { content: ' 🌍' }, logprobs: { content: [] }, finish_reason: null }] },
      { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      { ...head, choices: [], usage: USAGE },
      'done',
    ])
    expect(decoder.ending()).toMatchObject({
      finishReason: 'stop',
      contentBytes: Buffer.byteLength('Grüße 🌍'),
      reported: { inputTokens: 12, outputTokens: 6 },
    })
  })

  it('is the same wherever its bytes are cut', () => {
    const expected = framesOf(decodeStream(STREAM).out).length
    const bytes = Buffer.byteLength(STREAM)
    for (let cut = 1; cut < bytes; cut++) {
      const { decoder, out } = decodeStream(STREAM, [cut])
      expect(framesOf(out), `cut at ${cut}`).toHaveLength(expected)
      expect(decoder.ending().contentBytes).toBe(Buffer.byteLength('Grüße 🌍'))
    }
    const { out } = decodeStream(
      STREAM,
      Array.from({ length: bytes }, (_, at) => at),
    )
    expect(framesOf(out)).toHaveLength(expected)
  })

  it('sends nothing before the first content', () => {
    const { decoder, out } = decodeStream(frame({ delta: { role: 'assistant', content: '' } }))
    expect([out, decoder.contentPieces()]).toEqual(['', 0])
  })

  it.each([
    ['an end without a finish', frame({ delta: { content: 'x' } }), 'cut'],
    ['nothing at all', '', 'cut'],
    ['an error object', frame(null, { error: { message: 'no', code: 500 } }), 'error'],
    ['a frame that is not JSON', 'data: {"choices":[{"delta\n\n', 'malformed'],
    ['a bare CR inside the data', 'data: {"choices":\r[]}\n\n', 'malformed'],
    ['a frame that is no object', 'data: 5\n\n', 'malformed'],
    ['an error as the finish', frame({ delta: {}, finish_reason: 'error' }), 'error'],
  ])('fails on %s', (_name, text, kind) => {
    expect(decodeStream(text).decoder.failure()?.kind).toBe(kind)
  })

  it('may end without [DONE] when every choice has its finish', () => {
    const { decoder } = decodeStream(frame({ delta: { content: 'x' }, finish_reason: 'length' }))
    expect(decoder.failure()).toBeUndefined()
    expect(decoder.ending().finishReason).toBe('length')
  })

  it('gives tool calls the strict form: index always, id, type and name once', () => {
    const call = (fn: object, id?: string) =>
      frame({ delta: { tool_calls: [{ ...(id ? { id } : {}), function: fn }] } })
    const text =
      call({ name: 'f', arguments: '{"a"' }, 'call_1') +
      call({ arguments: ':1}' }) +
      call({ name: 'g', arguments: { b: 2 } }, 'call_2')
    const { decoder, out } = decodeStream(`${text}data: [DONE]\n\n`)
    const deltas = framesOf(out).map((one) => JSON.parse(JSON.stringify(one)).choices[0].delta.tool_calls[0])
    expect(deltas).toEqual([
      { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a"' } },
      { index: 0, function: { arguments: ':1}' } },
      { index: 1, id: 'call_2', type: 'function', function: { name: 'g', arguments: '{"b":2}' } },
    ])
    expect(decoder.ending().finishReason).toBe('tool_calls')
  })

  it('passes only known fields of a delta', () => {
    const delta = { content: 'x', reasoning_content: 'y', set_cookie: 'z', refusal: null }
    const [first] = framesOf(decodeStream(frame({ delta })).out)
    expect(JSON.parse(JSON.stringify(first)).choices[0].delta).toEqual({
      role: 'assistant',
      content: 'x',
      reasoning_content: 'y',
    })
  })

  it('can be stopped, and says length', () => {
    const { decoder } = decodeStream(frame({ delta: { content: 'x' } }))
    decoder.stop()
    expect(decoder.finish(RECEIPT)).toContain('"finish_reason":"length"')
  })

  it('breaks with the error of the wire, and is kept alive by a comment of one line', () => {
    const { decoder, plan } = decodeStream(frame({ delta: { content: 'x' } }))
    const event = decoder.fail(new AppError('upstream_error'))
    const [broken = '', done] = event.split('\n\n')
    expect(JSON.parse(broken.slice(6))).toMatchObject({ error: { code: 'upstream_error', request_id: plan.rid } })
    expect(done).toBe('data: [DONE]')
    expect(decoder.keepAlive()).toBe(': keep-alive\n')
  })
})
