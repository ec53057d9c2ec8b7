import { describe, expect, it } from 'vitest'
import { classifyBadAnswer } from '#data-plane/upstream/classify.ts'
import { chat } from '#data-plane/wires/chat/index.ts'
import { completions } from '#data-plane/wires/completions/index.ts'
import { buildPlan, buildRaw } from '#test/support/bytes/build-market.ts'
import { RECEIPT } from '#test/support/bytes/chat-answers.ts'
import type { WireName } from '#test/support/bytes/heard-on-wire.ts'
import { hearOnWire, WIRE_NAMES } from '#test/support/bytes/heard-on-wire.ts'
import { chatFrame, dataOf, decodePieces, headOf, messagesEvent, offerOf } from '#test/support/bytes/wire-bytes.ts'

const USAGE = { prompt_tokens: 12, completion_tokens: 6 }
const CALL = { id: 'call_a', type: 'function', function: { name: 'f', arguments: '{"a": 1}' } }
const MESSAGE = { role: 'assistant', content: 'Grüße\n🌍', reasoning_content: 'hm', tool_calls: [CALL] }
const OBJECT = JSON.stringify(
  { choices: [{ index: 0, message: MESSAGE, finish_reason: 'tool_calls' }], usage: USAGE },
  null,
  1,
)
const EVENTS = [
  ': a comment\n\n',
  chatFrame({ delta: { role: 'assistant', reasoning_content: 'h' } }),
  chatFrame({ delta: { reasoning_content: 'm' } }),
  chatFrame({ delta: { content: 'Grüße\n' } }),
  chatFrame({ delta: { content: '🌍' } }),
  chatFrame({ delta: { tool_calls: [{ index: 0, ...CALL, function: { name: 'f', arguments: '{"a"' } }] } }),
  chatFrame({ delta: { tool_calls: [{ index: 0, function: { arguments: ': 1}' } }] } }),
  chatFrame({ delta: {}, finish_reason: 'tool_calls' }),
  chatFrame(null, { usage: USAGE }),
  'data: [DONE]\n\n',
].join('')

const block = (index: number, start: object, delta: object) =>
  messagesEvent({ type: 'content_block_start', index, content_block: start }) +
  messagesEvent({ type: 'content_block_delta', index, delta }) +
  messagesEvent({ type: 'content_block_stop', index })
const MESSAGE_OBJECT = JSON.stringify({
  type: 'message',
  role: 'assistant',
  content: [
    { type: 'text', text: 'Grüße\n🌍' },
    { type: 'tool_use', id: 'call_a', name: 'f', input: { a: 1 } },
  ],
  stop_reason: 'tool_use',
  usage: { input_tokens: 12, output_tokens: 6 },
})
const MESSAGE_EVENTS = [
  messagesEvent({ type: 'message_start', message: { usage: { input_tokens: 12, output_tokens: 1 } } }),
  block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'Grüße\n🌍' }),
  block(
    1,
    { type: 'tool_use', id: 'call_a', name: 'f', input: {} },
    { type: 'input_json_delta', partial_json: '{"a":1}' },
  ),
  messagesEvent({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 6 } }),
  messagesEvent({ type: 'message_stop' }),
].join('')

const REASON: Readonly<Record<WireName, string>> = { chat: 'tool_calls', messages: 'tool_use', responses: 'completed' }
const FORMS = [
  ['openai', 'an object for a stream', true, OBJECT],
  ['openai', 'a stream for an object', false, EVENTS],
  ['messages', 'an object for a stream', true, MESSAGE_OBJECT],
  ['messages', 'a stream for an object', false, MESSAGE_EVENTS],
] as const

describe.each(WIRE_NAMES)('the form of an answer on the %s wire', (wire) => {
  it.each(FORMS)(
    'a seller of %s sends %s: the buyer gets the requested form',
    (apiFormat, _name, isStreamed, bytes) => {
      const plan = buildPlan({ offer: offerOf({ apiFormat }) })
      const size = Buffer.byteLength(bytes)
      for (let cut = 0; cut < size; cut += 7) {
        const { text, calls, reason } = hearOnWire(wire, isStreamed, bytes, { plan, cuts: [cut] })
        expect({ text, calls: calls.map((call) => ({ ...call, input: JSON.parse(call.input) })), reason }).toEqual({
          text: 'Grüße\n🌍',
          calls: [{ id: 'call_a', name: 'f', input: { a: 1 } }],
          reason: REASON[wire],
        })
      }
    },
  )
})

