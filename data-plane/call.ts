import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { Endpoint, Model } from '#shared/catalog/model.ts'
import type { OfferRow } from '#shared/contract/snapshot.ts'
import type { AppError } from '#shared/errors.ts'
import type { OfferId, RequestId } from '#shared/ids.ts'
import type { MicroUsd } from '#shared/money.ts'
import type { ReferencePrice } from '#shared/pricing.ts'
import type { BadAnswer } from '#shared/protocols/answers/bad-answer.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import type { EncodedRequest } from '#shared/protocols/provider-request.ts'
import type { Usage, UsageSource } from '#shared/usage.ts'
import type { Chargeable, Hold } from './payment.ts'

/** The head of a request: all that is known before its body is read. */
export type RequestHead = {
  readonly requestId: RequestId
  readonly method: string
  /** Path without query and without a `min{N}` segment. */
  readonly path: string
  readonly query: URLSearchParams
  readonly params: Readonly<Record<string, string>>
  readonly headers: IncomingHttpHeaders
  /** The floor of the path's `min{N}` segment, in percent. */
  readonly pathFloorPercent: number | undefined
  /** Unix milliseconds, and the monotonic reading of the same instant. */
  readonly receivedAt: number
  readonly startedAt: number
}

/** A request as it came in, before any protocol has read it. */
export type RawRequest = RequestHead & {
  readonly body: Buffer
  /** The body as it comes, in place of its bytes, where the row takes it so. */
  readonly stream?: Readable
}

/** A request at the door: its body is read once, when it is known who sends it. */
export type Incoming = {
  readonly head: RequestHead
  /** Throws AppError: `request_too_large`, `invalid_request` for a cut body, `overloaded` where there is no room for it. */
  read(): Promise<RawRequest>
}

/** Which providers a buyer wants, refuses or prefers, in any spelling. */
export type RoutingHints = {
  /** Allow-lists; several intersect. */
  readonly only: readonly (readonly string[])[]
  readonly blocked: readonly string[]
  readonly order: readonly string[]
  readonly allowsUntrusted: boolean | undefined
  /** The buyer's name for the conversation: it stays where it is in a prompt cache while that is cheapest. */
  readonly session?: string
  /** True where no other offer may take over from the first. */
  readonly isFirstOnly?: true
  /** True where measured speed goes before price. */
  readonly isFastestFirst?: true
}

/** What every call says of what it wants to buy. */
type AnyDemand = {
  readonly isStreamed: boolean
  readonly hints: RoutingHints
  /** Floors in percent from the body, the header and the path; the key's comes with the payer. */
  readonly floorPercents: readonly (number | undefined)[]
  /** The buyer's own ceiling for this call. */
  readonly maxCostMicro: MicroUsd | undefined
  /** True where the price of an answer is known before it begins: its head says it. */
  readonly hasFixedCharge?: true
}

/** A model is wanted, by the name that the buyer gave. */
export type ModelDemand = AnyDemand & {
  readonly kind: 'model'
  readonly endpoint: Endpoint
  readonly model: string
  /** Capabilities without which an answer would be wrong. */
  readonly needs: Needs
  /** The member of the request that holds the input, for refusals; `messages` unless said. */
  readonly inputParam?: string
  /** Bounds of what may be consumed, for the hold. */
  readonly bounds: DemandBounds
}

/** A provider's lent key (a resource) or a forwarded family is wanted: priced by the call or by what is counted of it. */
export type ForwardDemand = AnyDemand & {
  readonly kind: 'resource' | 'family'
  /** What the path names, and under which it is priced and sold. */
  readonly name: string
  /** One of few: figures are labelled with it. */
  readonly endpoint: string
  readonly bounds: { readonly units: UnitBounds }
}

/** What a call wants to buy: enough to route, to bound its cost and to refuse what nobody can serve. */
export type Demand = ModelDemand | ForwardDemand

