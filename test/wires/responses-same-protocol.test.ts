import { accumulateResponse } from 'openai/lib/responses/ResponseAccumulator'
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses'
import { describe, expect, it } from 'vitest'
import type { ModelPlan, Receipt } from '#data-plane/call.ts'
import { makerOf } from '#data-plane/wires/maker-of.ts'
import { responses } from '#data-plane/wires/responses/index.ts'
import { withSeal } from '#data-plane/wires/turn-seal.ts'
import { microUsd } from '#shared/money.ts'
import { encryptedDetail } from '#shared/protocols/responses-form.ts'
import { buildModel, buildPlan, buildRaw, buildTarget } from '#test/support/build-market.ts'
import { dataOf, decodePieces, messagesEvent, offerOf } from '#test/support/wire-bytes.ts'

const SOLD = ['responses', 'azureresponses'] as const
const RECEIPT: Receipt = {
  chargeMicro: microUsd(38),
  listMicro: microUsd(75),
  listInputMicro: microUsd(25),
  usage: { input: 12, output: 6 },
}
const model = buildModel({
  features: ['tools', 'reasoning', 'vision'],
  parameters: [...buildModel().parameters, 'reasoning_effort', 'verbosity', 'response_format'],
})

function planFor(apiFormat: (typeof SOLD)[number] = 'responses', given: Partial<ModelPlan> = {}): ModelPlan {
  const offer = offerOf({ apiFormat, providerModel: 'our-name' })
  return buildPlan({ offer, target: buildTarget(model), maxOutputTokens: 400, ...given })
}

const sent = (text: string, plan = planFor()) => responses.read(buildRaw(text)).encode(plan)

/** Members and tools of the buyer, with bytes that a reader and a writer of JSON would not keep. */
const INPUT =
  '[ {"role":"user", "content":[{"type":"input_text","text":"caf\\u00e9 \\/ 1"}]},' +
  '{"type":"local_shell_call","call_id":"c1","action":{"type":"exec","command":["ls"],"env":{},"n":12345678901234567890},"status":"completed"},' +
  '{"type":"local_shell_call_output","call_id":"c1","output":"a\\tb"},' +
  '{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"So.","annotations":[],"logprobs":[]}]},' +
  '{"role":"developer","content":"Be brief."}, {"role":"user","content":"on"} ]'
const TOOLS =
  '[{"type":"local_shell"}, {"type":"apply_patch"},{"type":"shell","environment":{"type":"local"}},' +
  '{"type":"namespace","name":"docs","description":"d","tools":[{"type":"function","name":"find","parameters":{"type":"object","x":1.50}}]},' +
  '{"type":"custom","name":"c","format":{"type":"grammar","syntax":"lark","definition":"start: /x/"}}]'

describe.each(SOLD)('a request to a seller of %s', (apiFormat) => {
  it('goes on byte for byte, under the seller’s name of the model', () => {
    const text = `{"model":"gpt-5-mini","provider":"a","input":${INPUT},"tools":${TOOLS},"tool_choice":{"type":"custom","name":"c"},"metadata":{"k":"\\u0041"},"max_tool_calls":3,"text":{"verbosity":"low"},"max_output_tokens":400,"prompt_cache_key":"k","store":true}`
    const { body, adaptedParams, path } = sent(text, planFor(apiFormat))
    expect(path).toBe('/responses')
    expect(adaptedParams).toEqual([])
    expect(body).toBe(
      `{"model":"our-name","input":[${INPUT.slice(1, -1)
        .trim()
        .replace(
          '}, {"role"',
          '},{"role"',
        )}],"tools":${TOOLS},"tool_choice":{"type":"custom","name":"c"},"metadata":{"k":"\\u0041"},"max_tool_calls":3,"text":{"verbosity":"low"},"prompt_cache_key":"k","max_output_tokens":400,"store":false,"include":["reasoning.encrypted_content"]}`,
    )
  })
})