const ask = (isStreamed: boolean, rest: object = {}) =>
  chat.read(
    buildRaw(
      JSON.stringify({ model: 'gpt-5-mini', messages: [{ role: 'user', content: 'x' }], stream: isStreamed, ...rest }),
    ),
  )

describe('an answer in another form than requested', () => {
  it('is recognised by its first byte, whatever its head says, and a web page is refused', () => {
    for (const isStreamed of [true, false]) {
      const { head } = ask(isStreamed).decoder(buildPlan())
      const types = ['application/json', 'text/event-stream; charset=utf-8', 'text/html', '']
      expect(types.map((type) => head?.takes?.(headOf(type)))).toEqual([true, true, false, false])
      expect(head?.takes?.({ ...headOf('application/json'), status: 400 })).toBe(false)
    }
  })

  it.each(['openai', 'messages', 'responses', 'gemini', 'vertexclaude', 'azuredeployments'] as const)(
    'is a refusal where Google puts one into an array, at a seller of %s',
    (apiFormat) => {
      const message = 'API key not valid. Please pass a valid API key.'
      const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }]
      const error = { code: 400, status: 'INVALID_ARGUMENT', message, details }
      for (const isStreamed of [true, false]) {
        const decoder = ask(isStreamed).decoder(buildPlan({ offer: offerOf({ apiFormat }) }))
        decodePieces(decoder, `\n[{\n "error": ${JSON.stringify(error)}}]`, [2])
        const failure = decoder.failure()
        const speaker = { holdsKey: () => false, requestText: () => '' }
        expect(failure && classifyBadAnswer(failure, speaker).errorClass).toBe('credential_rejected')
      }
    },
  )

  it('keeps all choices, log probabilities and figures of a stream for an object', () => {
    const logprobs = (token: string) => ({ content: [{ token, logprob: -1 }] })
    const choice = (index: number, content: string) => ({ index, delta: { content }, logprobs: logprobs(content) })
    const bytes =
      chatFrame(choice(1, 'c')) +
      chatFrame(choice(0, 'a')) +
      chatFrame(choice(0, 'b')) +
      chatFrame({ index: 0, delta: {}, finish_reason: 'stop' }) +
      chatFrame({ index: 1, delta: {}, finish_reason: 'length' }, { usage: USAGE })
    const decoder = ask(false, { n: 2, logprobs: true }).decoder(buildPlan())
    expect(decodePieces(decoder, `${bytes}data: [DONE]\n\n`, [])).toBe('')
    expect(decoder.ending()).toMatchObject({ contentBytes: 3, reported: { inputTokens: 12, outputTokens: 6 } })
    const said = (content: string) => ({ role: 'assistant', content, refusal: null })
    expect(dataOf(JSON.parse(decoder.finish(RECEIPT)), 'choices')).toEqual([
      {
        index: 0,
        message: said('ab'),
        logprobs: { content: [...logprobs('a').content, ...logprobs('b').content] },
        finish_reason: 'stop',
      },
      { index: 1, message: said('c'), logprobs: logprobs('c'), finish_reason: 'length' },
    ])
  })

  it('shows an object for a stream as soon as it is complete', () => {
    const decoder = ask(true).decoder(buildPlan())
    const out = String(decoder.push(Buffer.from(OBJECT)))
    expect([out.includes('Grüße'), decoder.isDone(), decoder.contentPieces() > 0]).toEqual([true, true, true])
  })

  it('delivers no part of a stream for an object when the stream breaks off', () => {
    for (const plan of [buildPlan(), buildPlan({ offer: offerOf({ apiFormat: 'messages' }) })]) {
      const bytes = plan.offer.apiFormat === 'openai' ? EVENTS : MESSAGE_EVENTS
      const decoder = ask(false).decoder(plan)
      decoder.push(Buffer.from(bytes.slice(0, bytes.indexOf('\n\n', bytes.length / 2) + 2)))
      expect([decoder.contentPieces(), decoder.ending().contentBytes, decoder.isDone()]).toEqual([0, 0, false])
      decoder.end()
      expect(decoder.failure()?.kind).toBe('cut')
    }
  })

  it.each([true, false])('is read on completions, streamed %s', (isStreamed) => {
    const native = { ...buildPlan(), target: { ...buildPlan().target, endpoint: 'completions' as const } }
    const read = (body: object) =>
      completions.read(buildRaw(JSON.stringify({ model: 'gpt-5-mini', stream: isStreamed, ...body })))
    const frame = (choice: object) => `data: ${JSON.stringify({ choices: [choice] })}\n\n`
    const texts = isStreamed
      ? JSON.stringify({ choices: [{ index: 0, text: 'ab', finish_reason: 'stop' }], usage: USAGE })
      : `${frame({ index: 0, text: 'a' })}${frame({ index: 0, text: 'b', finish_reason: 'stop' })}data: [DONE]\n\n`
    const spoken = (index: number) =>
      isStreamed
        ? { index, message: { content: 'ab' }, finish_reason: 'stop' }
        : { index, delta: { content: 'ab' }, finish_reason: 'stop' }
    const several = isStreamed
      ? JSON.stringify({ choices: [spoken(0), spoken(1)] })
      : `${frame(spoken(0))}${frame(spoken(1))}data: [DONE]\n\n`
    for (const [body, plan, bytes, count] of [
      [{ prompt: 'x', echo: true }, native, texts, 1],
      [{ prompt: 'x', n: 2 }, buildPlan(), several, 2],
      [{ prompt: 'x' }, buildPlan(), isStreamed ? OBJECT : EVENTS, 1],
    ] as const) {
      const decoder = read(body).decoder(plan)
      const text = decodePieces(decoder, bytes, []) + decoder.finish(RECEIPT)
      const frames = isStreamed
        ? text
            .split('\n\n')
            .filter((line) => line.startsWith('data: {'))
            .map((line) => JSON.parse(line.slice(6)))
        : [JSON.parse(text)]
      const choices = frames.flatMap((one) => one.choices)
      for (let index = 0; index < count; index++) {
        const said = choices.filter((choice) => choice.index === index)
        expect(said.map(({ text: piece }) => piece).join('')).toBe(
          count === 1 && body.echo === undefined ? 'Grüße\n🌍' : 'ab',
        )
        expect(said.at(-1).finish_reason).toBe(count === 1 && body.echo === undefined ? 'tool_calls' : 'stop')
      }
    }
  })
})

