import { describe, expect, it } from 'vitest'
import { AppError } from '#shared/errors.ts'
import { buildOffer } from '#test/support/bytes/build-market.ts'
import { eventsOf, streamMessage, USAGE } from '#test/support/bytes/message-answers.ts'
import { chatFrame, dataOf, messagesEvent } from '#test/support/bytes/wire-bytes.ts'

const CHAT_STREAM =
  chatFrame({ delta: { role: 'assistant', content: '' } }) +
  chatFrame({ delta: { content: 'Grüße' } }) +
  chatFrame({ delta: { content: ' 🌍' } }) +
  chatFrame({ delta: { tool_calls: [{ index: 0, id: 'call_1', function: { name: 'f', arguments: '{"a"' } }] } }) +
  chatFrame({ delta: { tool_calls: [{ index: 0, function: { arguments: ':1}' } }] } }) +
  chatFrame({ delta: {}, finish_reason: 'tool_calls' }) +
  chatFrame(null, { usage: { prompt_tokens: 12, completion_tokens: 6 } }) +
  'data: [DONE]\n\n'

describe('a streamed message from a seller of the OpenAI protocol', () => {
  it('follows the grammar of events, with usage in the first and the last', () => {
    const { whole, plan } = streamMessage(CHAT_STREAM)
    const [start, ...rest] = eventsOf(whole())
    expect(start).toMatchObject({
      type: 'message_start',
      message: { id: `msg_${plan.rid}`, role: 'assistant', model: 'gpt-5-mini', content: [], stop_reason: null },
    })
    const { input_tokens: input } = JSON.parse(JSON.stringify(start)).message.usage
    expect(input).toBeGreaterThan(0)
    expect(rest).toEqual([
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Grüße' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: ' 🌍' } },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'content_block_start',
        index: 1,
        content_block: { type: 'tool_use', id: 'call_1', name: 'f', input: {} },
      },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"a"' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: ':1}' } },
      { type: 'content_block_stop', index: 1 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: USAGE },
      { type: 'message_stop' },
    ])
  })

  it('is the same wherever its bytes are cut', () => {
    const expected = eventsOf(streamMessage(CHAT_STREAM).whole()).slice(1)
    for (let cut = 1; cut < Buffer.byteLength(CHAT_STREAM); cut++) {
      expect(eventsOf(streamMessage(CHAT_STREAM, buildOffer(), [cut]).whole()).slice(1), `cut at ${cut}`).toEqual(
        expected,
      )
    }
  })

  it('counts the delivered part', () => {
    const { decoder } = streamMessage(CHAT_STREAM)
    expect(decoder.ending()).toMatchObject({
      finishReason: 'tool_calls',
      reported: { inputTokens: 12, outputTokens: 6 },
    })
    expect(decoder.ending().contentBytes).toBe(Buffer.byteLength('Grüße 🌍f{"a":1}'))
  })

  it('shows no thoughts, only keep-alives', () => {
    const text = chatFrame({ delta: { reasoning_content: 'hm' } }) + chatFrame({ delta: { content: 'x' } })
    const { whole, decoder } = streamMessage(`${text}data: [DONE]\n\n`)
    expect(eventsOf(whole()).map(({ type }) => type)).toEqual([
      'message_start',
      'ping',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ])
    expect(decoder.ending()).toMatchObject({ reasoningBytes: 2, contentBytes: 3 })
  })

  it('puts the pieces of parallel calls in order', () => {
    const crumb = (index: number, args: string, head: object = {}) =>
      chatFrame({
        delta: {
          tool_calls: [
            { index, ...head, function: { ...('id' in head ? { name: `f${index}` } : {}), arguments: args } },
          ],
        },
      })
    const text =
      crumb(0, '{"a', { id: 'c0' }) +
      crumb(1, '{"b":', { id: 'c1' }) +
      crumb(0, '":1}') +
      crumb(1, '2}') +
      'data: [DONE]\n\n'
    const events = eventsOf(streamMessage(text).whole())
    expect(inputsOf(events)).toEqual(['{"a":1}', '{"b":2}'])
    expect(events.map(({ type }) => type).filter((type) => type !== 'content_block_delta')).toEqual([
      'message_start',
      'content_block_start',
      'content_block_stop',
      'content_block_start',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ])
  })

  it.each([
    [
      'sends tool_calls without a call',
      chatFrame({ delta: { content: 'x' }, finish_reason: 'tool_calls' }),
      'end_turn',
    ],
    [
      'sends stop with a call',
      chatFrame({
        delta: { tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{}' } }] },
        finish_reason: 'stop',
      }),
      'tool_use',
    ],
    ['sends length', chatFrame({ delta: { content: 'x' }, finish_reason: 'length' }), 'max_tokens'],
    ['filters', chatFrame({ delta: { content: 'x' }, finish_reason: 'content_filter' }), 'refusal'],
    ['refuses', chatFrame({ delta: { refusal: 'no' }, finish_reason: 'stop' }), 'refusal'],
  ])('a seller that %s', (_name, text, reason) => {
    const end = eventsOf(streamMessage(`${text}data: [DONE]\n\n`).whole()).at(-2)
    expect(end?.['delta']).toEqual({ stop_reason: reason, stop_sequence: null })
  })

  it('sends nothing before the first content, is kept alive by pings, and breaks with an error event', () => {
    const { decoder, out, plan } = streamMessage(chatFrame({ delta: { role: 'assistant', content: '' } }))
    expect([out, decoder.contentPieces()]).toEqual(['', 0])
    expect(eventsOf(decoder.keepAlive())).toEqual([{ type: 'ping' }])
    expect(eventsOf(decoder.fail(new AppError('upstream_error')))).toEqual([
      {
        type: 'error',
        error: { type: 'api_error', message: 'The provider failed.', code: 'upstream_error' },
        request_id: plan.rid,
      },
    ])
  })

  it.each([
    ['an end without a finish', chatFrame({ delta: { content: 'x' } }), 'cut'],
    ['an error object', chatFrame(null, { error: { message: 'no', code: 500 } }), 'error'],
    ['a bare CR inside the data', 'data: {"choices":\r[]}\n\n', 'malformed'],
    ['endless depth', `data: ${'['.repeat(100_000)}\n\n`, 'malformed'],
  ])('fails on %s', (_name, text, kind) => {
    expect(streamMessage(text).decoder.failure()?.kind).toBe(kind)
  })
})

