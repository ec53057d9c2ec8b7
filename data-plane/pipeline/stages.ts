import type { z } from 'zod'
import type {
  AttemptPlan,
  BuyerReply,
  Decoder,
  Demand,
  MarketOffer,
  Metered,
  RawRequest,
  Receipt,
  Target,
  UpstreamRequest,
} from '#data-plane/call.ts'
import type { Hold, Settled } from '#data-plane/payment.ts'
import type { Settling } from '#data-plane/rails/rail.ts'
import type { ForwardedJob } from '#data-plane/store/forwarded-jobs.ts'
import type { RateStanding } from '#data-plane/store/rate-limits.ts'
import type { JobQuestion, ParsedCall } from '#data-plane/wires/wire.ts'
import type { Attempt, UsageEventSchema } from '#shared/contract/usage-event.ts'
import type { AppError } from '#shared/errors.ts'
import type { KeptBps } from '#shared/money.ts'
import type { Usage } from '#shared/usage.ts'
import type { AttemptResult } from './attempt-result.ts'
import type { CallRoute } from './call-plane.ts'
import type { CallQuote } from './plan/quote-call.ts'
import type { RankedOffers } from './plan/select-offers.ts'

// The stages of a call in their order: admitted, in turns, attempted, relayed, settled.

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
  /** The name of the conversation, which finds its next turn. */
  readonly conversation: string | undefined
  /** Ends the hold. */
  readonly payment: Settling
  readonly hold: Hold
  readonly feeBps: KeptBps
  /** Set for a request about a job at a provider. */
  readonly inquiry: JobInquiry | undefined
}

/** The members of an admitted call besides its request. */
export type Admitting = Pick<
  AdmittedCall,
  'target' | 'ranked' | 'quote' | 'conversation' | 'payment' | 'hold' | 'feeBps' | 'inquiry'
>

/** A parsed request, and the place for its answer. */
export type ReadCall = Pick<AdmittedCall, 'raw' | 'reply' | 'route' | 'parsed' | 'demand' | 'standing'>

/** A request about a job at a provider, the job, and the key that started it. */
export type JobInquiry = { readonly question: JobQuestion; readonly job: ForwardedJob; readonly offer: MarketOffer }

/** The attempts of the turns before. */
export type Before = Pick<Relay, 'attempts' | 'waitedMs'>

/** A turn of an admitted call: the attempts that it may make, and whether it has progress in the journal. */
export type Turn = {
  readonly call: AdmittedCall
  readonly before: Before
  /** Attempts of this turn and of the turns before it together. */
  readonly maxAttempts: number
  readonly decisionMs: number
  /** True once the journal has the call's progress. The call must then end in a capture, even of nothing. */
  hasProgress: boolean
}

/** The attempt whose content the buyer gets. */
export type Winner = { readonly plan: AttemptPlan; readonly request: UpstreamRequest; readonly decoder: Decoder }

/** An attempt at one offer: one exchange with its provider, or several when requests follow the first. */
export type AttemptJob = {
  readonly plan: AttemptPlan
  readonly request: UpstreamRequest
  readonly decoder: Decoder
  readonly turn: Turn
  /** The attempts before this one. */
  readonly before: readonly Attempt[]
  /** Monotonic milliseconds at which the whole call must be over. */
  readonly deadlineAt: number
}

/** The end of a relay. */
export type Relay = {
  /** The last attempt that began; absent when none could. */
  readonly last: (Winner & { readonly result: AttemptResult }) | undefined
  readonly attempts: readonly Attempt[]
  /** Set when the buyer gets no complete answer. */
  readonly error: AppError | undefined
  readonly isGone: boolean
  /** Milliseconds in which the call waited for providers. */
  readonly waitedMs: number
}

/** A relay that is over and not settled yet. */
export type Relayed = { readonly relay: Relay; readonly hasProgress: boolean; readonly decisionMs: number }

/** A usage event in its JSON form: amounts are digits. */
export type UsageEventText = Omit<z.input<typeof UsageEventSchema>, 'usage'> & { readonly usage: Usage }

export type Outcome = 'succeeded' | 'failed' | 'cut' | 'cancelled'

/** The end of a call: its charge, and the event that records it. */
export type Settlement = {
  readonly outcome: Outcome
  readonly receipt: Receipt
  readonly metered: Metered
  readonly event: string
  /** The way in which the booking learns of the call: by name or by event. */
  readonly booking: Settled['booking']
  /** Headers that the rail adds to the buyer's answer. */
  readonly headers: Settled['headers'] | undefined
  /** Set when the charge can never be taken. */
  readonly refusal: Settled['refusal'] | undefined
}
