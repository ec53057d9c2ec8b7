import { describe, expect, it } from 'vitest'
import { buildOffer } from '#test/support/bytes/build-market.ts'
import { eventsOf, RECEIPT, streamMessage, USAGE, wholeMessage } from '#test/support/bytes/message-answers.ts'
import { chatFrame } from '#test/support/bytes/wire-bytes.ts'

describe('a whole message', () => {
  const chatBody = (message: object, finish = 'stop') => ({
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }],
    usage: { prompt_tokens: 12, completion_tokens: 6 },
  })

  it('is written from a chat, character by character', () => {
    const tool_calls = [
      { id: 'c', type: 'function', function: { name: 'f', arguments: '{"a": 12345678901234567890}' } },
    ]
    const text = wholeMessage(chatBody({ content: 'So', reasoning_content: 'hm', tool_calls }, 'tool_calls')).finish(
      RECEIPT,
    )
    expect(text).toContain('"input":{"a": 12345678901234567890}')
    expect(JSON.parse(text)).toMatchObject({
      type: 'message',
      role: 'assistant',
      model: 'gpt-5-mini',
      content: [
        { type: 'text', text: 'So' },
        // The provider expects its thought back with the call.
        { type: 'redacted_thinking', data: expect.stringMatching(/^mkt1_/) },
        { type: 'tool_use', id: 'c', name: 'f' },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: USAGE,
    })
  })

  it('leaves out a call that was cut off with the answer, and writes {} for one without arguments', () => {
    const call = (args: string) => ({ tool_calls: [{ id: 'c', function: { name: 'f', arguments: args } }] })
    expect(JSON.parse(wholeMessage(chatBody(call('{"a"'), 'length')).finish(RECEIPT))).toMatchObject({
      content: [],
      stop_reason: 'max_tokens',
    })
    expect(JSON.parse(wholeMessage(chatBody(call(''), 'tool_calls')).finish(RECEIPT)).content).toEqual([
      { type: 'tool_use', id: 'c', name: 'f', input: {} },
    ])
  })

  it.each([
    ['one that is cut', ['{"a":'], [], 'max_tokens'],
    ['one without any of its input', [''], [], 'max_tokens'],
    ['one that is cut behind a complete one', ['{"a":1}', '{"b'], ['{"a":1}'], 'max_tokens'],
    ['a complete one', ['{"a":1}'], ['{"a":1}'], 'tool_use'],
    ['one without arguments before a complete one', ['', '{"a":1}'], ['{}', '{"a":1}'], 'tool_use'],
  ])('ends at the limit like a stream, with %s', (_name, inputs, shown, reason) => {
    const calls = inputs.map((args, index) => ({ index, id: `c${index}`, function: { name: 'f', arguments: args } }))
    const body = JSON.parse(wholeMessage(chatBody({ tool_calls: calls }, 'length')).finish(RECEIPT))
    expect(body.content.map((block: { input: object }) => JSON.stringify(block.input))).toEqual(shown)
    const frames = calls.map((call) => chatFrame({ delta: { tool_calls: [call] } })).join('')
    const streamed = streamMessage(`${frames}${chatFrame({ delta: {}, finish_reason: 'length' })}data: [DONE]\n\n`)
    const delta = eventsOf(streamed.whole()).find(({ type }) => type === 'message_delta')
    expect([body.stop_reason, delta?.['delta']]).toEqual([reason, { stop_reason: reason, stop_sequence: null }])
  })

  it('is written from a message with thoughts', () => {
    const content = [
      { type: 'thinking', thinking: 'hm', signature: 's' },
      { type: 'redacted_thinking', data: 'z' },
      { type: 'text', text: 'So' },
      { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } },
    ]
    const body = { type: 'message', content, stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 2 } }
    const decoder = wholeMessage(body, buildOffer({ apiFormat: 'messages' }))
    expect(JSON.parse(decoder.finish(RECEIPT))).toMatchObject({ content, stop_reason: 'tool_use' })
    const exact = JSON.stringify(body).replace('{"a":1}', '{"a" : [1.0, "]}," , 12345678901234567890]}')
    expect(wholeMessage(exact, buildOffer({ apiFormat: 'messages' })).finish(RECEIPT)).toContain(
      '"input":{"a" : [1.0, "]}," , 12345678901234567890]}',
    )
    expect(decoder.ending()).toMatchObject({ reasoningBytes: 3, reported: { inputTokens: 1, outputTokens: 2 } })
  })

  it.each([
    ['{"error":{"message":"no","code":429}}', 'openai', 'error', 429],
    ['{"type":"error","error":{"type":"overloaded_error","message":"no"}}', 'messages', 'error', 529],
    ['<html></html>', 'messages', 'malformed', 502],
    ['{"content":5}', 'messages', 'malformed', 502],
    [`{"content":${'['.repeat(100_000)}`, 'messages', 'malformed', 502],
    ['', 'messages', 'malformed', 502],
  ] as const)('%.40s of %s is malformed', (text, apiFormat, kind, status) => {
    expect(wholeMessage(text, buildOffer({ apiFormat })).failure()).toMatchObject({ kind, status })
  })
})