function inputsOf(events: readonly { type: string; [member: string]: unknown }[]): string[] {
  const inputs = new Map<unknown, string>()
  for (const event of events) {
    const delta = JSON.parse(JSON.stringify(event['delta'] ?? {}))
    if (delta.type === 'input_json_delta') {
      inputs.set(event['index'], (inputs.get(event['index']) ?? '') + delta.partial_json)
    }
  }
  return [...inputs.values()]
}

const MESSAGE_STREAM =
  messagesEvent({
    type: 'message_start',
    message: {
      id: 'x',
      usage: { input_tokens: 9, cache_read_input_tokens: 4, cache_creation_input_tokens: 2, output_tokens: 1 },
    },
  }) +
  messagesEvent({
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'thinking', thinking: '', signature: '' },
  }) +
  messagesEvent({ type: 'ping' }) +
  messagesEvent({ type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm, größer' } }) +
  messagesEvent({ type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'sig==' } }) +
  messagesEvent({ type: 'content_block_stop', index: 0 }) +
  messagesEvent({ type: 'content_block_start', index: 1, content_block: { type: 'redacted_thinking', data: 'zzz' } }) +
  messagesEvent({ type: 'content_block_stop', index: 1 }) +
  messagesEvent({ type: 'content_block_start', index: 2, content_block: { type: 'text', text: '' } }) +
  messagesEvent({ type: 'content_block_delta', index: 2, delta: { type: 'text_delta', text: 'So 🌍' } }) +
  messagesEvent({ type: 'content_block_stop', index: 2 }) +
  messagesEvent({
    type: 'content_block_start',
    index: 3,
    content_block: { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} },
  }) +
  messagesEvent({ type: 'content_block_delta', index: 3, delta: { type: 'input_json_delta', partial_json: '' } }) +
  messagesEvent({
    type: 'content_block_delta',
    index: 3,
    delta: { type: 'input_json_delta', partial_json: '{"a": 1.0}' },
  }) +
  messagesEvent({ type: 'content_block_stop', index: 3 }) +
  messagesEvent({
    type: 'message_delta',
    delta: { stop_reason: 'tool_use', stop_sequence: null },
    usage: { output_tokens: 6 },
  }) +
  messagesEvent({ type: 'message_stop' }) +
  messagesEvent({ type: 'content_block_delta', index: 2, delta: { type: 'text_delta', text: 'after the end' } })

