import { describe, expect, it } from 'vitest'
import { chatCodecOf } from '#shared/protocols/index.ts'
import { amazonEvent } from '#test/support/bytes/bedrock.ts'
import { messagesEvent } from '#test/support/bytes/wire-bytes.ts'

/** Two calls of one function under one id, and one without an id, as each protocol sends them. */
const IDS = ['a', 'a', undefined] as const
const whole = (body: object) => Buffer.from(JSON.stringify(body))
const part = (id: string | undefined) => ({
  functionCall: { ...(id !== undefined && { id }), name: 'f', args: { b: 1 } },
})
const candidate = (parts: readonly object[], more: object = {}) => ({ candidates: [{ content: { parts }, ...more }] })
const DONE = { finishReason: 'STOP' }

const ANSWERS = {
  gemini: {
    whole: whole(candidate(IDS.map(part), DONE)),
    streamed: Buffer.from(
      [...IDS.map((id) => candidate([part(id)])), candidate([], DONE)]
        .map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`)
        .join(''),
    ),
  },
  bedrock: {
    whole: whole({
      output: {
        message: {
          role: 'assistant',
          content: IDS.map((toolUseId) => ({ toolUse: { toolUseId, name: 'f', input: { b: 1 } } })),
        },
      },
      stopReason: 'tool_use',
    }),
    streamed: Buffer.concat([
      ...IDS.flatMap((toolUseId, contentBlockIndex) => [
        amazonEvent('contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId, name: 'f' } } }),
        amazonEvent('contentBlockDelta', { contentBlockIndex, delta: { toolUse: { input: '{"b":1}' } } }),
        amazonEvent('contentBlockStop', { contentBlockIndex }),
      ]),
      amazonEvent('messageStop', { stopReason: 'tool_use' }),
      amazonEvent('metadata', { usage: { inputTokens: 1, outputTokens: 1 } }),
    ]),
  },
  messages: {
    whole: whole({
      type: 'message',
      role: 'assistant',
      content: IDS.map((id) => ({ type: 'tool_use', id, name: 'f', input: { b: 1 } })),
      stop_reason: 'tool_use',
    }),
    streamed: Buffer.from(
      [
        { type: 'message_start', message: { role: 'assistant', usage: { input_tokens: 1 } } },
        ...IDS.flatMap((id, index) => [
          { type: 'content_block_start', index, content_block: { type: 'tool_use', id, name: 'f', input: {} } },
          { type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: '{"b":1}' } },
          { type: 'content_block_stop', index },
        ]),
        { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 1 } },
        { type: 'message_stop' },
      ]
        .map(messagesEvent)
        .join(''),
    ),
  },
  responses: {
    whole: whole({
      status: 'completed',
      output: IDS.map((id) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{"b":1}' })),
    }),
    streamed: Buffer.from(
      [
        ...IDS.map((id, index) => ({
          type: 'response.output_item.done',
          output_index: index,
          item: { type: 'function_call', call_id: id, name: 'f', arguments: '{"b":1}' },
        })),
        { type: 'response.completed', response: { status: 'completed', output: [] } },
      ]
        .map(messagesEvent)
        .join(''),
    ),
  },
} as const
type Name = keyof typeof ANSWERS
const NAMES = Object.keys(ANSWERS) as Name[]

describe.each(NAMES)('the calls of an answer in %s', (apiFormat) => {
  it.each(['whole', 'streamed'] as const)('have different ids, whatever the provider sends, %s', (form) => {
    const reader = chatCodecOf({ apiFormat }).reader(form === 'streamed')
    const events = [...reader.push(ANSWERS[apiFormat][form]), ...reader.end()]
    expect(reader.failure()).toBeUndefined()
    const calls = events.flatMap((event) => (event.kind === 'toolStart' ? [event] : []))
    expect(calls.map(({ index, name }) => [index, name])).toEqual([
      [0, 'f'],
      [1, 'f'],
      [2, 'f'],
    ])
    const [first, second, third] = calls.map(({ id }) => id)
    expect([first, second]).toEqual(['a', 'a_'])
    expect(third).toMatch(/_2$/)
  })
})
