import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { meterUsage } from '#data-plane/pipeline/meter/meter-usage.ts'
import { chat } from '#data-plane/wires/chat/index.ts'
import { completions } from '#data-plane/wires/completions/index.ts'
import { messages } from '#data-plane/wires/messages/index.ts'
import { responses } from '#data-plane/wires/responses/index.ts'
import type { ModelWire } from '#data-plane/wires/wire.ts'
import { chargeShare, KEEP_ALL } from '#shared/money.ts'
import { chargeUsage, inputBill, listCost } from '#shared/pricing.ts'
import { buildPlan, buildRaw } from '#test/support/bytes/build-market.ts'
import type { Heard } from '#test/support/bytes/heard-answers.ts'
import { hearChatStream, hearMessagesStream } from '#test/support/bytes/heard-answers.ts'
import { dataOf, decodePieces, offerOf } from '#test/support/bytes/wire-bytes.ts'

/** An answer from providers of both protocols: text, two calls at once, a partly cached prompt. */
const recorded = (name: string) => readFileSync(new URL(`./fixtures/${name}.body`, import.meta.url), 'utf8')
const ANSWERS = {
  openai: { streamed: recorded('chat-stream'), whole: recorded('chat-whole') },
  messages: { streamed: recorded('messages-stream'), whole: recorded('messages-whole') },
}
const TEXT = 'Grüße aus Rom! 🌍\n'
const CALLS = [
  { id: 'call_a1', name: 'weather', input: '{"city":"R\\u00f6m"}' },
  { id: 'call_b2', name: 'time', input: '{"at": [5, 1.0]}' },
]
/** 80 input tokens at 1 micro-USD, 40 cached ones at 0.1 and 31 output tokens at 10, less 40 %. */
const COST_MICRO = 237

const TURN = [{ role: 'user', content: 'What is it like in Rome? '.repeat(10) }]
const LIMIT = { max_tokens: 50 }
/** The event has the input figures that are known when it is sent. With all bytes at once these are all figures. */
const MESSAGE_START = /^event: message_start\n.*\n\n/

/** A whole answer of the chat wire, read by its client. Calls are not part of a text completion. */
function hearChoice(text: string): Heard {
  const choice = dataOf(JSON.parse(text), 'choices', '0')
  const calls = dataOf(choice, 'message', 'tool_calls')
  return {
    text: String(dataOf(choice, 'message', 'content') ?? dataOf(choice, 'text')),
    calls: (Array.isArray(calls) ? calls : []).map((call) => ({
      id: String(dataOf(call, 'id')),
      name: String(dataOf(call, 'function', 'name')),
      input: String(dataOf(call, 'function', 'arguments')),
    })),
    reason: dataOf(choice, 'finish_reason'),
    usage: dataOf(JSON.parse(text), 'usage'),
  }
}

function hearMessage(text: string): Heard {
  const message: unknown = JSON.parse(text)
  const blocks = dataOf(message, 'content')
  const heard: Heard = {
    text: '',
    calls: [],
    reason: dataOf(message, 'stop_reason'),
    usage: dataOf(message, 'usage'),
  }
  for (const block of Array.isArray(blocks) ? blocks : []) {
    if (dataOf(block, 'type') === 'text') heard.text += String(dataOf(block, 'text'))
    else {
      const name = String(dataOf(block, 'name'))
      // The input must stay in its written form. Parsing and writing it again would change the text.
      const [, input = ''] = new RegExp(`"name":"${name}","input":(\\{.*?\\})\\}`).exec(text) ?? []
      heard.calls.push({ id: String(dataOf(block, 'id')), name, input })
    }
  }
  return heard
}

function hearCompletionStream(stream: string): Heard {
  const heard: Heard = { text: '', calls: [], reason: undefined, usage: undefined }
  for (const part of stream.split('\n\n').filter((one) => one.startsWith('data: {'))) {
    const frame: unknown = JSON.parse(part.slice(6))
    heard.text += String(dataOf(frame, 'choices', '0', 'text') ?? '')
    heard.reason = dataOf(frame, 'choices', '0', 'finish_reason') ?? heard.reason
    heard.usage = dataOf(frame, 'usage') ?? heard.usage
  }
  return heard
}

