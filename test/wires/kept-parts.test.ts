import { describe, expect, it } from 'vitest'
import { chat } from '#data-plane/wires/chat/index.ts'
import { messages } from '#data-plane/wires/messages/index.ts'
import { createTurnSeal, splitId } from '#data-plane/wires/turn-seal.ts'
import { Secret } from '#shared/secret.ts'
import { buildPlan, buildRaw } from '#test/support/bytes/build-market.ts'
import type { HeardOnWire, WireName } from '#test/support/bytes/heard-on-wire.ts'
import { hearOnWire, WIRE_NAMES, WIRES } from '#test/support/bytes/heard-on-wire.ts'
import { chatFrame, dataOf, messagesEvent, offerOf } from '#test/support/bytes/wire-bytes.ts'

const EXTRA = { extra_content: { google: { thought_signature: 'c2lnbmF0dXJl+/=' } } }
const CALL = { id: 'call_a', type: 'function', function: { name: 'f', arguments: '{"a":1}' }, ...EXTRA }
const DETAIL = { type: 'reasoning.encrypted', data: 'ZW5j', id: 'rs_1', format: 'google-gemini-v1', index: 0 }
const ANSWER = {
  whole: (message: object) =>
    JSON.stringify({
      choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: 'tool_calls' }],
    }),
  streamed: ({
    tool_calls: calls,
    ...thoughts
  }: {
    readonly tool_calls: readonly object[]
    readonly [name: string]: unknown
  }) =>
    Object.entries(thoughts)
      .map(([name, value]) => chatFrame({ delta: { [name]: value } }))
      .join('') +
    chatFrame({ delta: { tool_calls: calls.map((call, index) => ({ index, ...call })) } }) +
    chatFrame({ delta: {}, finish_reason: 'tool_calls' }) +
    'data: [DONE]\n\n',
}
const ASK = {
  chat: {},
  messages: {},
  responses: { store: false, include: ['reasoning.encrypted_content'] },
} as const

/** The second turn's request, built by a client from the answer. */
function nextRequest(wire: WireName, { turn, calls }: HeardOnWire): object {
  const id = calls[0]?.id ?? ''
  const { ask } = WIRES[wire]
  const base = { model: 'gpt-5-mini', ...ask }
  switch (wire) {
    case 'chat':
      return {
        ...base,
        messages: [{ role: 'user', content: 'hi' }, turn, { role: 'tool', tool_call_id: id, content: 'ok' }],
      }
    case 'messages': {
      const result = { type: 'tool_result', tool_use_id: id, content: 'ok' }
      return { ...base, messages: [{ role: 'user', content: 'hi' }, turn, { role: 'user', content: [result] }] }
    }
    case 'responses': {
      const items = Array.isArray(turn) ? turn : []
      return {
        ...base,
        ...ASK.responses,
        input: [{ role: 'user', content: 'hi' }, ...items, { type: 'function_call_output', call_id: id, output: 'ok' }],
      }
    }
  }
}

function sentNext(wire: WireName, heard: HeardOnWire, plan = buildPlan()) {
  const { body, adaptedParams } = WIRES[wire].wire.read(buildRaw(JSON.stringify(nextRequest(wire, heard)))).encode(plan)
  const sent: unknown = JSON.parse(body)
  const turns = dataOf(sent, 'messages')
  const all: readonly unknown[] = Array.isArray(turns) ? turns : []
  return {
    body,
    adaptedParams,
    assistant: all.find((turn) => dataOf(turn, 'role') === 'assistant'),
    result: all.find((turn) => dataOf(turn, 'role') === 'tool'),
  }
}

const FORMS = [
  ['whole', false],
  ['streamed', true],
] as const
const WAYS = WIRE_NAMES.flatMap((wire) => FORMS.map(([form, isStreamed]) => [wire, form, isStreamed] as const))

