import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Receipt } from '#data-plane/call.ts'
import { chat } from '#data-plane/wires/chat/index.ts'
import { messages } from '#data-plane/wires/messages/index.ts'
import { microUsd } from '#shared/money.ts'
import { buildPlan, buildRaw } from '#test/support/bytes/build-market.ts'
import type { HeardCall } from '#test/support/bytes/heard-answers.ts'
import { hearChatStream, hearMessagesStream } from '#test/support/bytes/heard-answers.ts'
import { chatFrame, decodePieces, messagesEvent, offerOf } from '#test/support/bytes/wire-bytes.ts'

const RECEIPT: Receipt = {
  chargeMicro: microUsd(1),
  listMicro: microUsd(2),
  listInputMicro: microUsd(1),
  usage: { input: 1, output: 1 },
}
const ASK = { model: 'gpt-5-mini', max_tokens: 50, stream: true, messages: [{ role: 'user', content: 'hi' }] }
const BODY = Buffer.from(JSON.stringify(ASK))

const said = fc.record({
  text: fc.string({ unit: 'binary', maxLength: 40 }),
  calls: fc.array(
    fc.record({
      name: fc.stringMatching(/^[a-z_]{1,12}$/),
      input: fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 }),
    }),
    { maxLength: 4 },
  ),
  order: fc.infiniteStream(fc.nat({ max: 3 })),
  sizes: fc.infiniteStream(fc.integer({ min: 1, max: 9 })),
  cuts: fc.array(fc.nat({ max: 5_000 }), { maxLength: 8 }),
})
type Said = {
  text: string
  calls: HeardCall[]
  order: Iterator<number>
  sizes: Iterator<number>
  cuts: readonly number[]
}

function prepared(given: typeof said extends fc.Arbitrary<infer Value> ? Value : never): Said {
  const calls = given.calls.map(({ name, input }, index) => ({
    id: `call_${index}`,
    name,
    input: JSON.stringify(input),
  }))
  return {
    text: given.text,
    calls,
    order: given.order[Symbol.iterator](),
    sizes: given.sizes[Symbol.iterator](),
    cuts: given.cuts,
  }
}

function crumbs(text: string, sizes: Iterator<number>): string[] {
  const pieces: string[] = []
  const points = [...text]
  while (points.length > 0) pieces.push(points.splice(0, sizes.next().value ?? 1).join(''))
  return pieces
}

/** A chat stream whose calls come in pieces that alternate. */
function chatStream({ text, calls, order, sizes }: Said): string {
  let out = crumbs(text, sizes)
    .map((content) => chatFrame({ delta: { content } }))
    .join('')
  const waiting = calls.map(({ id, name, input }, index) => [
    { index, id, type: 'function', function: { name, arguments: '' } },
    ...crumbs(input, sizes).map((piece) => ({ index, function: { arguments: piece } })),
  ])
  // Calls begin in their order. Their later pieces alternate.
  let begun = 0
  while (waiting.some((list) => list.length > 0)) {
    const open = waiting.slice(0, begun + 1)
    const choices = open.map((list, index) => ({ list, index })).filter(({ list }) => list.length > 0)
    const pick = choices[(order.next().value ?? 0) % Math.max(1, choices.length)]
    if (pick === undefined) {
      begun++
      continue
    }
    if (pick.index === begun) begun++
    out += chatFrame({ delta: { tool_calls: [pick.list.shift()] } })
  }
  return `${out + chatFrame({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`
}

function messageStream({ text, calls, sizes }: Said): string {
  let out = messagesEvent({ type: 'message_start', message: { usage: { input_tokens: 1 } } })
  out += messagesEvent({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })
  for (const piece of crumbs(text, sizes)) {
    out += messagesEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: piece } })
  }
  out += messagesEvent({ type: 'content_block_stop', index: 0 })
  for (const [at, { id, name, input }] of calls.entries()) {
    const index = at + 1
    out += messagesEvent({
      type: 'content_block_start',
      index,
      content_block: { type: 'tool_use', id, name, input: {} },
    })
    for (const piece of crumbs(input, sizes)) {
      out += messagesEvent({
        type: 'content_block_delta',
        index,
        delta: { type: 'input_json_delta', partial_json: piece },
      })
    }
    out += messagesEvent({ type: 'content_block_stop', index })
  }
  out += messagesEvent({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } })
  return out + messagesEvent({ type: 'message_stop' })
}

function decoded(wire: typeof chat, apiFormat: 'openai' | 'messages', text: string, cuts: readonly number[]): string {
  const decoder = wire.read(buildRaw(BODY)).decoder(buildPlan({ offer: offerOf({ apiFormat }) }))
  const size = Buffer.byteLength(text)
  const sorted = cuts.map((cut) => cut % size).sort((left, right) => left - right)
  const out = decodePieces(decoder, text, sorted)
  expect(decoder.failure()).toBeUndefined()
  return out + decoder.finish(RECEIPT)
}

describe('any answer, however it is cut into pieces', () => {
  const cases = [
    ['chat', 'openai'],
    ['chat', 'messages'],
    ['messages', 'openai'],
    ['messages', 'messages'],
  ] as const

  it.each(cases)('on the %s wire from a seller of %s: the same text, calls and reason', (wire, format) => {
    fc.assert(
      fc.property(said, (given) => {
        const meant = prepared(given)
        const bytes = format === 'openai' ? chatStream(meant) : messageStream(meant)
        const out = decoded(wire === 'chat' ? chat : messages, format, bytes, meant.cuts)
        const heard = wire === 'chat' ? hearChatStream(out) : hearMessagesStream(out)
        const hasCalls = meant.calls.length > 0
        const reason = wire === 'chat' ? (hasCalls ? 'tool_calls' : 'stop') : hasCalls ? 'tool_use' : 'end_turn'
        expect({ text: heard.text, calls: heard.calls }).toEqual({ text: meant.text, calls: meant.calls })
        // The direct path of the chat wire keeps the seller's own finish reasons.
        if (wire !== 'chat' || format !== 'openai') expect(heard.reason).toBe(reason)
      }),
      { numRuns: 200 },
    )
  })
})

describe('usage of any kind', () => {
  const count = fc.oneof(fc.nat({ max: 1_000_000 }), fc.constantFrom(-5, 1e30, '12', null, undefined, 1.5, {}))
  const usage = fc.record(
    { input_tokens: count, output_tokens: count, cache_read_input_tokens: count },
    { requiredKeys: [] },
  )

  it('has the last valid figure of each field, and its sum is the provider’s input', () => {
    fc.assert(
      fc.property(fc.array(usage, { minLength: 1, maxLength: 6 }), (reports) => {
        const stream = reports
          .map((one) => messagesEvent({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: one }))
          .join('')
        const decoder = messages.read(buildRaw(BODY)).decoder(buildPlan({ offer: offerOf({ apiFormat: 'messages' }) }))
        decodePieces(decoder, stream + messagesEvent({ type: 'message_stop' }), [])
        const { reported } = decoder.ending()
        const last = (field: 'input_tokens' | 'output_tokens' | 'cache_read_input_tokens') =>
          reports
            .map((one) => one[field])
            .findLast((value) => typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 1e9)
        const input = last('input_tokens')
        expect(reported.outputTokens).toBe(last('output_tokens'))
        expect(reported.inputTokens).toBe(
          input === undefined ? undefined : Number(input) + Number(last('cache_read_input_tokens') ?? 0),
        )
      }),
      { numRuns: 300 },
    )
  })
})
