import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chat } from '#data-plane/wires/chat/index.ts'
import { messages } from '#data-plane/wires/messages/index.ts'
import { responses } from '#data-plane/wires/responses/index.ts'
import type { ModelWire } from '#data-plane/wires/wire.ts'
import { sellerName } from '#shared/protocols/middle-form/tool-origin.ts'
import { buildModel, buildPlan, buildRaw, buildTarget } from '#test/support/bytes/build-market.ts'
import { hearOnWire } from '#test/support/bytes/heard-on-wire.ts'
import { chatFrame, dataOf, offerOf } from '#test/support/bytes/wire-bytes.ts'

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

/** A call of a tool without arguments, as a chat seller sends it. */
function chatCall(name: string, isStreamed: boolean): string {
  const call = { id: 'call_a', type: 'function', function: { name, arguments: '{}' } }
  const message = { role: 'assistant', tool_calls: [call] }
  if (!isStreamed) return JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] })
  return `${chatFrame({ delta: { tool_calls: [{ index: 0, ...call }] } })}${chatFrame({ delta: {}, finish_reason: 'tool_calls' })}data: [DONE]\n\n`
}

/** The same call as Claude sends it. */
function claudeCall(name: string, isStreamed: boolean): string {
  const message = {
    id: 'msg_a',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    usage: { input_tokens: 1, output_tokens: 1 },
  }
  const block = { type: 'tool_use', id: 'toolu_a', name, input: {} }
  if (!isStreamed) return JSON.stringify({ ...message, content: [block], stop_reason: 'tool_use' })
  const events = [
    { type: 'message_start', message: { ...message, content: [] } },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ]
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
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

  it('a tool that waits to be found is loaded where the search is left out', () => {
    const search = { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' }
    const deferred = { name: 'f', input_schema: { type: 'object' }, defer_loading: true }
    for (const tools of [[search, deferred], [deferred]]) {
      const { sent, adaptedParams } = encoded(messages, { messages: [USER], max_tokens: 50, tools }, CLAUDE)
      expect(dataOf(sent, 'tools')).toEqual([{ name: 'f', input_schema: { type: 'object' } }])
      expect(adaptedParams).toContain('tools.defer_loading')
    }
  })

  it('results of calls come together and first', () => {
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

  it('keeps names that every seller accepts, and replaces others with a fixed one', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 90, unit: 'binary' }), (name) => {
        const known = sellerName(name)
        expect(sellerName(known)).toBe(known)
        if (name !== '') expect(known).toMatch(/^[a-zA-Z_][\w-]{0,63}$/)
      }),
    )
    expect(sellerName('get_weather-2')).toBe('get_weather-2')
    expect(sellerName('2fa.send')).toMatch(/^_2fa_send_[0-9a-f]{8}$/)
  })

  const OBJECT = { type: 'object' }
  const CALLED = [`mcp__${'server_'.repeat(9)}_get_weather`, '2fa_send', 'files.read']
  const WISHES = {
    messages: { tool: (name: string) => ({ name, input_schema: OBJECT }), ask: { messages: [USER], max_tokens: 50 } },
    responses: {
      tool: (name: string) => ({ type: 'function', name, parameters: OBJECT, strict: false }),
      ask: { input: 'hi' },
    },
    chat: {
      tool: (name: string) => ({ type: 'function', function: { name, parameters: OBJECT } }),
      ask: { messages: [USER] },
    },
  }
  const named = (['messages', 'responses', 'chat'] as const).flatMap((wire) => CALLED.map((name) => ({ wire, name })))
  it.each(named)('$name has a name that sellers accept and returns unchanged on $wire', ({ wire, name }) => {
    const { tool, ask } = WISHES[wire]
    const choice = {
      messages: { type: 'tool', name },
      responses: { type: 'function', name },
      chat: { type: 'function', function: { name } },
    }
    const request = { ...ask, tools: [tool(name)], tool_choice: choice[wire] }
    const isChat = wire === 'chat'
    const plan = isChat ? CLAUDE : OPENAI
    const { sent, adaptedParams } = encoded({ messages, responses, chat }[wire], request, plan)
    const inner = isChat ? [] : ['function']
    const short = String(dataOf(sent, 'tools', '0', ...inner, 'name'))
    expect(short).toMatch(/^[a-zA-Z_][\w-]{0,63}$/)
    expect(dataOf(sent, 'tool_choice', ...inner, 'name')).toBe(short)
    expect(adaptedParams).toContain('tools.name')
    for (const isStreamed of [false, true]) {
      const bytes = isChat ? claudeCall(short, isStreamed) : chatCall(short, isStreamed)
      expect(hearOnWire(wire, isStreamed, bytes, { request, plan }).calls).toMatchObject([{ name }])
    }
  })
})
