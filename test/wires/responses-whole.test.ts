import { describe, expect, it } from 'vitest'
import type { ModelPlan } from '#data-plane/call.ts'
import { responses } from '#data-plane/wires/responses/index.ts'
import { buildPlan, buildRaw } from '#test/support/bytes/build-market.ts'
import { RECEIPT } from '#test/support/bytes/chat-answers.ts'
import { decodePieces, offerOf } from '#test/support/bytes/wire-bytes.ts'

const GOOD = { model: 'gpt-5-mini', input: 'hi' }
const USAGE = {
  input_tokens: 12,
  input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
  output_tokens: 6,
  output_tokens_details: { reasoning_tokens: 1 },
  total_tokens: 18,
  cost: 0.000038,
  buyer_cost_micro: 38,
  cost_details: {
    upstream_inference_cost: 0.000075,
    upstream_inference_input_cost: 0.000025,
    upstream_inference_output_cost: 0.00005,
  },
}
const TOOL = {
  type: 'function',
  name: 'weather',
  description: 'of a city',
  parameters: { type: 'object' },
  strict: true,
}

const OPENAI = {}
const MESSAGES = { offer: offerOf({ apiFormat: 'messages' }) }

const read = (body: object) => responses.read(buildRaw(JSON.stringify(body)))

const CHAT_WHOLE = JSON.stringify({
  id: 'x',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        reasoning_content: 'hm',
        content: 'Grüße 🌍',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } }],
      },
      finish_reason: 'tool_calls',
    },
  ],
  usage: { prompt_tokens: 12, completion_tokens: 6 },
})
const MESSAGES_WHOLE = JSON.stringify({
  type: 'message',
  content: [
    { type: 'thinking', thinking: 'hm', signature: 'abc' },
    { type: 'text', text: 'Grüße 🌍' },
    { type: 'tool_use', id: 'c1', name: 'weather', input: { city: 'Rome' } },
  ],
  stop_reason: 'tool_use',
  usage: { input_tokens: 12, output_tokens: 6 },
})

function decodeWhole(text: string, plan: Partial<ModelPlan>, cuts: readonly number[] = [], body: object = GOOD) {
  const full = buildPlan(plan)
  const decoder = read(body).decoder(full)
  expect(decodePieces(decoder, text, cuts)).toBe('')
  return { decoder, plan: full }
}

