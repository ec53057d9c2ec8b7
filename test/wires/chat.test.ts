import { describe, expect, it } from 'vitest'
import { chat } from '#data-plane/wires/chat/index.ts'
import { AppError } from '#shared/errors.ts'
import { buildPlan, buildRaw } from '#test/support/bytes/build-market.ts'
import { framesOf, RECEIPT } from '#test/support/bytes/chat-answers.ts'
import { chatFrame, decodePieces } from '#test/support/bytes/wire-bytes.ts'

const GOOD = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'hi' }] }
const USAGE = {
  prompt_tokens: 12,
  completion_tokens: 6,
  total_tokens: 18,
  prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 1, audio_tokens: 0 },
  cost: 0.000038,
  buyer_cost_micro: 38,
  cost_details: {
    upstream_inference_cost: 0.000075,
    upstream_inference_prompt_cost: 0.000025,
    upstream_inference_completions_cost: 0.00005,
  },
}

const read = (body: object) => chat.read(buildRaw(JSON.stringify(body)))

const WHOLE = {
  id: 'provider-id',
  object: 'chat.completion',
  created: 1,
  model: 'vendor',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Grüße 🌍' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 12, completion_tokens: 6, prompt_tokens_details: { cached_tokens: 4 } },
  secret_of_provider: 'x',
}

function decodeWhole(text: string, cuts: readonly number[] = []) {
  const plan = buildPlan()
  const decoder = read(GOOD).decoder(plan)
  expect(decodePieces(decoder, text, cuts)).toBe('')
  return { decoder, plan }
}

describe('a whole answer', () => {
  it("keeps the choices unchanged and gets the market's id, model, usage and cost", () => {
    const { decoder, plan } = decodeWhole(JSON.stringify(WHOLE))
    expect(JSON.parse(decoder.finish(RECEIPT))).toEqual({
      id: `chatcmpl-${plan.rid}`,
      object: 'chat.completion',
      created: plan.createdAt,
      model: 'gpt-5-mini',
      provider: 'a',
      choices: WHOLE.choices,
      usage: USAGE,
      system_fingerprint: null,
    })
    expect(decoder.ending()).toMatchObject({
      finishReason: 'stop',
      contentBytes: Buffer.byteLength('Grüße 🌍'),
      reported: { inputTokens: 12, outputTokens: 6, cachedTokens: 4, insaneFields: 0 },
    })
  })

  it('with fewer choices than requested is a failed attempt', () => {
    const decode = (n: number, choices: number) => {
      const decoder = read({ ...GOOD, n }).decoder(buildPlan())
      const list = Array.from({ length: choices }, (_, index) => ({ ...WHOLE.choices[0], index }))
      decodePieces(decoder, JSON.stringify({ ...WHOLE, choices: list }), [])
      return decoder.failure()?.kind
    }
    expect([decode(2, 1), decode(3, 2), decode(2, 2), decode(1, 1)]).toEqual([
      'malformed',
      'malformed',
      undefined,
      undefined,
    ])
  })

  it('is the same wherever its bytes are cut', () => {
    const text = JSON.stringify(WHOLE)
    for (let cut = 1; cut < Buffer.byteLength(text); cut++) {
      expect(JSON.parse(decodeWhole(text, [cut]).decoder.finish(RECEIPT)).choices).toEqual(WHOLE.choices)
    }
  })

  it("hides the provider's own model name and id", () => {
    const claimed = { ...WHOLE, model: 'another-model', id: 'i'.repeat(1_000_000) }
    const { decoder, plan } = decodeWhole(JSON.stringify(claimed))
    expect(JSON.parse(decoder.finish(RECEIPT))).toMatchObject({ model: 'gpt-5-mini', id: `chatcmpl-${plan.rid}` })
    const frames = chatFrame(
      { delta: { content: 'x' }, finish_reason: 'stop' },
      { model: 'another-model', id: 'i'.repeat(100_000) },
    )
    const streamed = decodeStream(`${frames}data: [DONE]\n\n`)
    const text = streamed.out + streamed.decoder.finish(RECEIPT)
    expect(text.length).toBeLessThan(2_000)
    expect(text).not.toContain('another-model')
  })

  it('is unaffected by a member named __proto__', () => {
    const text = JSON.stringify(WHOLE).replace('"id":', '"__proto__":{"polluted":1},"id":')
    expect(JSON.parse(decodeWhole(text).decoder.finish(RECEIPT)).choices).toEqual(WHOLE.choices)
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
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
  ] as const)('of %.40s is a failure', (text, kind, status) => {
    expect(decodeWhole(text).decoder.failure()).toMatchObject({ kind, status })
  })

  it('ignores a figure that cannot be a count', () => {
    const usage = { prompt_tokens: -5, completion_tokens: '12', total_tokens: 1e30 }
    const { reported } = decodeWhole(JSON.stringify({ ...WHOLE, usage })).decoder.ending()
    expect(reported).toEqual({ insaneFields: 2 })
  })
})

