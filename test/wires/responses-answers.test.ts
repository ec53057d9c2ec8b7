import { describe, expect, it } from 'vitest'
import { buildPlan, buildRaw } from '#test/support/bytes/build-market.ts'
import { hearOnWire, WIRE_NAMES, WIRES } from '#test/support/bytes/heard-on-wire.ts'
import { readResponse } from '#test/support/bytes/read-response.ts'
import { dataOf, messagesEvent, offerOf } from '#test/support/bytes/wire-bytes.ts'

const planOf = () => buildPlan({ offer: offerOf({ apiFormat: 'responses' }) })

const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  error: null,
  incomplete_details: null,
  output: [],
  usage: {
    input_tokens: 100,
    input_tokens_details: {
      cached_tokens: 20,
      cache_write_tokens: 30,
      cache_write_tokens_details: { ttl_30m_tokens: 10, ttl_12h_tokens: 20 },
    },
    output_tokens: 50,
    output_tokens_details: { reasoning_tokens: 40 },
    total_tokens: 150,
  },
  service_tier: 'priority',
  tool_usage: { web_search: { num_requests: 2 } },
}
const SCHEMA = { type: 'object' }
const TOOLS = {
  chat: [{ type: 'function', function: { name: 'find', parameters: SCHEMA } }],
  messages: [{ name: 'find', input_schema: SCHEMA }],
  responses: [{ type: 'function', name: 'find', parameters: SCHEMA }],
} as const
const end = (type: string, members: object) =>
  messagesEvent({ type, sequence_number: 9, response: { ...RESPONSE, ...members } })
const delta = (text: string) => messagesEvent({ type: 'response.output_text.delta', output_index: 0, delta: text })

