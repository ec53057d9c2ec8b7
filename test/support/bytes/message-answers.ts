import { expect } from 'vitest'
import type { Receipt } from '#data-plane/call.ts'
import { messages } from '#data-plane/wires/messages/index.ts'
import { microUsd } from '#shared/money.ts'
import { buildOffer, buildPlan, buildRaw } from './build-market.ts'
import { decodePieces, offerOf } from './wire-bytes.ts'

/** A request that every seller can answer. */
const GOOD = { model: 'gpt-5-mini', max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] }
/** The charge of the answer to that request. */
export const RECEIPT: Receipt = {
  chargeMicro: microUsd(38),
  listMicro: microUsd(75),
  listInputMicro: microUsd(25),
  usage: { input: 8, cacheRead: 4, cacheWrite: 2, output: 5, reasoning: 1 },
}
/** The same usage in the terms of the messages wire. */
export const USAGE = {
  input_tokens: 8,
  cache_creation_input_tokens: 2,
  cache_read_input_tokens: 4,
  cache_creation: { ephemeral_5m_input_tokens: 2, ephemeral_1h_input_tokens: 0 },
  output_tokens: 6,
  cost: 0.000038,
  buyer_cost_micro: 38,
  cost_details: {
    upstream_inference_cost: 0.000075,
    upstream_inference_prompt_cost: 0.000025,
    upstream_inference_completions_cost: 0.00005,
  },
}

const read = (body: object) => messages.read(buildRaw(JSON.stringify(body)))

/** The events of a stream, each with its name and its parsed data. The two must agree. */
export function eventsOf(text: string): { type: string; [member: string]: unknown }[] {
  return text
    .split('\n\n')
    .filter((part) => part !== '')
    .map((part) => {
      const match = /^event: ([a-z_]+)\ndata: ([^\n\r]*)$/.exec(part)
      expect(match, part).not.toBeNull()
      const data = JSON.parse(match?.[2] ?? '')
      expect(data.type).toBe(match?.[1])
      return data
    })
}

/** A streamed message from a seller's bytes, cut at these places. */
export function streamMessage(chunks: string, offer = buildOffer(), cuts: readonly number[] = []) {
  const plan = buildPlan({ offer: offerOf(offer) })
  const decoder = read({ ...GOOD, stream: true }).decoder(plan)
  const out = decodePieces(decoder, chunks, cuts)
  return { decoder, plan, out, whole: () => out + decoder.finish(RECEIPT) }
}

/** A whole message from a seller's body. */
export function wholeMessage(body: object | string, offer = buildOffer()) {
  const decoder = read(GOOD).decoder(buildPlan({ offer: offerOf(offer) }))
  decodePieces(decoder, typeof body === 'string' ? body : JSON.stringify(body), [])
  return decoder
}