const STREAM =
  chatFrame({ delta: { role: 'assistant', content: '' } }) +
  ': provider comment\n\n' +
  chatFrame({ delta: { content: 'Grüße' } }) +
  chatFrame(
    { delta: { content: ' 🌍' }, logprobs: { content: [] } },
    { usage: { prompt_tokens: 12, completion_tokens: 1 } },
  ) +
  chatFrame({ delta: { content: '' }, finish_reason: 'stop' }) +
  chatFrame(null, { usage: { prompt_tokens: 12, completion_tokens: 6 } }) +
  'data: [DONE]\n\ndata: {"choices":[{"index":0,"delta":{"content":"after the end"}}]}\n\n'

function decodeStream(text: string, cuts: readonly number[] = []) {
  const plan = buildPlan()
  const decoder = read({ ...GOOD, stream: true }).decoder(plan)
  return { decoder, plan, out: decodePieces(decoder, text, cuts) }
}

describe('a streamed answer', () => {
  it('is rebuilt: content, one finish, one usage with the cost, the end', () => {
    const { decoder, plan, out } = decodeStream(STREAM)
    const head = {
      id: `chatcmpl-${plan.rid}`,
      object: 'chat.completion.chunk',
      created: plan.createdAt,
      model: 'gpt-5-mini',
      provider: 'a',
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
    const { decoder, out } = decodeStream(chatFrame({ delta: { role: 'assistant', content: '' } }))
    expect([out, decoder.contentPieces()]).toEqual(['', 0])
  })

  it.each([
    ['an end without a finish', chatFrame({ delta: { content: 'x' } }), 'cut'],
    ['nothing at all', '', 'cut'],
    ['an error object', chatFrame(null, { error: { message: 'no', code: 500 } }), 'error'],
    ['a frame that is not JSON', 'data: {"choices":[{"delta\n\n', 'malformed'],
    ['a bare CR inside the data', 'data: {"choices":\r[]}\n\n', 'malformed'],
    ['a frame that is not an object', 'data: 5\n\n', 'malformed'],
    ['an error as the finish', chatFrame({ delta: {}, finish_reason: 'error' }), 'error'],
  ])('fails on %s', (_name, text, kind) => {
    expect(decodeStream(text).decoder.failure()?.kind).toBe(kind)
  })

  it('may end without [DONE] when every choice has its finish', () => {
    const { decoder } = decodeStream(chatFrame({ delta: { content: 'x' }, finish_reason: 'length' }))
    expect(decoder.failure()).toBeUndefined()
    expect(decoder.ending().finishReason).toBe('length')
  })

  it('gives tool calls the strict form: index always, id, type and name once', () => {
    const call = (fn: object, id?: string) =>
      chatFrame({ delta: { tool_calls: [{ ...(id ? { id } : {}), function: fn }] } })
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
    const [first] = framesOf(decodeStream(chatFrame({ delta })).out)
    expect(JSON.parse(JSON.stringify(first)).choices[0].delta).toEqual({
      role: 'assistant',
      content: 'x',
      reasoning_content: 'y',
    })
  })

  it('can be stopped, and ends with the reason length', () => {
    const { decoder } = decodeStream(chatFrame({ delta: { content: 'x' } }))
    decoder.stop()
    expect(decoder.finish(RECEIPT)).toContain('"finish_reason":"length"')
  })

  it('breaks with the error of the wire, and is kept alive by a comment of one line', () => {
    const { decoder, plan } = decodeStream(chatFrame({ delta: { content: 'x' } }))
    const event = decoder.fail(new AppError('upstream_error'))
    const [broken = '', done] = event.split('\n\n')
    expect(JSON.parse(broken.slice(6))).toMatchObject({ error: { code: 'upstream_error', request_id: plan.rid } })
    expect(done).toBe('data: [DONE]')
    expect(decoder.keepAlive()).toBe(': keep-alive\n')
  })
})
