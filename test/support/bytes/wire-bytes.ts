import type { AnswerHead, Decoder, Offer } from '#data-plane/call.ts'
import { rankOffers } from '#data-plane/store/market.ts'
import type { OfferRow } from '#shared/contract/snapshot.ts'
import { buildOffer } from './build-market.ts'

/** Every member of a request that only routing reads. */
export const ROUTING_MEMBERS = {
  provider: 'a',
  provider_url: 'https://a.example',
  provider_base_url: 'https://a.example',
  providers_blocked: [],
  provider_order: ['a'],
  allow_untrusted: true,
  min_discount_pct: 5,
  max_price_per_1m: 3,
  usage: { include: true },
} as const

/** A frame of a chat stream with one choice, or with none. */
export function chatFrame(choice: object | null, rest: object = {}): string {
  const choices = choice === null ? [] : [{ index: 0, finish_reason: null, ...choice }]
  return `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'vendor', choices, ...rest })}\n\n`
}

/** An event of a messages stream. */
export function messagesEvent(data: { readonly type: string; readonly [member: string]: unknown }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
}

/** The head of a successful answer with this media type. */
export function headOf(contentType: string): AnswerHead {
  return { status: 200, contentType, headers: { 'content-type': contentType } }
}

/** An offer as the hot path has it. */
export function offerOf(given: Partial<OfferRow>): Offer {
  return rankOffers([buildOffer(given)])[0]!
}

/** The output of a decoder for bytes that are cut at these places, until their end. */
export function decodePieces(decoder: Decoder, given: string | Buffer, cuts: readonly number[]): string {
  const bytes = typeof given === 'string' ? Buffer.from(given) : given
  let out = ''
  let from = 0
  for (const cut of [...cuts, bytes.length]) {
    out += decoder.push(bytes.subarray(from, cut))
    from = cut
  }
  decoder.end()
  return out
}

/** Reads a member deep inside parsed data. */
export function dataOf(value: unknown, ...path: readonly string[]): unknown {
  let found: unknown = value
  for (const name of path) found = typeof found === 'object' && found !== null ? Reflect.get(found, name) : undefined
  return found
}
