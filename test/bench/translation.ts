import type { Receipt } from '#data-plane/call.ts'
import { chat } from '#data-plane/wires/chat/index.ts'
import { messages } from '#data-plane/wires/messages/index.ts'
import type { AnyWire } from '#data-plane/wires/wire.ts'
import { microUsd } from '#shared/money.ts'
import { buildPlan, buildRaw } from '#test/support/build-market.ts'
import { chatFrame, messagesEvent, offerOf } from '#test/support/wire-bytes.ts'

const CHUNKS = 256
const STREAMS_A_ROUND = 100
/** Every pair is measured in turns, so that what else the machine does meets all of them; the median counts. */
const ROUNDS = 15

const RECEIPT: Receipt = { chargeMicro: microUsd(1), listMicro: microUsd(2), usage: { input: 1, output: CHUNKS } }

type Pair = {
  readonly name: string
  readonly wire: AnyWire
  readonly format: 'openai' | 'messages'
  readonly frames: readonly Buffer[]
}

const word = (index: number) => ` word${index % 10}`
const CHAT_FRAMES = [
  chatFrame({ delta: { role: 'assistant', content: '' } }),
  ...Array.from({ length: CHUNKS }, (_, index) => chatFrame({ delta: { content: word(index) } })),
  chatFrame({ delta: {}, finish_reason: 'stop' }),
  'data: [DONE]\n\n',
].map((text) => Buffer.from(text))
const MESSAGE_FRAMES = [
  messagesEvent({ type: 'message_start', message: { usage: { input_tokens: 1 } } }),
  messagesEvent({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
  ...Array.from({ length: CHUNKS }, (_, index) =>
    messagesEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: word(index) } }),
  ),
  messagesEvent({ type: 'content_block_stop', index: 0 }),
  messagesEvent({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: CHUNKS } }),
  messagesEvent({ type: 'message_stop' }),
].map((text) => Buffer.from(text))

const UNTRANSLATED: Pair = { name: 'chat wire, OpenAI seller', wire: chat, format: 'openai', frames: CHAT_FRAMES }
const PAIRS: readonly Pair[] = [
  UNTRANSLATED,
  { name: 'messages wire, OpenAI seller', wire: messages, format: 'openai', frames: CHAT_FRAMES },
  { name: 'chat wire, messages seller', wire: chat, format: 'messages', frames: MESSAGE_FRAMES },
  { name: 'messages wire, messages seller', wire: messages, format: 'messages', frames: MESSAGE_FRAMES },
]

/** Chunks a second through the decoders of each pair of protocols, one chunk a read, without sockets. */
export function measureTranslation(): { what: string; figure: string; beside: string }[] {
  const rates = new Map<Pair, number[]>(PAIRS.map((pair) => [pair, []]))
  for (const pair of PAIRS) runStreams(pair)
  for (let round = 0; round < ROUNDS; round++) {
    for (const pair of PAIRS) rates.get(pair)?.push(runStreams(pair))
  }
  const bare = median(rates.get(UNTRANSLATED) ?? [])
  return PAIRS.map((pair) => {
    const rate = median(rates.get(pair) ?? [])
    return {
      what: `decoding, ${pair.name}`,
      figure: `${(rate / 1_000).toFixed(0)}k chunks/s`,
      beside: pair === UNTRANSLATED ? '1.00, untranslated' : `${(rate / bare).toFixed(2)} of the untranslated stream`,
    }
  })
}

/** Chunks a second over some streams. */
function runStreams({ wire, format, frames }: Pair): number {
  const body = { model: 'gpt-5-mini', max_tokens: 1_000, stream: true, messages: [{ role: 'user', content: 'hi' }] }
  const call = wire.read(buildRaw(JSON.stringify(body)))
  const plan = buildPlan({ offer: offerOf({ apiFormat: format }) })
  const start = performance.now()
  for (let stream = 0; stream < STREAMS_A_ROUND; stream++) {
    const decoder = call.decoder(plan)
    for (const frame of frames) decoder.push(frame)
    decoder.end()
    decoder.finish(RECEIPT)
  }
  return (STREAMS_A_ROUND * CHUNKS * 1_000) / (performance.now() - start)
}

function median(figures: readonly number[]): number {
  const sorted = [...figures].sort((left, right) => left - right)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}