export type Needs = {
  readonly imageInput: boolean
  /** Parameters that change what an answer means: a model that lists its parameters must list these. */
  readonly parameters?: readonly string[]
  /** True where only the OpenAI protocol can say what is asked: several answers, their log probabilities. */
  readonly openAiFormat?: boolean
}

export type DemandBounds = {
  /** UTF-8 bytes of text plus 64 a message: a token is at least one byte. */
  readonly inputTokens: number
  readonly inputImages: number
  /** Separate inputs, each of which may fill the context; one unless said. */
  readonly inputs?: number
  /** UTF-8 bytes of text alone: a quarter of it is the estimate where a provider gives no figure. */
  readonly inputBytes: number
  /** Output limit that the buyer gave, and how many answers; 0 where no output is sold. */
  readonly maxOutputTokens: number | undefined
  readonly choices: number
  /** What is sold by other units than tokens. */
  readonly units?: UnitBounds
}

/**
 * Characters, time and their kin: the most for the hold, and what counts where a provider gives no figure. What is sold
 * by them is paid whole or not at all: an answer that breaks off costs nothing.
 */
export type UnitBounds = { readonly most: Usage; readonly least: Usage }

/** What every call is about, whatever is bought. */
type AnyTarget = {
  /** What ledger, events and look-ups know it by. */
  readonly id: string
  /** What offers for it are listed under in the snapshot. */
  readonly listing: string
  /** What the buyer called it. */
  readonly requested: string
  readonly price: ReferencePrice
}

export type ModelTarget = AnyTarget & {
  readonly kind: 'model'
  readonly model: Model
  readonly endpoint: Endpoint
}

export type ForwardTarget = AnyTarget & Pick<ForwardDemand, 'kind' | 'endpoint'>

/** What a call resolved to and the price it is charged by, fixed for the whole call. */
export type Target = ModelTarget | ForwardTarget

/** What the buyer is told of the charge. */
export type Receipt = {
  readonly chargeMicro: MicroUsd
  readonly listMicro: MicroUsd
  readonly usage: Usage
  /** Members that the rail adds to the body; absent where it has none. */
  readonly members?: Readonly<Record<string, unknown>>
}

/** What serves a call: capacity on sale, or a provider of the payer's own. */
export type Offer = MarketOffer | OwnOffer

/** Capacity on sale in the market. */
export type MarketOffer = OfferRow & { readonly id: OfferId; readonly servedBy: 'marketplace' }

/** A provider of the payer's own: nobody sells here, it has no standing in the market, and it keeps none of the price. */
export type OwnOffer = Pick<
  OfferRow,
  'provider' | 'baseUrl' | 'apiFormat' | 'providerModel' | 'keptBps' | 'capDailyMicro' | 'credential'
> & { readonly id: null; readonly sellerAccount: null; readonly servedBy: 'own_key' | 'fallback_key' }

/** What an attempt at one offer needs beside the request itself. */
export type AttemptPlan<Of extends Target = Target> = {
  readonly rid: RequestId
  readonly offer: Offer
  readonly target: Of
  /** The output limit to forward: what was asked, what the model can do and what the hold covers, the least of them. */
  readonly maxOutputTokens: number
  /** Unix seconds of the admission: the `created` of the answer. */
  readonly createdAt: number
  /** True when the buyer's own ceiling for this call is what lowered the limit. */
  readonly isCeilingBound: boolean
}

/** The plan of a model's wire. */
export type ModelPlan = AttemptPlan<ModelTarget>

/** A request in a seller's protocol. */
export type UpstreamRequest = EncodedRequest & {
  /** Bytes in place of the text: sent piece by piece, never joined, so that a large body is not held twice. */
  readonly pieces?: readonly Buffer[]
}

/** What an answer held when it was over. */
export type Ending = {
  readonly reported: ReportedUsage
  readonly finishReason: string | null
  /** UTF-8 bytes of all content and of the reasoning among it, as delivered: a token is at least one byte. */
  readonly contentBytes: number
  readonly reasoningBytes: number
}

