import { accumulateResponse } from 'openai/lib/responses/ResponseAccumulator'
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses'
import { describe, expect, it } from 'vitest'
import type { ModelPlan, Receipt } from '#data-plane/call.ts'
import { makerOf } from '#data-plane/wires/maker-of.ts'
import { responses } from '#data-plane/wires/responses/index.ts'
import { microUsd } from '#shared/money.ts'
import { encryptedDetail } from '#shared/protocols/responses-form.ts'
import { buildRaw } from '#test/support/bytes/build-market.ts'
import { responsesPlan } from '#test/support/bytes/responses-plan.ts'
import { dataOf, decodePieces, messagesEvent } from '#test/support/bytes/wire-bytes.ts'

const RECEIPT: Receipt = {
  chargeMicro: microUsd(38),
  listMicro: microUsd(75),
  listInputMicro: microUsd(25),
  usage: { input: 12, output: 6 },
}
const ITEMS = [
  {
    id: 'rs_1',
    type: 'reasoning',
    summary: [
      { type: 'summary_text', text: 'One.' },
      { type: 'summary_text', text: 'Two.' },
    ],
    encrypted_content: 'gAAA',
  },
  {
    id: 'msg_1',
    type: 'message',
    status: 'completed',
    role: 'assistant',
    phase: 'commentary',
    content: [
      {
        type: 'output_text',
        text: 'Grüße 🌍',
        annotations: [{ type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 2, end_index: 5 }],
        logprobs: [],
      },
    ],
  },
  {
    id: 'lsh_1',
    type: 'local_shell_call',
    call_id: 'c1',
    action: { type: 'exec', command: ['ls'] },
    status: 'completed',
  },
] as const
const RESPONSE = {
  id: 'resp_theirs',
  object: 'response',
  created_at: 1,
  status: 'completed',
  error: null,
  incomplete_details: null,
  model: 'our-name-2026',
  output: ITEMS,
  usage: { input_tokens: 12, output_tokens: 6, total_tokens: 18 },
}
let number = 0
const event = (type: string, members: object) =>
  messagesEvent({ type: `response.${type}`, sequence_number: number++, ...members })
const summary = (at: number, text: string) => {
  const place = { item_id: 'rs_1', output_index: 0, summary_index: at }
  return (
    event('reasoning_summary_part.added', { ...place, part: { type: 'summary_text', text: '' } }) +
    event('reasoning_summary_text.delta', { ...place, delta: text, obfuscation: 'xyz' }) +
    event('reasoning_summary_text.done', { ...place, text }) +
    event('reasoning_summary_part.done', { ...place, part: { type: 'summary_text', text } })
  )
}
const said = { item_id: 'msg_1', output_index: 1, content_index: 0 }
const [THOUGHT, MESSAGE, SHELL] = ITEMS
const OPENING =
  event('created', { response: { ...RESPONSE, status: 'in_progress', output: [] } }) +
  event('output_item.added', { output_index: 0, item: { ...THOUGHT, summary: [], encrypted_content: 'gAAA' } })
const TALK =
  summary(0, 'One.') +
  summary(1, 'Two.') +
  event('output_item.done', { output_index: 0, item: THOUGHT }) +
  event('output_item.added', { output_index: 1, item: { ...MESSAGE, status: 'in_progress', content: [] } }) +
  event('content_part.added', { ...said, part: { type: 'output_text', text: '', annotations: [], logprobs: [] } }) +
  event('output_text.delta', { ...said, delta: 'Grüße ', logprobs: [] })
const REST =
  event('output_text.delta', { ...said, delta: '🌍', logprobs: [] }) +
  event('output_text.annotation.added', {
    ...said,
    annotation_index: 0,
    annotation: MESSAGE.content[0].annotations[0],
  }) +
  event('output_text.done', { ...said, text: 'Grüße 🌍', logprobs: [] }) +
  event('content_part.done', { ...said, part: MESSAGE.content[0] }) +
  event('output_item.done', { output_index: 1, item: MESSAGE }) +
  event('output_item.added', { output_index: 2, item: { ...SHELL, status: 'in_progress' } }) +
  event('output_item.done', { output_index: 2, item: SHELL }) +
  event('rate_limits.updated', { limits: {} }) +
  event('completed', { response: RESPONSE })

const ASK = {
  model: 'gpt-5-mini',
  input: 'hi',
  include: ['reasoning.encrypted_content'],
  tools: [{ type: 'local_shell' }],
}
const decoderFor = (isStreamed: boolean, plan: ModelPlan) =>
  responses.read(buildRaw(JSON.stringify({ ...ASK, stream: isStreamed }))).decoder(plan)

