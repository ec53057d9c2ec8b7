import { describe, expect, it } from 'vitest'
import { chat } from '#data-plane/wires/chat/index.ts'
import { messages } from '#data-plane/wires/messages/index.ts'
import { responses } from '#data-plane/wires/responses/index.ts'
import type { ModelWire } from '#data-plane/wires/wire.ts'
import { buildModel, buildPlan, buildRaw, buildTarget } from '#test/support/build-market.ts'
import { hearOnWire } from '#test/support/heard-on-wire.ts'
import { chatFrame, dataOf, offerOf } from '#test/support/wire-bytes.ts'

const ANY = buildTarget(buildModel({ parameters: [] }))
const OPENAI = buildPlan({ target: ANY })
const CLAUDE = buildPlan({ target: ANY, offer: offerOf({ apiFormat: 'messages' }) })
const USER = { role: 'user', content: 'hi' }

function encoded(wire: ModelWire, body: object, plan = OPENAI) {
  const { body: text, adaptedParams } = wire
    .read(buildRaw(JSON.stringify({ model: 'gpt-5-mini', ...body })))
    .encode(plan)
  const sent: unknown = JSON.parse(text)
  return { sent, adaptedParams }
}

describe('rules of the other protocol', () => {
  it('temperature goes to Claude without top_p, which is named', () => {
    for (const [wire, ask] of [
      [chat, { messages: [USER] }],
      [responses, { input: 'hi' }],
    ] as const) {
      const both = encoded(wire, { ...ask, temperature: 0.5, top_p: 0.9 }, CLAUDE)
      expect([dataOf(both.sent, 'temperature'), dataOf(both.sent, 'top_p')]).toEqual([0.5, undefined])
      expect(both.adaptedParams).toContain('top_p')
      const one = encoded(wire, { ...ask, top_p: 0.9 }, CLAUDE)
      expect(dataOf(one.sent, 'top_p')).toBe(0.9)
      expect(one.adaptedParams).not.toContain('top_p')
    }
  })

  it('strict tools stay strict, or are named', () => {
    const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object' }, strict: true } }
    expect(encoded(chat, { messages: [USER], tools: [tool] }, CLAUDE).adaptedParams).toContain('tools.strict')
    const described = { name: 'f', input_schema: { type: 'object' }, strict: true }
    const { sent } = encoded(messages, { messages: [USER], max_tokens: 50, tools: [described] })
    expect(dataOf(sent, 'tools', '0', 'function', 'strict')).toBe(true)
  })

  it('no tool waits to be found where the search goes', () => {
    const search = { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' }
    const deferred = { name: 'f', input_schema: { type: 'object' }, defer_loading: true }
    for (const tools of [[search, deferred], [deferred]]) {
      const { sent, adaptedParams } = encoded(messages, { messages: [USER], max_tokens: 50, tools }, CLAUDE)
      expect(dataOf(sent, 'tools')).toEqual([{ name: 'f', input_schema: { type: 'object' } }])
      expect(adaptedParams).toContain('tools.defer_loading')
    }
  })

  it('results of calls stand together and first', () => {
    const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' })
    const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: id })
    const input = [USER, call('a'), call('b'), output('a'), { role: 'user', content: 'wait' }, output('b')]
    const { sent } = encoded(responses, { input })
    const turns = dataOf(sent, 'messages')
    const roles = (Array.isArray(turns) ? turns : []).map(
      (turn) => dataOf(turn, 'tool_call_id') ?? dataOf(turn, 'role'),
    )
    expect(roles).toEqual(['user', 'assistant', 'a', 'b', 'user'])
    const calls = ['a', 'b'].map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } }))
    const chatted = [
      USER,
      { role: 'assistant', content: null, tool_calls: calls },
      { role: 'tool', tool_call_id: 'a', content: 'a' },
      { role: 'user', content: 'wait' },
      { role: 'tool', tool_call_id: 'b', content: 'b' },
    ]
    const claude = encoded(chat, { messages: chatted }, CLAUDE).sent
    const blocks = dataOf(claude, 'messages', '2', 'content')
    expect((Array.isArray(blocks) ? blocks : []).map((block) => dataOf(block, 'tool_use_id') ?? 'text')).toEqual([
      'a',
      'b',
      'text',
    ])
  })

  it.each(['messages', 'responses'] as const)('long names of tools are shortened and come back on %s', (wire) => {
    const name = `mcp__${'server_'.repeat(9)}_get_weather`
    const tool =
      wire === 'messages'
        ? { name, input_schema: { type: 'object' } }
        : { type: 'function', name, parameters: { type: 'object' }, strict: false }
    const choice = wire === 'messages' ? { type: 'tool', name } : { type: 'function', name }
    const ask = wire === 'messages' ? { messages: [USER], max_tokens: 50 } : { input: 'hi' }
    const asked = { ...ask, tools: [tool], tool_choice: choice }
    const { sent, adaptedParams } = encoded(wire === 'messages' ? messages : responses, asked)
    const short = String(dataOf(sent, 'tools', '0', 'function', 'name'))
    expect(short).toMatch(/^[\w-]{1,64}$/)
    expect(dataOf(sent, 'tool_choice', 'function', 'name')).toBe(short)
    expect(adaptedParams).toContain('tools.name')
    const call = { id: 'call_a', type: 'function', function: { name: short, arguments: '{}' } }
    const whole = {
      choices: [{ index: 0, message: { role: 'assistant', tool_calls: [call] }, finish_reason: 'tool_calls' }],
    }
    const streamed =
      chatFrame({ delta: { tool_calls: [{ index: 0, ...call }] } }) +
      chatFrame({ delta: {}, finish_reason: 'tool_calls' }) +
      'data: [DONE]\n\n'
    for (const [isStreamed, bytes] of [
      [false, JSON.stringify(whole)],
      [true, streamed],
    ] as const) {
      expect(hearOnWire(wire, isStreamed, bytes, { request: asked }).calls).toMatchObject([{ name }])
    }
  })
})
