import fc from 'fast-check'
import { accumulateResponse } from 'openai/lib/responses/ResponseAccumulator'
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses'
import { describe, expect, it } from 'vitest'
import type { ModelPlan, Receipt } from '#data-plane/call.ts'
import { responses } from '#data-plane/wires/responses/index.ts'
import { readResponsesRequest } from '#data-plane/wires/responses/read-request.ts'
import { responsesWriter } from '#data-plane/wires/responses/writer.ts'
import { AppError } from '#shared/errors.ts'
import { microUsd } from '#shared/money.ts'
import type { AnswerEvent } from '#shared/protocols/middle-form/answer.ts'
import { buildPlan, buildRaw } from '#test/support/bytes/build-market.ts'
import { chatFrame, dataOf, decodePieces, messagesEvent, offerOf } from '#test/support/bytes/wire-bytes.ts'

const GOOD = { model: 'gpt-5-mini', input: 'hi', stream: true, include: ['reasoning.encrypted_content'] }
const RECEIPT: Receipt = {
  chargeMicro: microUsd(38),
  listMicro: microUsd(75),
  listInputMicro: microUsd(25),
  usage: { input: 12, output: 6 },
}
const PLAN = buildPlan()
const SIGNED = PLAN.seal.close('a', { kind: 'signature', text: 'abc' })
const MESSAGES = { ...PLAN, offer: offerOf({ apiFormat: 'messages' }) }

const callFrame = (index: number, fn: object, id?: string) =>
  chatFrame({ delta: { tool_calls: [{ index, ...(id ? { id } : {}), function: fn }] } })

/** Reasoning, text and two calls whose pieces alternate. */
const CHAT_STREAM = [
  chatFrame({ delta: { role: 'assistant', content: '' } }),
  ': comment\n\n',
  chatFrame({ delta: { reasoning_content: 'h' } }),
  chatFrame({ delta: { reasoning_content: 'm' } }),
  chatFrame({ delta: { content: 'Grüße' } }),
  chatFrame({ delta: { content: ' 🌍' } }),
  callFrame(0, { name: 'weather', arguments: '{"city"' }, 'c1'),
  callFrame(1, { name: 'time', arguments: '{"at":' }, 'c2'),
  callFrame(0, { arguments: ':"Rome"}' }),
  callFrame(1, { arguments: '5}' }),
  chatFrame({ delta: {}, finish_reason: 'tool_calls' }),
  chatFrame(null, { usage: { prompt_tokens: 12, completion_tokens: 6 } }),
  'data: [DONE]\n\ndata: {"choices":[{"index":0,"delta":{"content":"after the end"}}]}\n\n',
].join('')

const block = (index: number, start: object, deltas: readonly object[]) =>
  messagesEvent({ type: 'content_block_start', index, content_block: start }) +
  deltas.map((delta) => messagesEvent({ type: 'content_block_delta', index, delta })).join('') +
  messagesEvent({ type: 'content_block_stop', index })

const MESSAGES_STREAM = [
  messagesEvent({ type: 'message_start', message: { usage: { input_tokens: 12, output_tokens: 1 } } }),
  messagesEvent({ type: 'ping' }),
  block(0, { type: 'thinking', thinking: '' }, [
    { type: 'thinking_delta', thinking: 'h' },
    { type: 'thinking_delta', thinking: 'm' },
    { type: 'signature_delta', signature: 'ab' },
    { type: 'signature_delta', signature: 'c' },
  ]),
  block(1, { type: 'text', text: '' }, [
    { type: 'text_delta', text: 'Grüße' },
    { type: 'text_delta', text: ' 🌍' },
  ]),
  block(2, { type: 'tool_use', id: 'c1', name: 'weather', input: {} }, [
    { type: 'input_json_delta', partial_json: '{"city"' },
    { type: 'input_json_delta', partial_json: ':"Rome"}' },
  ]),
  block(3, { type: 'tool_use', id: 'c2', name: 'time', input: {} }, [
    { type: 'input_json_delta', partial_json: '{"at":5}' },
  ]),
  messagesEvent({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 6 } }),
  messagesEvent({ type: 'message_stop' }),
].join('')

type Event = ResponseStreamEvent

/** The events of a stream. Each has its name on one line, one line of data, and the next number. */
function eventsOf(text: string): Event[] {
  return text
    .split('\n\n')
    .filter((part) => part !== '')
    .map((part, index) => {
      const [, name, data = ''] = /^event: ([a-z_.]+)\ndata: ([^\n\r]*)$/.exec(part) ?? []
      const event: Event = JSON.parse(data)
      expect([event.type, event.sequence_number]).toEqual([name, index])
      return event
    })
}

/** The official client's reading of events. It throws when one does not fit the earlier ones. */
function accumulate(events: readonly Event[]): Response | undefined {
  let snapshot: Response | undefined
  for (const event of events) snapshot = accumulateResponse(event, snapshot)
  return snapshot
}