describe('a request to a seller of responses', () => {
  it.each([
    { type: 'web_search' },
    { type: 'web_search_preview' },
    { type: 'file_search', vector_store_ids: ['v'] },
    { type: 'code_interpreter', container: { type: 'auto' } },
    { type: 'image_generation' },
    { type: 'mcp', server_label: 's', server_url: 'https://s.example' },
    { type: 'computer_use_preview' },
    { type: 'shell', environment: { type: 'container_auto' } },
    { type: 'shell' },
    { type: 'tool_search' },
    { type: 'later_tool' },
    { type: 'namespace', name: 'n', description: 'd', tools: [{ type: 'web_search' }] },
  ])('has no tool that runs at the provider: $type', (tool) => {
    const own = { type: 'function', name: 'f', parameters: { type: 'object' } }
    const ask = { model: 'gpt-5-mini', input: 'hi', tools: [own, tool], tool_choice: { type: tool.type } }
    const { body, adaptedParams } = sent(JSON.stringify(ask))
    expect(JSON.parse(body)).toMatchObject({ tools: [own] })
    expect(JSON.parse(body)).not.toHaveProperty('tool_choice')
    expect(adaptedParams).toEqual(expect.arrayContaining(['tools', 'tool_choice']))
    const added = [
      { role: 'user', content: 'hi' },
      { type: 'additional_tools', tools: [tool] },
    ]
    expect(sent(JSON.stringify({ model: 'gpt-5-mini', input: added })).body).not.toContain(`"${tool.type}"`)
  })

  it.each([
    ['local_shell_call_output', 'output'],
    ['apply_patch_call_output', 'output'],
    ['function_call', 'content'],
    ['message', 'output'],
  ])('has no parts of %s that were neither read nor counted', (type, member) => {
    const part = { type: 'input_file', file_url: 'https://a.example/a.pdf', prompt_cache_breakpoint: { ttl: '12h' } }
    const item = { call_id: 'c', name: 'f', arguments: '{}', role: 'user', content: 'hi', type, [member]: [part] }
    const { body } = sent(JSON.stringify({ model: 'gpt-5-mini', input: [{ role: 'user', content: 'hi' }, item] }))
    expect(body).not.toContain('prompt_cache_breakpoint')
  })

  it.each([
    [{ prompt_cache_breakpoint: { ttl: '12h' } }, 'prompt_cache_breakpoint'],
    [{ cache_control: { type: 'ephemeral', ttl: '1h' } }, 'cache_control'],
  ])('has no mark of a prompt cache that nobody pays for: %s', (mark, name) => {
    const part = { type: 'input_text', text: 'hi', ...mark }
    const inputs = [
      [{ role: 'user', content: [part] }],
      [{ role: 'user', content: 'hi', ...mark }],
      [
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: [part] },
      ],
    ]
    for (const input of inputs) expect(sent(JSON.stringify({ model: 'gpt-5-mini', input })).body).not.toContain(name)
    const tools = [{ type: 'function', name: 'f', parameters: { type: 'object' }, ...mark }]
    expect(sent(JSON.stringify({ model: 'gpt-5-mini', input: 'hi', tools })).body).not.toContain(name)
  })

  it.each([
    ['shell_call', { call_id: 'c', action: { commands: ['ls'] }, environment: { type: 'container_reference' } }],
    ['web_search_call', { id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } }],
    ['mcp_list_tools', { id: 'mcpl_1', server_label: 's', tools: [] }],
    ['item_reference', { id: 'rs_1' }],
  ])('has no item of what runs or is kept at the provider: %s', (type, members) => {
    const input = [
      { role: 'user', content: 'hi' },
      { type, ...members },
    ]
    const { body } = sent(JSON.stringify({ model: 'gpt-5-mini', input }))
    expect(body).not.toMatch(/container_reference|web_search_call|mcp_list_tools|item_reference/)
  })

  it('has no part and no member of a part that the provider would refuse', () => {
    const chats = [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }]
    const { body } = sent(JSON.stringify({ model: 'gpt-5-mini', input: chats }))
    expect(dataOf(JSON.parse(body), 'input', '0', 'content')).not.toMatchObject([{ type: 'text' }])
    const part = { type: 'output_text', text: 'So.', annotations: [], logprobs: [] }
    const message = { type: 'message', role: 'assistant', content: [{ ...part, parsed: { a: 1 } }] }
    const input = [message, { role: 'user', content: 'on' }]
    expect(JSON.parse(sent(JSON.stringify({ model: 'gpt-5-mini', input })).body)).toMatchObject({
      input: [{ type: 'message', role: 'assistant', content: [part] }, input[1]],
    })
    expect(sent(JSON.stringify({ model: 'gpt-5-mini', input })).body).not.toContain('parsed')
  })

  it('has the output limit of its plan, which is below the buyer’s', () => {
    const { body, adaptedParams } = sent('{"model":"gpt-5-mini","input":"hi","max_output_tokens":9000}')
    expect(body.match(/max_output_tokens":\d+/g)).toEqual(['max_output_tokens":400'])
    expect(adaptedParams).toEqual(['max_output_tokens'])
  })

  it.each([
    ['priority', 'priority'],
    ['scale', undefined],
    ['auto', undefined],
  ])('has a tier only where its price is known: %s', (tier, heard) => {
    const { body } = sent(JSON.stringify({ model: 'gpt-5-mini', input: 'hi', service_tier: tier }))
    expect(JSON.parse(body).service_tier).toBe(heard)
  })

  it('has no seal of another maker in the id of a call', () => {
    const plan = planFor()
    const callId = withSeal('c1', plan.seal.close('another', { kind: 'call', members: { secret: 'sig' } }))
    const input = [
      { type: 'function_call', call_id: callId, name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: callId, output: 'ok' },
    ]
    const { body, adaptedParams } = sent(JSON.stringify({ model: 'gpt-5-mini', input, max_output_tokens: 400 }), plan)
    expect(JSON.parse(body)).toMatchObject({ input: [{ call_id: 'c1' }, { call_id: 'c1' }] })
    expect(adaptedParams).toEqual(['input.function_call'])
  })

  it('leaves out and names what nobody knows, unless the seller allows it', () => {
    const text = JSON.stringify({
      model: 'gpt-5-mini',
      input: 'hi',
      later: { a: 1 },
      seed: 5,
      truncation: 'auto',
      max_output_tokens: 400,
    })
    const { body, adaptedParams } = sent(text)
    expect(JSON.parse(body)).not.toHaveProperty('later')
    expect(adaptedParams).toEqual(['later', 'seed', 'truncation'])
    const offer = offerOf({ apiFormat: 'responses', passes: ['unknown'] })
    const allowed = sent(text, planFor('responses', { offer }))
    expect(JSON.parse(allowed.body)).toMatchObject({ later: { a: 1 } })
    expect(allowed.adaptedParams).toEqual(['seed', 'truncation'])
  })

  it('has the thoughts of its own account as that has sealed them, and no other’s', () => {
    const plan = planFor()
    const seal = (maker: string) =>
      plan.seal.close(maker, { kind: 'thought', text: 't', details: [encryptedDetail('gAAA')] })
    const thought = (sealed: string) => ({ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: sealed })
    // A client adds what it has parsed to an item that it got.
    const bare = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
    const call = { ...bare, id: 'fc_1', parsed_arguments: {} }
    const output = { type: 'function_call_output', call_id: 'c', output: 'ok' }
    const ask = (sealed: string) => {
      const input = [{ role: 'user', content: 'hi' }, thought(sealed), call, output, thought(sealed)]
      return sent(JSON.stringify({ model: 'gpt-5-mini', input, max_output_tokens: 400 }), plan)
    }
    const own = ask(seal(makerOf(plan.offer)))
    expect(own.adaptedParams).toEqual([])
    expect(dataOf(JSON.parse(own.body), 'input')).toEqual([
      { role: 'user', content: 'hi' },
      { type: 'reasoning', summary: [], encrypted_content: 'gAAA' },
      bare,
      output,
    ])
    for (const foreign of [seal('another'), 'gAAAA-of-somebody']) {
      const { body, adaptedParams } = ask(foreign)
      expect(body).not.toContain('"reasoning","')
      expect(adaptedParams).toEqual(['input.reasoning'])
    }
  })
})

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

