import type { BuyerReply, Demand, Offer, RawRequest, Target } from '#data-plane/call.ts'
import type { Hold } from '#data-plane/payment.ts'
import type { Settling } from '#data-plane/rails/rail.ts'
import type { RateStanding } from '#data-plane/store/rate-limits.ts'
import type { ParsedCall } from '#data-plane/wires/wire.ts'
import type { KeptBps } from '#shared/money.ts'
import type { CallRoute } from './call-plane.ts'
import type { AskedJob } from './forwarded-job.ts'
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
  /** The name of the conversation, by which its next turn is found. */
  readonly conversation: string | undefined
  /** Ends the hold. */
  readonly payment: Settling
  readonly hold: Hold
  readonly feeBps: KeptBps
  /** Set for a question about a job at a provider. */
  readonly asked: AskedJob | undefined
}

/** The members of an admitted call beside its request. */
export type Admitting = Pick<
  AdmittedCall,
  'target' | 'ranked' | 'quote' | 'conversation' | 'payment' | 'hold' | 'feeBps' | 'asked'
>

/** A request that has been read, and the place for its answer. */
export type ReadCall = Pick<AdmittedCall, 'raw' | 'reply' | 'route' | 'parsed' | 'demand' | 'standing'>

/**
 * Copies member by member, because this is made for every call and a literal with spreads takes some twenty times
 * longer.
 */
export function admittedCall(read: ReadCall, admitting: Admitting): AdmittedCall {
  const { raw, reply, route, parsed, demand, standing } = read
  const { target, ranked, quote, conversation, payment, hold, feeBps, asked } = admitting
  return {
    raw,
    reply,
    route,
    parsed,
    demand,
    standing,
    target,
    ranked,
    quote,
    conversation,
    payment,
    hold,
    feeBps,
    asked,
  }
}

/** Makes the list of offers when there is only one kind of them. */
export function onlyThese(candidates: readonly Offer[]): RankedOffers {
  return { candidates, excluded: [] }
}