/**
 * Checks the grammar by its own rules: the allowed next events, by item and part. Returns the items that the deltas
 * build.
 */
function checkGrammar(events: readonly Event[]): void {
  const open = new Map<number, { part: string | undefined; said: string; isOver: boolean }>()
  const types: string[] = events.map(({ type }) => type)
  expect(types.slice(0, 2)).toEqual(['response.created', 'response.in_progress'])
  expect(types.at(-1)).toMatch(/^response\.(completed|incomplete|failed)$/)
  expect(types.filter((type) => /^response\.(created|completed|incomplete|failed)$/.test(type))).toHaveLength(2)
  for (const event of events) {
    if (!('output_index' in event)) continue
    const { output_index: at, type } = event
    const item = open.get(at)
    if (type === 'response.output_item.added') {
      expect(at).toBe(open.size)
      open.set(at, { part: undefined, said: '', isOver: false })
      continue
    }
    expect(item?.isOver, `${type} of an open item`).toBe(false)
    if (item === undefined) continue
    const [, name = '', step = ''] = /^response\.(.+)\.(added|delta|done)$/.exec(type) ?? []
    if (name === 'content_part' || name === 'reasoning_summary_part') {
      expect(item.part === undefined, `${type} in its turn`).toBe(step === 'added')
      item.part = step === 'added' ? name : undefined
      item.said = ''
    } else if (step === 'delta') {
      item.said += 'delta' in event ? event.delta : ''
    } else if (type === 'response.output_item.done') {
      expect(item.part).toBeUndefined()
      item.isOver = true
    } else {
      const whole =
        'text' in event ? event.text : 'refusal' in event ? event.refusal : 'arguments' in event ? event.arguments : ''
      expect(whole).toBe(item.said)
    }
  }
  if (types.at(-1) !== 'response.failed') expect([...open.values()].every(({ isOver }) => isOver)).toBe(true)
}

function decode(text: string, plan: ModelPlan = PLAN, cuts: readonly number[] = []) {
  const decoder = responses.read(buildRaw(JSON.stringify(GOOD))).decoder(plan)
  const out = decodePieces(decoder, text, cuts)
  return { decoder, out }
}

describe('a streamed response', () => {
  it('has every event of the grammar once and in its order', () => {
    const { decoder, out } = decode(CHAT_STREAM)
    const events = eventsOf(out + decoder.finish(RECEIPT))
    checkGrammar(events)
    expect(events.map(({ type }) => type.slice('response.'.length))).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'output_item.added',
      'function_call_arguments.delta',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.delta',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ])
    expect(decoder.ending()).toMatchObject({
      finishReason: 'tool_calls',
      reported: { inputTokens: 12, outputTokens: 6 },
      reasoningBytes: 2,
    })
  })

  it('ends with the whole response, which equals the sum of its deltas', () => {
    for (const [text, plan] of [
      [CHAT_STREAM, PLAN],
      [MESSAGES_STREAM, MESSAGES],
    ] as const) {
      const { decoder, out } = decode(text, plan)
      const events = eventsOf(out + decoder.finish(RECEIPT))
      const last = events.at(-1)
      const response = last?.type === 'response.completed' ? last.response : undefined
      expect(accumulate(events.slice(0, -1))?.output).toEqual(response?.output)
      expect(response).toMatchObject({ id: `resp_${PLAN.rid}`, status: 'completed', usage: { buyer_cost_micro: 38 } })
    }
  })

  it('is the same answer for every protocol of its seller, except for the seal', () => {
    const output = (text: string, plan: ModelPlan) => {
      const { decoder, out } = decode(text, plan)
      const last = eventsOf(out + decoder.finish(RECEIPT)).at(-1)
      return last?.type === 'response.completed' ? last.response.output : []
    }
    const [thought, ...rest] = output(MESSAGES_STREAM, MESSAGES)
    const [other, ...others] = output(CHAT_STREAM, PLAN)
    expect(rest).toEqual(others)
    expect(PLAN.seal.open(String(dataOf(other, 'encrypted_content')))?.content).toMatchObject({
      kind: 'thought',
      text: 'hm',
    })
    expect(thought).toEqual({ ...other, encrypted_content: SIGNED })
  })

  it('is the same wherever its bytes are cut', () => {
    for (const [text, plan] of [
      [CHAT_STREAM, PLAN],
      [MESSAGES_STREAM, MESSAGES],
    ] as const) {
      const expected = decode(text, plan)
      const whole = expected.out + expected.decoder.finish(RECEIPT)
      const bytes = Buffer.byteLength(text)
      for (let cut = 1; cut < bytes; cut++) {
        const { decoder, out } = decode(text, plan, [cut])
        expect(out + decoder.finish(RECEIPT) === whole, `cut at ${cut}`).toBe(true)
      }
      const { decoder, out } = decode(
        text,
        plan,
        Array.from({ length: bytes }, (_, at) => at),
      )
      expect(out + decoder.finish(RECEIPT)).toBe(whole)
    }
  })

  it('sends nothing before the first content', () => {
    expect(decode(chatFrame({ delta: { role: 'assistant', content: '' } })).out).toBe('')
  })

  it('that can be stopped is incomplete', () => {
    const { decoder, out } = decode(chatFrame({ delta: { content: 'half' } }))
    decoder.stop()
    const last = eventsOf(out + decoder.finish(RECEIPT)).at(-1)
    expect(last).toMatchObject({
      type: 'response.incomplete',
      response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
    })
  })

  it.each([
    ['before content', ''],
    ['after content', chatFrame({ delta: { content: 'half' } })],
  ])('that fails %s reports it in its last event', (_name, text) => {
    const { decoder, out } = decode(text)
    const events = eventsOf(out + decoder.fail(new AppError('upstream_error', { detail: { buyer_cost_micro: 3 } })))
    checkGrammar(events)
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: {
        status: 'failed',
        usage: null,
        error: { code: 'upstream_error', request_id: PLAN.rid, buyer_cost_micro: 3 },
      },
    })
    expect(accumulate(events)?.status).toBe('failed')
    expect(decoder.fail(new AppError('upstream_error'))).toBe('')
  })

  it('is kept alive by a comment of one line', () => {
    expect(decode('').decoder.keepAlive()).toBe(': keep-alive\n')
  })
})