/** Turns a provider's bytes into the buyer's. Text before the first content is held back inside. */
export type Decoder = {
  /** The media type of the answer; absent where it is JSON, or an event stream when one was asked for. */
  contentType?(): string
  /** Whether a provider's answer of this media type, in lower case, can be read; absent as above. */
  takesType?(contentType: string): boolean
  /** Takes bytes and answers with what may be sent now; an empty string is nothing. */
  push(chunk: Buffer): string | Buffer
  /** Called once when the provider is done, however it ended. */
  end(): void
  /** Pieces of content so far; from the first on another offer may not take over. */
  contentPieces(): number
  /** True when the protocol's own end has been seen: what follows is ignored. */
  isDone(): boolean
  /** Set as soon as the bytes cannot be an answer. */
  failure(): BadAnswer | undefined
  /** What was received so far. */
  ending(): Ending
  /** Ends the answer early with finish reason `length`: nothing more is pushed. */
  stop(): void
  /** The last bytes, which carry the cost; for a whole reply, all of them. */
  finish(receipt: Receipt): string
  /** The wire's error as part of a stream that has begun; empty where it has no words for one and is broken off. */
  fail(error: AppError): string
  /** What to send in a silence; empty where nothing may be. */
  keepAlive(): string
}

/** An answer to a buyer as the pipeline sees it. */
export type BuyerReply = {
  /** Sends status and headers of a stream. */
  start(headers: Readonly<Record<string, string>>): void
  /** Sends a part of a stream; false asks to wait for `onDrain`. */
  write(part: string | Buffer): boolean
  end(text: string): void
  /** Breaks a stream off, so that nobody takes what was sent for all of it. */
  cut(): void
  /** Sends a whole reply. */
  whole(status: number, headers: Readonly<Record<string, string>>, body: string): void
  isStarted(): boolean
  /** True when the buyer has left before the end. */
  isGone(): boolean
  onGone(listener: () => void): void
  onDrain(listener: () => void): void
}

/** Facts of one finished call for counters and the log; labels are bounded. */
export type CallFacts = {
  readonly rid: RequestId
  readonly wire: string
  readonly model: string
  readonly provider: string | null
  readonly outcome: string
  readonly errorCode: string | null
  readonly status: number
  readonly isStreamed: boolean
  readonly attempts: number
  readonly durationMs: number
  readonly overheadMs: number
  readonly ttftMs: number | null
  readonly inputTokens: number
  readonly outputTokens: number
  readonly chargeMicro: MicroUsd
}

/** A provider's consumption as metered, and how the answer ended. */
export type Metered = {
  readonly usage: Usage
  readonly source: UsageSource
  readonly finishReason: string | null
  readonly anomalies: readonly string[]
}

/** How far a call has come, for a start after a kill. */
export type Progress = {
  readonly hold: Pick<Hold, 'rid'>
  readonly offer: OfferId | null
  readonly outputTokens: number
  readonly chargeMicro: MicroUsd
  /** The usage event that would be captured if the process died now, as one string. */
  readonly event: string
}

/** The append-only log on local disk. Appends never wait; `sync` resolves when all of them are on the disk. */
export type Journal = {
  progress(record: Progress): void
  /** Notes the usage event of a call as its capture. */
  capture(of: Pick<Chargeable, 'rid' | 'rail' | 'account'>, event: string): void
  sync(): Promise<void>
  /** False while nothing can be written: paid calls are refused then. */
  isWritable(): boolean
}

/** What of an offer its cap is about; a provider of the payer's own has none. */
export type CappedOffer = Pick<Offer, 'id' | 'capDailyMicro'>

/** Takes of an offer's daily cap, one per attempt. */
export type OfferCaps = {
  /** Takes from today's cap; false when it does not fit. */
  take(offer: CappedOffer, attempt: string, amountMicro: MicroUsd, ttlMs: number): Promise<boolean>
  /** Settles a take to what was charged; zero gives all of it back. Never rejects. */
  settle(offer: CappedOffer, attempt: string, usedMicro: MicroUsd): Promise<void>
}