function eventsIn(text: string): ResponseStreamEvent[] {
  return text.split('\n\n').flatMap((frame) => {
    const data = /^data: (.*)$/m.exec(frame)?.[1]
    return data === undefined ? [] : [JSON.parse(data) as ResponseStreamEvent]
  })
}

function lastOf(events: readonly ResponseStreamEvent[]): Response | undefined {
  return events.reduce<Response | undefined>((whole, one) => accumulateResponse(one, whole), undefined)
}

/** The output that its buyer gets: the maker's, with the thought sealed. */
function expectOutput(output: unknown, plan: ModelPlan): void {
  const [thought, ...rest] = Array.isArray(output) ? output : []
  expect(rest).toEqual([MESSAGE, SHELL])
  expect(thought).toEqual({ ...THOUGHT, encrypted_content: expect.stringMatching(/^mkt1_/) })
  expect(plan.seal.open(String(dataOf(thought, 'encrypted_content')))).toEqual({
    maker: makerOf(plan.offer),
    content: { kind: 'thought', text: 'One.\n\nTwo.', details: [encryptedDetail('gAAA')] },
  })
}

describe('an answer of a seller of responses', () => {
  it("is the seller’s own, whole, with the market's names and its cost", () => {
    const plan = responsesPlan()
    const decoder = decoderFor(false, plan)
    decodePieces(decoder, JSON.stringify(RESPONSE), [])
    const body = JSON.parse(decoder.finish(RECEIPT))
    expect(body).toMatchObject({ id: `resp_${plan.rid}`, model: 'gpt-5-mini', status: 'completed', tools: ASK.tools })
    expect(body.usage).toMatchObject({ input_tokens: 12, output_tokens: 6, buyer_cost_micro: 38 })
    expectOutput(body.output, plan)
    expect(decoder.ending().contentBytes).toBeGreaterThan(0)
    expect(decoder.ending().reported).toMatchObject({ inputTokens: 12, outputTokens: 6 })
  })

  it('is the seller’s own, streamed, however its bytes are cut', () => {
    const plan = responsesPlan()
    const bytes = Buffer.from(OPENING + TALK + REST)
    const answer = (cuts: readonly number[]) => {
      const decoder = decoderFor(true, plan)
      const out = decodePieces(decoder, bytes, cuts)
      expect(decoder.failure()).toBeUndefined()
      expect(decoder.ending().reported).toMatchObject({ inputTokens: 12, outputTokens: 6 })
      return out + decoder.finish(RECEIPT)
    }
    const whole = answer([])
    for (let cut = 1; cut < bytes.length; cut += 7) expect(answer([cut])).toBe(whole)
    const events = eventsIn(whole)
    expect(events.map(({ sequence_number: at }) => at)).toEqual(events.map((_, at) => at))
    expect(whole).not.toMatch(/resp_theirs|our-name|gAAA|obfuscation|rate_limits/)
    expect(events.filter(({ type }) => type === 'response.reasoning_summary_part.added')).toHaveLength(2)
    expect(events.find(({ type }) => type === 'response.output_text.annotation.added')).toMatchObject({
      annotation: MESSAGE.content[0].annotations[0],
    })
    const last = lastOf(events)
    expect(last).toMatchObject({ id: `resp_${plan.rid}`, model: 'gpt-5-mini', status: 'completed' })
    expect(last?.usage).toMatchObject({ buyer_cost_micro: 38 })
    expectOutput(last?.output, plan)
  })

  it('is held until its first content, so that another seller may take over', () => {
    const decoder = decoderFor(true, responsesPlan())
    expect(decoder.push(Buffer.from(OPENING))).toBe('')
    expect(decoder.contentPieces()).toBe(0)
    expect(
      eventsIn(String(decoder.push(Buffer.from(TALK))))
        .map(({ type }) => type)
        .slice(0, 3),
    ).toEqual(['response.created', 'response.in_progress', 'response.output_item.added'])
    expect(decoder.contentPieces()).toBeGreaterThan(0)
  })

  it('with nothing but a call of the buyer’s shell has content', () => {
    const decoder = decoderFor(true, responsesPlan())
    const only = { output_index: 0, item: SHELL }
    const end = event('completed', { response: { ...RESPONSE, output: [SHELL] } })
    const out = decodePieces(decoder, event('output_item.added', only) + event('output_item.done', only) + end, [])
    expect([decoder.failure(), decoder.contentPieces()]).toEqual([undefined, 1])
    expect(lastOf(eventsIn(out + decoder.finish(RECEIPT)))?.output).toEqual([SHELL])
  })

  const call = (id: string) => ({
    id,
    type: 'function_call',
    status: 'completed',
    call_id: id,
    name: 'f',
    arguments: '{}',
  })
  const began = (at: number, id: string) =>
    event('output_item.added', { output_index: at, item: { ...call(id), status: 'in_progress', arguments: '' } })
  const ended = (at: number, id: string) => event('output_item.done', { output_index: at, item: call(id) })
  it.each([
    ['calls that end in another order', began(0, 'a') + began(1, 'b') + ended(1, 'b') + ended(0, 'a'), 2],
    ['calls of one place', began(0, 'a') + ended(0, 'a') + began(0, 'b') + ended(0, 'b'), 2],
    ['calls of one place that only end', ended(0, 'a') + ended(0, 'b'), 2],
    ['an opening with another output', event('created', { response: { ...RESPONSE, output: [SHELL] } }), 2],
  ])('has each item once and in its place, with %s', (_what, events, pieces) => {
    const output = [call('a'), call('b')]
    const decoder = decoderFor(true, responsesPlan())
    const out = decodePieces(decoder, events + event('completed', { response: { ...RESPONSE, output } }), [])
    expect([decoder.failure(), decoder.contentPieces() >= pieces]).toEqual([undefined, true])
    const last = eventsIn(out + decoder.finish(RECEIPT)).at(-1)
    expect(dataOf(last, 'response', 'output')).toEqual(output)
  })

  it('that is whole leaves no item open', () => {
    const decoder = decoderFor(true, responsesPlan())
    const added = event('output_item.added', {
      output_index: 0,
      item: { ...MESSAGE, status: 'in_progress', content: [] },
    })
    const spoken = event('output_text.delta', { ...said, output_index: 0, delta: 'Hi' })
    const out = decodePieces(
      decoder,
      added + spoken + event('completed', { response: { ...RESPONSE, output: [] } }),
      [],
    )
    const last = eventsIn(out + decoder.finish(RECEIPT)).at(-1)
    expect(dataOf(last, 'response', 'output', '0')).toMatchObject({
      type: 'message',
      status: 'completed',
      content: [{ text: 'Hi' }],
    })
  })

  it.each([
    { type: undefined },
    { type: 'message', content: 'So.' },
    { type: 'message', content: [{ type: 'output_text' }] },
    { type: 'message', content: [{ type: 'refusal' }] },
    { type: 'message', content: [{ type: 'output_text', text: 'So.', annotations: [null] }] },
    { type: 'function_call', call_id: 'c', arguments: '{}' },
    { type: 'custom_tool_call', call_id: 'c', name: 'f' },
    { type: 'reasoning' },
    { ...SHELL, id: 5 },
  ])('is malformed where the buyer’s client could not read an item: %j', (item) => {
    const streamed = decoderFor(true, responsesPlan())
    const frames = event('output_item.added', { output_index: 0, item })
    expect([streamed.push(Buffer.from(frames)), streamed.failure()]).toMatchObject(['', { kind: 'malformed' }])
    const whole = decoderFor(false, responsesPlan())
    decodePieces(whole, JSON.stringify({ ...RESPONSE, output: [item] }), [])
    expect(whole.failure()).toMatchObject({ kind: 'malformed' })
  })

  it.each(['failed', 'cancelled'])('is malformed where the response has %s without an error', (status) => {
    const response = { ...RESPONSE, status, output: [] }
    for (const bytes of [event('failed', { response }), event('completed', { response })]) {
      const decoder = decoderFor(true, responsesPlan())
      decodePieces(decoder, bytes, [])
      expect(decoder.failure()).toMatchObject({ kind: 'error', status: 502 })
    }
  })

  it('that is stopped ends with its delivered text, incomplete', () => {
    const decoder = decoderFor(true, responsesPlan())
    const out = decoder.push(Buffer.from(OPENING + TALK))
    decoder.stop()
    const last = lastOf(eventsIn(out + decoder.finish(RECEIPT)))
    expect(last).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
    expect(last?.output[1]).toMatchObject({ type: 'message', status: 'incomplete', content: [{ text: 'Grüße ' }] })
  })

  it('in the other form is written in the requested form', () => {
    const plan = responsesPlan()
    const streamed = decoderFor(true, plan)
    const events = eventsIn(decodePieces(streamed, JSON.stringify(RESPONSE), []) + streamed.finish(RECEIPT))
    expect(lastOf(events)).toMatchObject({ status: 'completed', output_text: 'Grüße 🌍' })
    const whole = decoderFor(false, plan)
    decodePieces(whole, OPENING + TALK + REST, [])
    expect(JSON.parse(whole.finish(RECEIPT)).output.at(-1)).toMatchObject({ content: [{ text: 'Grüße 🌍' }] })
  })
})