describe('an answer', () => {
  it.each([
    ['whole', JSON.stringify(RESPONSE), false],
    [
      'streamed',
      delta('hi') + messagesEvent({ type: 'response.rate_limits.updated' }) + end('response.completed', {}),
      true,
    ],
  ])('shows its usage, its tier and its searches, %s', (_form, bytes, isStreamed) => {
    const { reported, failure } = readResponse(bytes, isStreamed)
    expect(failure).toBeUndefined()
    expect(reported).toMatchObject({
      inputTokens: 100,
      cachedTokens: 20,
      cacheWriteTokens: 30,
      cacheWriteShortTokens: 10,
      cacheWriteLongTokens: 20,
      outputTokens: 50,
      reasoningTokens: 40,
      serviceTier: 'priority',
      searches: 2,
    })
  })

  it.each([
    ['max_output_tokens', 'length'],
    ['content_filter', 'contentFilter'],
    ['another', 'length'],
  ])('that is incomplete for %s has ended with its usage', (reason, finish) => {
    const given = { status: 'incomplete', incomplete_details: { reason } }
    for (const [bytes, isStreamed] of [
      [delta('hi') + end('response.incomplete', given), true],
      [JSON.stringify({ ...RESPONSE, ...given }), false],
    ] as const) {
      const { events, failure, reported } = readResponse(bytes, isStreamed)
      expect(failure).toBeUndefined()
      expect(reported.outputTokens).toBe(50)
      expect(events.at(-1)).toMatchObject({ kind: 'finish', reason: finish })
    }
  })

  it.each([
    [
      'beside its response',
      end('response.completed', { usage: null }).replace(
        '"response":',
        `"usage":${JSON.stringify(RESPONSE.usage)},"response":`,
      ),
    ],
    [
      'at the beginning alone',
      messagesEvent({ type: 'response.created', response: RESPONSE }) + end('response.completed', { usage: null }),
    ],
  ])('has usage %s', (_place, bytes) => {
    const { reported, failure } = readResponse(delta('hi') + bytes, true)
    expect([failure, reported.inputTokens, reported.outputTokens]).toEqual([undefined, 100, 50])
  })

  it('has the text that only its last event of a part contains, once', () => {
    const done = messagesEvent({ type: 'response.output_text.done', output_index: 0, content_index: 0, text: 'hi' })
    for (const name of ['chat', 'messages'] as const)
      for (const bytes of [done, delta('hi') + done])
        expect(hearOnWire(name, true, bytes + end('response.completed', {}), { plan: planOf() }).text).toBe('hi')
  })

  it('that failed with a success status is an error of the provider', () => {
    const error = { code: 'server_error', message: 'The model had an error.' }
    const failed = { status: 'failed', error }
    expect(readResponse(JSON.stringify({ ...RESPONSE, ...failed }), false).failure).toMatchObject({
      kind: 'error',
      status: 500,
    })
    expect(readResponse(end('response.failed', failed), true).failure).toMatchObject({ kind: 'error', status: 500 })
    expect(readResponse(messagesEvent({ type: 'error', ...error }), true).failure).toMatchObject({ kind: 'error' })
    expect(readResponse(JSON.stringify({ ...RESPONSE, status: 'failed' }), false).failure).toMatchObject({
      kind: 'error',
    })
  })

  it('that stops before its last event is cut, whatever mark follows', () => {
    expect(readResponse(`${delta('hi')}data: [DONE]\n\n`, true).failure).toMatchObject({ kind: 'cut' })
  })

  it('has its last event read although it repeats a megabyte of instructions', () => {
    const { failure, reported } = readResponse(
      delta('hi') + end('response.completed', { instructions: 'x'.repeat(2_000_000) }),
      true,
    )
    expect(failure).toBeUndefined()
    expect(reported.outputTokens).toBe(50)
  })

  it.each(WIRE_NAMES)('keeps calls of one place apart on the %s wire', (wire) => {
    const item = (id: string) => ({ id, type: 'function_call', call_id: id, name: 'find', arguments: `{"at":"${id}"}` })
    const events = ['a', 'b'].map((id) => {
      const begun = { output_index: 0, item: { ...item(id), arguments: '' } }
      const piece = { output_index: 0, delta: `{"at":"${id}"}` }
      return (
        messagesEvent({ type: 'response.output_item.added', ...begun }) +
        messagesEvent({ type: 'response.function_call_arguments.delta', ...piece }) +
        messagesEvent({ type: 'response.output_item.done', output_index: 0, item: item(id) })
      )
    })
    const request = { tools: TOOLS[wire] }
    const bytes = events.join('') + end('response.completed', {})
    const { calls } = hearOnWire(wire, true, bytes, { plan: planOf(), request })
    expect(calls.map(({ input }) => JSON.parse(input))).toEqual([{ at: 'a' }, { at: 'b' }])
  })

  it('keeps the phase of its messages on the responses wire', () => {
    const item = (phase: string, said: string) => ({
      type: 'message',
      role: 'assistant',
      phase,
      content: [{ type: 'output_text', text: said }],
    })
    const output = [item('commentary', 'First I look.'), item('final_answer', 'It is so.')]
    const heard = hearOnWire('responses', false, JSON.stringify({ ...RESPONSE, output }), { plan: planOf() })
    expect(heard.turn).toMatchObject(output)
    const input = [{ role: 'user', content: 'hi' }, ...(Array.isArray(heard.turn) ? heard.turn : [])]
    const { body } = WIRES.responses.wire
      .read(buildRaw(JSON.stringify({ model: 'gpt-5-mini', input: [...input, { role: 'user', content: 'on' }] })))
      .encode(planOf())
    expect(dataOf(JSON.parse(body), 'input')).toMatchObject([{ role: 'user' }, ...output, { role: 'user' }])
  })

  it.each(
    (['chat', 'messages'] as const).flatMap((wire) => [false, true].map((isStreamed) => [wire, isStreamed] as const)),
  )('keeps the phase of its messages on the %s wire, streamed %s', (wire, isStreamed) => {
    const said = [
      ['commentary', 'First I look. '],
      [undefined, 'Hm. '],
      ['final_answer', 'It is so.'],
    ] as const
    const output = said.map(([phase, text]) => ({
      type: 'message',
      role: 'assistant',
      phase,
      content: [{ type: 'output_text', text }],
    }))
    const stream = said.map(([phase, text], at) => {
      const item = { type: 'message', role: 'assistant', phase, content: [] }
      const place = { output_index: at, content_index: 0 }
      return (
        messagesEvent({ type: 'response.output_item.added', output_index: at, item }) +
        [...text].map((delta) => messagesEvent({ type: 'response.output_text.delta', ...place, delta })).join('')
      )
    })
    const bytes = isStreamed
      ? stream.join('') + end('response.completed', { output })
      : JSON.stringify({ ...RESPONSE, output })
    const plan = planOf()
    const heard = hearOnWire(wire, isStreamed, bytes, { plan })
    expect(heard.text).toBe('First I look. Hm. It is so.')
    const messages = [{ role: 'user', content: 'hi' }, heard.turn, { role: 'user', content: 'on' }]
    const ask = { model: 'gpt-5-mini', ...WIRES[wire].ask, messages }
    const encoded = (given = plan) => WIRES[wire].wire.read(buildRaw(JSON.stringify(ask))).encode(given)
    expect(dataOf(JSON.parse(encoded().body), 'input')).toEqual([
      { role: 'user', content: 'hi' },
      ...said.map(([phase, content]) => ({ role: 'assistant', content, ...(phase && { phase }) })),
      { role: 'user', content: 'on' },
    ])
    // Sellers of other protocols get the text, and no seal.
    for (const apiFormat of ['openai', 'messages'] as const) {
      const { body } = encoded(buildPlan({ offer: offerOf({ apiFormat }) }))
      expect(body).not.toMatch(/mkt1_|phase/)
      expect(body).toContain('It is so.')
    }
  })
})