const word = fc.string({ minLength: 1, maxLength: 5 })
const anyEvent: fc.Arbitrary<AnswerEvent> = fc.oneof(
  fc.record({ kind: fc.constantFrom('text', 'reasoning', 'signature', 'redactedReasoning', 'refusal'), text: word }),
  fc.record({ kind: fc.constant('toolStart'), index: fc.nat(3), id: word, name: word }),
  fc.record({ kind: fc.constant('toolInput'), index: fc.nat(3), text: word }),
)

function written(events: readonly AnswerEvent[], isStreamed: boolean, isCut: boolean): string {
  const request = readResponsesRequest(buildRaw(JSON.stringify({ ...GOOD, stream: isStreamed })))
  const writer = responsesWriter(request, PLAN, () => ({ insaneFields: 0 }))
  const said = events.map((event) => writer.write(event)).join('')
  return said + writer.finish(RECEIPT, { reason: isCut ? 'length' : 'stop', stopSequence: null, isCeiling: false })
}

describe('any content in any order', () => {
  it('makes a valid stream, whose last event is the whole answer', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 30 }), fc.boolean(), (said, isCut) => {
        const events = eventsOf(written(said, true, isCut))
        checkGrammar(events)
        const last = events.at(-1)
        const whole = JSON.parse(written(said, false, isCut))
        expect(last !== undefined && 'response' in last ? last.response : undefined).toEqual(whole)
        expect(accumulate(events.slice(0, -1))?.output).toEqual(whole.output)
      }),
      { numRuns: 300 },
    )
  })

  it('gives calls their intended input, however it is cut and mixed', () => {
    const call = fc.tuple(fc.jsonValue({ maxDepth: 2 }), fc.array(fc.nat(8), { maxLength: 8 }))
    fc.assert(
      fc.property(fc.array(call, { minLength: 1, maxLength: 4 }), fc.infiniteStream(fc.nat(100)), (calls, choices) => {
        const texts = calls.map(([value]) => JSON.stringify({ value }))
        const queues = texts.map((text, index) => pieces(text, calls[index]?.[1] ?? [], index))
        let frames = ''
        while (queues.some((queue) => queue.length > 0)) {
          const left = queues.filter((queue) => queue.length > 0)
          frames += left[(choices.next().value ?? 0) % left.length]?.shift() ?? ''
        }
        const { decoder, out } = decode(`${frames}data: [DONE]\n\n`)
        const events = eventsOf(out + decoder.finish(RECEIPT))
        checkGrammar(events)
        const output = accumulate(events)?.output ?? []
        const inputs = output.flatMap((item) => (item.type === 'function_call' ? [[item.call_id, item.arguments]] : []))
        expect(new Map(inputs.map(([id, text]) => [id, text]))).toEqual(
          new Map(texts.map((text, index) => [`c${index}`, text])),
        )
      }),
      { numRuns: 200 },
    )
  })
})

/** The frames of one call: its name with the first piece of input, then the rest in these sizes. */
function pieces(text: string, sizes: readonly number[], index: number): string[] {
  const frames: string[] = []
  let from = 0
  for (const size of [...sizes, text.length]) {
    const piece = text.slice(from, from + size)
    from += size
    frames.push(
      frames.length === 0
        ? callFrame(index, { name: 'f', arguments: piece }, `c${index}`)
        : callFrame(index, { arguments: piece }),
    )
  }
  return frames
}