describe.each(WIRE_NAMES)('content in parts on the %s wire', (wire) => {
  const parts = [
    {
      type: 'thinking',
      thinking: [
        { type: 'text', text: 'h' },
        { type: 'text', text: 'm' },
      ],
    },
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' },
  ]
  const whole = JSON.stringify({
    choices: [{ index: 0, message: { role: 'assistant', content: parts }, finish_reason: 'stop' }],
  })
  const streamed =
    parts.map((part) => chatFrame({ delta: { content: [part] } })).join('') +
    chatFrame({ delta: {}, finish_reason: 'stop' }) +
    'data: [DONE]\n\n'

  it.each([
    [false, whole],
    [true, streamed],
    [true, whole],
    [false, streamed],
  ])('is text, and thoughts are thoughts, streamed %s', (isStreamed, bytes) => {
    const { text, thought } = hearOnWire(wire, isStreamed, bytes)
    expect(text).toBe('ab')
    // Unsigned thoughts are not shown on the messages wire.
    expect(thought).toBe(wire === 'messages' ? '' : 'hm')
  })

  it('is a refusal where its text is one', () => {
    const message = { role: 'assistant', content: [{ type: 'refusal', refusal: 'no' }] }
    const body = JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] })
    const { turn } = hearOnWire(wire, false, body)
    expect(JSON.stringify(turn)).toContain('"no"')
  })
})