function hearResponse(response: unknown): Heard {
  const items = dataOf(response, 'output')
  const heard: Heard = { text: '', calls: [], reason: dataOf(response, 'status'), usage: dataOf(response, 'usage') }
  for (const item of Array.isArray(items) ? items : []) {
    if (dataOf(item, 'type') === 'message') heard.text += String(dataOf(item, 'content', '0', 'text'))
    else {
      const [id, name, input] = ['call_id', 'name', 'arguments'].map((member) => String(dataOf(item, member)))
      heard.calls.push({ id: id ?? '', name: name ?? '', input: input ?? '' })
    }
  }
  return heard
}

const hearResponseStream = (stream: string) =>
  hearResponse(dataOf(JSON.parse(stream.slice(stream.lastIndexOf('\ndata: ') + 7)), 'response'))

type Ears = {
  readonly ask: object
  readonly streamed: (text: string) => Heard
  readonly whole: (text: string) => Heard
}
const chatUsage = { prompt_tokens: 120, prompt_tokens_details: { cached_tokens: 40 }, completion_tokens: 31 }
const WIRES: readonly (readonly [wire: ModelWire, ears: Ears, reason: string, usage: object])[] = [
  [chat, { ask: { ...LIMIT, messages: TURN }, streamed: hearChatStream, whole: hearChoice }, 'tool_calls', chatUsage],
  [
    messages,
    { ask: { ...LIMIT, messages: TURN }, streamed: hearMessagesStream, whole: hearMessage },
    'tool_use',
    { input_tokens: 80, cache_read_input_tokens: 40, output_tokens: 31 },
  ],
  [
    responses,
    {
      ask: { max_output_tokens: 50, input: TURN },
      streamed: hearResponseStream,
      whole: (text) => hearResponse(JSON.parse(text)),
    },
    'completed',
    { input_tokens: 120, input_tokens_details: { cached_tokens: 40 }, output_tokens: 31 },
  ],
  [
    completions,
    { ask: { ...LIMIT, prompt: TURN[0]?.content }, streamed: hearCompletionStream, whole: hearChoice },
    'tool_calls',
    chatUsage,
  ],
]
const CASES = WIRES.flatMap(([wire, ears, reason, usage]) =>
  (['openai', 'messages'] as const).flatMap((format) =>
    (['streamed', 'whole'] as const).map((form) => ({ name: wire.name, wire, ears, format, form, reason, usage })),
  ),
)
const PLAN = buildPlan()

describe('one answer of one model', () => {
  it.each(CASES)(
    'on the $name wire from a seller of $format, $form: the same text, calls, reason, usage and cost, wherever its bytes are cut',
    ({ wire, ears, format, form, reason, usage }) => {
      const { unitPrices } = PLAN.target.price
      const plan = { ...PLAN, offer: offerOf({ apiFormat: format }) }
      const call = wire.read(
        buildRaw(JSON.stringify({ ...ears.ask, model: 'gpt-5-mini', stream: form === 'streamed' })),
      )
      const answer = ANSWERS[format][form]
      const decode = (cuts: readonly number[]) => {
        const decoder = call.decoder(plan)
        const out = decodePieces(decoder, answer, cuts)
        expect([decoder.failure(), decoder.isDone() || form === 'whole']).toEqual([undefined, true])
        const metered = meterUsage(plan, call.demand, decoder.ending())
        expect([metered.source, metered.anomalies]).toEqual(['reported', []])
        const chargeMicro = chargeUsage(unitPrices, metered.usage, plan.offer.keptBps)
        const listMicro = listCost(unitPrices, metered.usage)
        return (
          out +
          decoder.finish({
            chargeMicro,
            listMicro,
            listInputMicro: chargeShare(inputBill(unitPrices, metered.usage), KEEP_ALL),
            usage: metered.usage,
          })
        )
      }
      const whole = decode([])
      const sent = whole.replace(MESSAGE_START, '')
      const bytes = Buffer.byteLength(answer)
      for (let cut = 1; cut < bytes; cut++) {
        expect(decode([cut]).replace(MESSAGE_START, '') === sent, `cut at ${cut}`).toBe(true)
      }
      expect(decode(Array.from({ length: bytes - 1 }, (_, at) => at + 1)).replace(MESSAGE_START, '')).toBe(sent)

      const heard = ears[form](whole)
      expect(heard).toMatchObject({ text: TEXT, calls: wire === completions ? [] : CALLS, reason })
      expect(heard.usage).toMatchObject({ ...usage, buyer_cost_micro: COST_MICRO, cost: COST_MICRO / 1e6 })
    },
  )
})