describe('parts of an answer that the provider expects back', () => {
  it.each(WAYS)('include a call’s own members on the %s wire, %s', (wire, form, isStreamed) => {
    const heard = hearOnWire(wire, isStreamed, ANSWER[form]({ tool_calls: [CALL] }), { request: ASK[wire] })
    const { assistant, result, adaptedParams } = sentNext(wire, heard)
    expect(dataOf(assistant, 'tool_calls', '0')).toMatchObject({ ...CALL })
    expect(dataOf(result, 'tool_call_id')).toBe('call_a')
    expect(adaptedParams.filter((name) => /tool_use|function_call/.test(name))).toEqual([])
  })

  it.each(WAYS)('include thoughts, under their original member, on the %s wire, %s', (wire, form, isStreamed) => {
    for (const member of ['reasoning_content', 'reasoning']) {
      const { extra_content: _, ...call } = CALL
      const bytes = ANSWER[form]({ [member]: 'hm', tool_calls: [call] })
      const heard = hearOnWire(wire, isStreamed, bytes, { request: ASK[wire] })
      expect(heard.calls).toMatchObject([{ id: 'call_a', name: 'f' }])
      expect(dataOf(sentNext(wire, heard).assistant, member)).toBe('hm')
    }
  })

  it.each(WAYS)('include encrypted details on the %s wire, %s', (wire, form, isStreamed) => {
    const bytes = ANSWER[form]({ reasoning_details: [DETAIL], tool_calls: [CALL] })
    const heard = hearOnWire(wire, isStreamed, bytes, { request: ASK[wire] })
    expect(dataOf(sentNext(wire, heard).assistant, 'reasoning_details')).toEqual([DETAIL])
  })

  it.each(FORMS)('include thoughts on responses although the client keeps no summary, %s', (form, isStreamed) => {
    const bytes = ANSWER[form]({ reasoning_content: 'hm', tool_calls: [CALL] })
    const heard = hearOnWire('responses', isStreamed, bytes, { request: ASK.responses })
    const items = (Array.isArray(heard.turn) ? heard.turn : []).map((item) =>
      dataOf(item, 'type') === 'reasoning' ? { ...Object(item), summary: [] } : item,
    )
    expect(dataOf(sentNext('responses', { ...heard, turn: items }).assistant, 'reasoning_content')).toBe('hm')
  })

  it('are dropped and named at another provider, and with a foreign seal, and the call goes on', () => {
    const foreign = createTurnSeal(new Secret('another')).close('a', { kind: 'call', members: EXTRA })
    const other = buildPlan({ offer: offerOf({ provider: 'b' }) })
    for (const wire of ['messages', 'responses'] as const) {
      const heard = hearOnWire(wire, false, ANSWER.whole({ reasoning_content: 'hm', tool_calls: [CALL] }), {
        request: ASK[wire],
      })
      const own = heard.calls[0]?.id ?? ''
      const replaced = (by: string): HeardOnWire => JSON.parse(JSON.stringify(heard).replaceAll(own, by))
      const broken = `${own.slice(0, -2)}${own.endsWith('AA') ? 'BB' : 'AA'}`
      for (const [plan, given] of [
        [other, heard],
        [buildPlan(), replaced(`call_a__${foreign}`)],
        [buildPlan(), replaced(broken)],
      ] as const) {
        const { assistant, result, adaptedParams } = sentNext(wire, given, plan)
        expect(dataOf(assistant, 'tool_calls', '0')).toEqual({
          id: 'call_a',
          type: 'function',
          function: CALL.function,
        })
        expect(dataOf(result, 'tool_call_id')).toBe('call_a')
        expect(adaptedParams).toContain(wire === 'messages' ? 'messages.tool_use' : 'input.function_call')
      }
    }
  })

  it('are left out for a seller of the messages protocol, and everything else stays unchanged', () => {
    const heard = hearOnWire('messages', true, ANSWER.streamed({ reasoning_content: 'hm', tool_calls: [CALL] }))
    const text = JSON.stringify(nextRequest('messages', heard)).replace('"a":1', '"a": 1234567890123456789.0')
    const plan = buildPlan({ offer: offerOf({ apiFormat: 'messages' }) })
    const { body, adaptedParams } = messages.read(buildRaw(text)).encode(plan)
    expect(body).toContain('{"type":"tool_use","id":"call_a","name":"f","input":{"a": 1234567890123456789.0}}')
    expect(body).toContain('"tool_use_id":"call_a"')
    expect(body).not.toContain('mkt1_')
    expect(adaptedParams).toContain('messages.redacted_thinking')
  })
})

describe('thoughts of a seller of the messages protocol on the chat wire', () => {
  const delta = (index: number, value: object) => messagesEvent({ type: 'content_block_delta', index, delta: value })
  const stream =
    messagesEvent({ type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } }) +
    delta(0, { type: 'thinking_delta', thinking: 'h' }) +
    delta(0, { type: 'thinking_delta', thinking: 'm' }) +
    delta(0, { type: 'signature_delta', signature: 'sig' }) +
    messagesEvent({ type: 'content_block_stop', index: 0 }) +
    messagesEvent({
      type: 'content_block_start',
      index: 1,
      content_block: { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} },
    }) +
    messagesEvent({ type: 'content_block_stop', index: 1 }) +
    messagesEvent({ type: 'message_delta', delta: { stop_reason: 'tool_use' } }) +
    messagesEvent({ type: 'message_stop' })

  it('are one signed thought again when their streamed pieces return, and thinking stays on', () => {
    const plan = buildPlan({ offer: offerOf({ apiFormat: 'messages' }), maxOutputTokens: 10_000 })
    const heard = hearOnWire('chat', true, stream, { plan })
    expect(dataOf(heard.turn, 'reasoning_details')).toHaveLength(3)
    const request = { ...nextRequest('chat', heard), reasoning_effort: 'low', max_tokens: 10_000 }
    const thinking = { ...plan, target: { ...plan.target, model: { ...plan.target.model, features: ['reasoning'] } } }
    const { body } = chat.read(buildRaw(JSON.stringify(request))).encode(thinking)
    expect(dataOf(JSON.parse(body), 'messages', '1', 'content', '0')).toEqual({
      type: 'thinking',
      thinking: 'hm',
      signature: 'sig',
    })
    expect(dataOf(JSON.parse(body), 'thinking', 'type')).toBe('enabled')
  })
})

describe('a seal', () => {
  const seal = createTurnSeal(new Secret('test'))

  it('contains its parts, in characters that an id may have', () => {
    const content = { kind: 'thought' as const, text: 'Grüße 🌍'.repeat(1_000), member: 'reasoning' }
    const closed = seal.close('a', content)
    expect(closed).toMatch(/^[\w-]+$/)
    expect(seal.open(closed)).toEqual({ maker: 'a', content })
    expect(splitId(`call_a__${closed}`)).toEqual({ id: 'call_a', seal: closed })
  })

  it('opens no text that was changed, cut or made elsewhere', () => {
    const closed = seal.close('a', { kind: 'redacted', text: 'x' })
    const others = ['', 'mkt1_', 'mkt1_AAAA', 'sig.abc', closed.slice(0, -1), `mkt1_${'A'.repeat(5_000_000)}`]
    for (const text of others) expect(seal.open(text)).toBeUndefined()
  })
})