/** The output as its buyer gets it: the maker's, with the thought sealed. */
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
  it('is the seller’s own, whole, under our names and with its cost', () => {
    const plan = planFor()
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
    const plan = planFor()
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

  it('holds everything until its first content, so that another seller may take over', () => {
    const decoder = decoderFor(true, planFor())
    expect(decoder.push(Buffer.from(OPENING))).toBe('')
    expect(decoder.contentPieces()).toBe(0)
    expect(
      eventsIn(String(decoder.push(Buffer.from(TALK))))
        .map(({ type }) => type)
        .slice(0, 3),
    ).toEqual(['response.created', 'response.in_progress', 'response.output_item.added'])
    expect(decoder.contentPieces()).toBeGreaterThan(0)
  })

  it('that has nothing but a call of the buyer’s shell is content', () => {
    const decoder = decoderFor(true, planFor())
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
    const decoder = decoderFor(true, planFor())
    const out = decodePieces(decoder, events + event('completed', { response: { ...RESPONSE, output } }), [])
    expect([decoder.failure(), decoder.contentPieces() >= pieces]).toEqual([undefined, true])
    const last = eventsIn(out + decoder.finish(RECEIPT)).at(-1)
    expect(dataOf(last, 'response', 'output')).toEqual(output)
  })

  it('that is whole leaves no item open', () => {
    const decoder = decoderFor(true, planFor())
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
  ])('is none where the buyer’s client could not read an item: %j', (item) => {
    const streamed = decoderFor(true, planFor())
    const frames = event('output_item.added', { output_index: 0, item })
    expect([streamed.push(Buffer.from(frames)), streamed.failure()]).toMatchObject(['', { kind: 'malformed' }])
    const whole = decoderFor(false, planFor())
    decodePieces(whole, JSON.stringify({ ...RESPONSE, output: [item] }), [])
    expect(whole.failure()).toMatchObject({ kind: 'malformed' })
  })

  it.each(['failed', 'cancelled'])('is none where the response has %s without an error', (status) => {
    const response = { ...RESPONSE, status, output: [] }
    for (const bytes of [event('failed', { response }), event('completed', { response })]) {
      const decoder = decoderFor(true, planFor())
      decodePieces(decoder, bytes, [])
      expect(decoder.failure()).toMatchObject({ kind: 'error', status: 502 })
    }
  })

  it('that is stopped ends with what was said, incomplete', () => {
    const decoder = decoderFor(true, planFor())
    const out = decoder.push(Buffer.from(OPENING + TALK))
    decoder.stop()
    const last = lastOf(eventsIn(out + decoder.finish(RECEIPT)))
    expect(last).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
    expect(last?.output[1]).toMatchObject({ type: 'message', status: 'incomplete', content: [{ text: 'Grüße ' }] })
  })

  it('that comes in the other form is written in the form that was asked for', () => {
    const plan = planFor()
    const streamed = decoderFor(true, plan)
    const events = eventsIn(decodePieces(streamed, JSON.stringify(RESPONSE), []) + streamed.finish(RECEIPT))
    expect(lastOf(events)).toMatchObject({ status: 'completed', output_text: 'Grüße 🌍' })
    const whole = decoderFor(false, plan)
    decodePieces(whole, OPENING + TALK + REST, [])
    expect(JSON.parse(whole.finish(RECEIPT)).output.at(-1)).toMatchObject({ content: [{ text: 'Grüße 🌍' }] })
  })
})
