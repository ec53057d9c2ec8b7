import type { BuyerReply, Demand, Offer, RawRequest, Target } from '#data-plane/call.ts'
import type { Hold } from '#data-plane/payment.ts'
import type { Settling } from '#data-plane/rails/rail.ts'
import type { RateStanding } from '#data-plane/store/rate-limits.ts'
import type { ParsedCall } from '#data-plane/wires/wire.ts'
import type { KeptBps } from '#shared/money.ts'
import type { CallRoute } from './call-plane.ts'
import type { CallQuote } from './quote-call.ts'
import type { RankedOffers } from './select-offers.ts'

/** A call from its hold to its end. */
export type AdmittedCall = {
  readonly raw: RawRequest
  readonly reply: BuyerReply
  readonly route: CallRoute
  readonly parsed: ParsedCall
  readonly demand: Demand
  readonly standing: RateStanding | undefined
  readonly target: Target
  readonly ranked: RankedOffers
  readonly quote: CallQuote
  /** What the next turn of the same conversation will be known by. */
  readonly conversation: string | undefined
  /** What the hold is ended by. */
  readonly payment: Settling
  readonly hold: Hold
  readonly feeBps: KeptBps
}

/** What an admitted call is made of beside its request. */
export type Admitting = Pick<
  AdmittedCall,
  'target' | 'ranked' | 'quote' | 'conversation' | 'payment' | 'hold' | 'feeBps'
>

/** A request that has been read, with the place where its answer goes. */
export type ReadCall = Pick<AdmittedCall, 'raw' | 'reply' | 'route' | 'parsed' | 'standing'>

/** Member by member: a literal that spreads others is made some twenty times slower, and this is made for every call. */
export function admittedCall(read: ReadCall, admitting: Admitting): AdmittedCall {
  const { raw, reply, route, parsed, standing } = read
  const { target, ranked, quote, conversation, payment, hold, feeBps } = admitting
  return {
    raw,
    reply,
    route,
    parsed,
    demand: parsed.demand,
    standing,
    target,
    ranked,
    quote,
    conversation,
    payment,
    hold,
    feeBps,
  }
}

/** The offers of a list that has one kind of them. */
export function onlyThese(candidates: readonly Offer[]): RankedOffers {
  return { candidates, excluded: [] }
}