describe('a whole response', () => {
  it("is complete, with items in their order, the market's usage and the cost", () => {
    const body = {
      ...GOOD,
      instructions: 'Be brief.',
      tools: [TOOL, { type: 'web_search' }],
      store: true,
      metadata: { a: 'b' },
    }
    const { decoder, plan } = decodeWhole(CHAT_WHOLE, OPENAI, [], body)
    expect(JSON.parse(decoder.finish(RECEIPT))).toEqual({
      id: `resp_${plan.rid}`,
      object: 'response',
      created_at: plan.createdAt,
      completed_at: null,
      status: 'completed',
      error: null,
      incomplete_details: null,
      model: 'gpt-5-mini',
      provider: 'a',
      output: [
        {
          type: 'reasoning',
          id: `rs_${plan.rid}_0`,
          summary: [{ type: 'summary_text', text: 'hm' }],
          encrypted_content: null,
        },
        {
          type: 'message',
          id: `msg_${plan.rid}_1`,
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'Grüße 🌍', annotations: [], logprobs: [] }],
        },
        {
          type: 'function_call',
          id: `fc_${plan.rid}_2`,
          call_id: 'c1',
          name: 'weather',
          arguments: '{"city":"Rome"}',
          status: 'completed',
        },
      ],
      usage: USAGE,
      background: false,
      frequency_penalty: 0,
      instructions: 'Be brief.',
      max_output_tokens: null,
      max_tool_calls: null,
      metadata: { a: 'b' },
      parallel_tool_calls: true,
      presence_penalty: 0,
      previous_response_id: null,
      prompt_cache_key: null,
      reasoning: { effort: null, summary: null },
      safety_identifier: null,
      service_tier: 'default',
      store: false,
      temperature: 1,
      text: { format: { type: 'text' } },
      tool_choice: 'auto',
      tools: [TOOL],
      top_logprobs: 0,
      top_p: 1,
      truncation: 'disabled',
      user: null,
    })
    expect(decoder.ending()).toMatchObject({
      finishReason: 'tool_calls',
      reported: { inputTokens: 12, outputTokens: 6 },
    })
  })

  it('repeats the request with every member that clients require', () => {
    const { strict: _, ...loose } = TOOL
    const bare = { type: 'function', name: 'bare', strict: null }
    const custom = { type: 'custom', name: 'patch' }
    const format = { type: 'json_schema', schema: { type: 'object' } }
    const body = { ...GOOD, tools: [loose, TOOL, bare, custom], truncation: 'auto', text: { format } }
    const { decoder } = decodeWhole(CHAT_WHOLE, OPENAI, [], body)
    const { tools, truncation, text } = JSON.parse(decoder.finish(RECEIPT))
    expect(tools).toEqual([{ ...loose, strict: false }, TOOL, { ...bare, parameters: null, strict: false }, custom])
    expect([truncation, text.format]).toEqual(['auto', { name: 'answer', ...format }])
  })

  it('is the same from a seller of the messages protocol, with its thought sealed on request', () => {
    const body = { ...GOOD, include: ['reasoning.encrypted_content'] }
    const chat = decodeWhole(CHAT_WHOLE, OPENAI)
    const other = decodeWhole(MESSAGES_WHOLE, { ...MESSAGES, rid: chat.plan.rid }, [], body)
    const [first, ...rest] = JSON.parse(other.decoder.finish(RECEIPT)).output
    const [thought, ...others] = JSON.parse(chat.decoder.finish(RECEIPT)).output
    expect(rest).toEqual(others)
    expect(first).toEqual({
      ...thought,
      encrypted_content: buildPlan().seal.close('a', { kind: 'signature', text: 'abc' }),
    })
  })

  it('is the same wherever its bytes are cut', () => {
    for (const [text, plan] of [
      [CHAT_WHOLE, OPENAI],
      [MESSAGES_WHOLE, MESSAGES],
    ] as const) {
      for (let cut = 1; cut < Buffer.byteLength(text); cut++) {
        const { output } = JSON.parse(decodeWhole(text, plan, [cut]).decoder.finish(RECEIPT))
        expect(output[1].content[0].text, `cut at ${cut}`).toBe('Grüße 🌍')
        expect(JSON.parse(output[2].arguments)).toEqual({ city: 'Rome' })
      }
    }
  })

  it.each([
    ['length', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
  ])('that ended by %s is incomplete', (reason, word) => {
    const text = JSON.stringify({ choices: [{ message: { content: 'half' }, finish_reason: reason }] })
    const whole = JSON.parse(decodeWhole(text, OPENAI).decoder.finish(RECEIPT))
    expect(whole).toMatchObject({ status: 'incomplete', incomplete_details: { reason: word } })
    expect(whole.output[0].status).toBe('incomplete')
  })

  it('shows where the buyer’s own ceiling has ended it', () => {
    const text = JSON.stringify({ choices: [{ message: { content: 'half' }, finish_reason: 'length' }] })
    const { decoder } = decodeWhole(text, { ...OPENAI, isCeilingBound: true })
    expect(JSON.parse(decoder.finish(RECEIPT)).incomplete_details).toEqual({
      reason: 'max_output_tokens',
      native_finish_reason: 'cost_ceiling_reached',
    })
    expect(decoder.ending().finishReason).toBe('cost_ceiling_reached')
  })

  it.each([
    ['an error inside', '{"error":{"message":"no","code":429}}', 'error'],
    ['a web page', '<html></html>', 'malformed'],
    ['great depth', `{"choices":${'['.repeat(100_000)}`, 'malformed'],
    ['no choices', '{"choices":[]}', 'malformed'],
  ])('is malformed with %s', (_name, text, kind) => {
    expect(decodeWhole(text, OPENAI).decoder.failure()?.kind).toBe(kind)
  })

  it('has refusals as parts of their own, and an empty object for calls without arguments', () => {
    const message = { refusal: 'I will not.', tool_calls: [{ id: 'c', function: { name: 'f' } }] }
    const text = JSON.stringify({ choices: [{ message, finish_reason: 'stop' }] })
    const { output } = JSON.parse(decodeWhole(text, OPENAI).decoder.finish(RECEIPT))
    expect(output[0].content).toEqual([{ type: 'refusal', refusal: 'I will not.' }])
    expect(output[1].arguments).toBe('{}')
  })
})