describe('a streamed message from a seller of the same protocol', () => {
  const offer = buildOffer({ apiFormat: 'messages' })

  it('keeps thoughts with their signature, calls and text', () => {
    const { whole, decoder } = streamMessage(MESSAGE_STREAM, offer)
    const events = eventsOf(whole())
    expect(dataOf(events[0], 'message', 'usage')).toEqual({
      input_tokens: 9,
      cache_creation_input_tokens: 2,
      cache_read_input_tokens: 4,
      output_tokens: 1,
    })
    expect(events.slice(1)).toEqual([
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm, größer' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'sig==' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'redacted_thinking', data: 'zzz' } },
      { type: 'content_block_stop', index: 1 },
      { type: 'content_block_start', index: 2, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 2, delta: { type: 'text_delta', text: 'So 🌍' } },
      { type: 'content_block_stop', index: 2 },
      {
        type: 'content_block_start',
        index: 3,
        content_block: { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} },
      },
      { type: 'content_block_delta', index: 3, delta: { type: 'input_json_delta', partial_json: '{"a": 1.0}' } },
      { type: 'content_block_stop', index: 3 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: USAGE },
      { type: 'message_stop' },
    ])
    expect(decoder.ending().reported).toMatchObject({
      inputTokens: 15,
      cachedTokens: 4,
      cacheWriteTokens: 2,
      outputTokens: 6,
    })
  })

  it('is the same wherever its bytes are cut', () => {
    const expected = eventsOf(streamMessage(MESSAGE_STREAM, offer).whole()).slice(1)
    for (let cut = 1; cut < Buffer.byteLength(MESSAGE_STREAM); cut++) {
      expect(eventsOf(streamMessage(MESSAGE_STREAM, offer, [cut]).whole()).slice(1), `cut at ${cut}`).toEqual(expected)
    }
  })

  it.each([
    ['overloaded_error', 529],
    ['rate_limit_error', 429],
    ['invalid_request_error', 400],
    ['api_error', 500],
    ['toString', 502],
  ])('fails on an error event of type %s', (type, status) => {
    const { decoder } = streamMessage(messagesEvent({ type: 'error', error: { type, message: 'no' } }), offer)
    expect(decoder.failure()).toMatchObject({ kind: 'error', status })
  })

  it('gives the stop sequence', () => {
    const text =
      messagesEvent({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'x' } }) +
      messagesEvent({
        type: 'message_delta',
        delta: { stop_reason: 'stop_sequence', stop_sequence: 'END' },
        usage: {},
      }) +
      messagesEvent({ type: 'message_stop' })
    const end = eventsOf(streamMessage(text, offer).whole()).at(-2)
    expect(end?.['delta']).toEqual({ stop_reason: 'stop_sequence', stop_sequence: 'END' })
  })

  it.each([
    [{ input_tokens: -5, output_tokens: '12' }, { insaneFields: 2 }],
    [{ input_tokens: 1e30, output_tokens: null }, { insaneFields: 1 }],
    [null, { insaneFields: 0 }],
  ])('ignores a figure of %o that cannot be a count', (usage, reported) => {
    const text = messagesEvent({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage })
    expect(streamMessage(text + messagesEvent({ type: 'message_stop' }), offer).decoder.ending().reported).toEqual(
      reported,
    )
  })
})
