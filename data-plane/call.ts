import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { Endpoint, Model } from '#shared/catalog/model.ts'
import type { HostList } from '#shared/catalog/provider-hosts.ts'
import type { ClipShape, SourceRole } from '#shared/clips.ts'
import type { OfferRow } from '#shared/contract/snapshot.ts'
import type { AppError } from '#shared/errors.ts'
import type { HeardAudio } from '#shared/heard-audio.ts'
import type { OfferId, RequestId } from '#shared/ids.ts'
import type { ImageBounds } from '#shared/images.ts'
import type { JsonMember } from '#shared/json-members.ts'
import type { CostlyMember } from '#shared/members/surcharge.ts'
import type { MicroUsd, PicoUsd } from '#shared/money.ts'
import type { PriceFacts, ReferencePrice, ServiceTier } from '#shared/price-list.ts'
import type { BadAnswer } from '#shared/protocols/answers/bad-answer.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import type { EncodedRequest } from '#shared/protocols/provider-request.ts'
import type { RouteMatch } from '#shared/resources/compile-resource.ts'
import type { GivenAnswer } from '#shared/resources/quote-resource.ts'
import type { PathPattern } from '#shared/rules/path-pattern.ts'
import type { SpokenText } from '#shared/spoken-text.ts'
import type { Usage, UsageSource } from '#shared/usage.ts'
import type { Chargeable, Hold } from './payment.ts'
import type { TurnSeal } from './wires/turn-seal.ts'

/** The head of a request, which is known before its body is read. */
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
  /** The network address of its sender, as limits count it. */
  peer(): string
}

/** A request as it came in. No protocol has read it yet. */
export type RawRequest = RequestHead & {
  readonly body: Buffer
  /** The body as it comes. It is set instead of the bytes where the row takes a stream. */
  readonly stream?: Readable
  /** SHA-256 in hex of that stream as far as it has come. Set where a wallet pays. */
  contentDigest?(): string
  /** The value of a large JSON body. It was read in steps, so that it stalls nobody. */
  readonly json?: JsonBody
}

/** The place of inlined data in a body: a member at the top, or all that hold pictures to begin with. */
export type InlinedIn = 'messages' | 'input' | 'body' | 'sources'

/** The bytes of a message, in one piece or in those in which they came, and whether its text has stand-ins for parts of them. */
export type InlinedSource = {
  readonly bytes: Buffer | readonly Buffer[]
  readonly hasStandIns: boolean
  /** True for bytes of files, which become base64 as they are sent. */
  readonly isPlain?: true
}

/** A JSON request as it was read: its own text, where each member stands in it, and what it means. */
export type JsonBody = InlinedSource & {
  readonly bytes: Buffer
  readonly text: string
  readonly members: readonly JsonMember[]
  readonly body: Readonly<Record<string, unknown>>
  /** The beginning of the texts that stand for integers past 2^53 in the body. Absent where there are none. */
  readonly integerMark?: string | undefined
}

/** A request at the door. Its body is read once, when its sender is known. */
export type Incoming = {
  readonly head: RequestHead
  /**
   * Throws AppError: `request_too_large`, `invalid_request` for a cut body, `invalid_json` for a large one that is none,
   * `overloaded` when there is no room for it.
   */
  read(): Promise<RawRequest>
  /** Bytes of a large body that have come; 0 for a small one. */
  largeBytes(): number
}

/** The providers that a buyer wants, refuses or prefers, in any spelling. */
export type RoutingHints = {
  /** Allow-lists. A provider must be in all of them. */
  readonly only: readonly (readonly string[])[]
  readonly blocked: readonly string[]
  readonly order: readonly string[]
  readonly allowsUntrusted: boolean | undefined
  /**
   * The buyer's name for the conversation. It stays at the offer that has it in a prompt cache while that is cheapest.
   */
  readonly session?: string
  /** True when no other offer may take over from the first. */
  readonly isFirstOnly?: true
  /** True when measured speed goes before price, false when price is asked for by name. */
  readonly isFastestFirst?: boolean
}

/** The members of every demand. */
type AnyDemand = {
  readonly isStreamed: boolean
  readonly hints: RoutingHints
  /** Floors in percent from the body, the header and the path. The key's floor comes with the payer. */
  readonly floorPercents: readonly (number | undefined)[]
  /** The buyer's own ceiling for this call, in micro-USD. */
  readonly maxCostMicro: MicroUsd | undefined
  /** True where a stream's provider works in silence. Only the limit of the whole call ends it then. */
  readonly isWorkedInSilence?: true
}

/** A demand for a model, by the name that the buyer gave. */
export type ModelDemand = AnyDemand & {
  readonly kind: 'model'
  readonly endpoint: Endpoint
  readonly model: string
  /** Capabilities without which an answer would be wrong. */
  readonly needs: Needs
  /** The member of the request that holds the input, for refusals; `messages` by default. */
  readonly inputParam?: string
  /** The most that may be consumed, for the hold. */
  readonly bounds: DemandBounds
  /** The same request as a demand for another endpoint, for a model that lacks this one. */
  readonly otherwise?: ModelDemand
}

/**
 * A demand for a resource (a provider's lent key) or a forwarded family. It is priced by units that the request shows,
 * and its price comes from the record by which the request was read.
 */
export type ForwardDemand = AnyDemand & {
  readonly kind: 'resource' | 'family'
  /** The id of the record. Lent keys are listed under it. */
  readonly name: string
  /** The route of the record that the call fits. */
  readonly endpoint: string
  /** The good that is bought; null for a call that buys nothing. */
  readonly good: string | null
  readonly price: ReferencePrice
  readonly lentDemand: LentDemand
  readonly bounds: { readonly units: UnitBounds }
}

/** The parts of a forwarded call that the rules of a lent key may be about. */
export type LentDemand = {
  /** Traits that the account must claim. */
  readonly traits: readonly string[]
  readonly good: string | null
  readonly method: string
  /** The path at the provider. */
  readonly path: string
}

/**
 * The thing that a call wants to buy. It suffices to route the call, to bound its cost and to refuse what nobody can
 * serve.
 */
export type Demand = ModelDemand | ForwardDemand

export type Needs = {
  readonly imageInput: boolean
  /** The parts that pictures play in a film; absent where none is given. Each stands with its member's name. */
  readonly sourceRoles?: readonly { readonly role: SourceRole; readonly param: string }[]
  /** Documents that are no plain text, some of them by an address, or all as data. Absent where there are none. */
  readonly documents?: 'data' | 'url'
  /** Parameters that change the meaning of an answer. A model that lists its parameters must list these. */
  readonly parameters?: readonly string[]
  /** The member of the request for which the model must have the older completions protocol. */
  readonly completionsFor?: string
  /** The member that asks for an answer in a format; absent when none is asked for. */
  readonly formatParam?: string
  /** True when only the OpenAI protocol can express the request: several choices, or log probabilities. */
  readonly openAiFormat?: boolean
  /** True for pictures that come as a stream. */
  readonly streamedPictures?: boolean
  /** The member that asks for pictures in a conversation; absent when none are asked for. */
  readonly picturesParam?: string
  /** Members that make the call dearer than its tokens or pieces say. Absent or empty where there are none. */
  readonly costly?: readonly CostlyMember[]
  /** The most searches that the tools of the request order at the model's maker; absent where there is no such tool. */
  readonly searches?: number
}

export type DemandBounds = {
  /** UTF-8 bytes of text plus 64 for each message. A token is at least one byte, so this bounds the tokens. */
  readonly inputTokens: number
  readonly inputImages: number
  /** Separate inputs, each of which may fill the context; 1 by default. */
  readonly inputs?: number
  /** True where the tokens of a part do not follow from its bytes. The call may then fill the model's context. */
  readonly isOpenEnded?: boolean
  /** True where the request predicts its answer. Predicted tokens that the model rejects are output that nobody sees. */
  readonly isPredicted?: boolean
  /** UTF-8 bytes of text alone. A quarter of it is the estimate of tokens where a provider gives no figure. */
  readonly inputBytes: number
  /** The buyer's output limit, and the number of choices; 0 where no output is sold. */
  readonly maxOutputTokens: number | undefined
  readonly choices: number
  /** Bounds of units other than tokens; absent for a sale by tokens. */
  readonly units?: UnitBounds
  /** The text that is to be spoken. It counts where the voice is sold by its tokens, and `units` do where it is not. */
  readonly speech?: SpokenText
  /** The audio that is to be written down. It counts where the model is sold by tokens, and `units` do where it is not. */
  readonly audio?: HeardAudio
  /** The pictures that are asked for. Their model says whether it sells them by tokens, by the piece or by area. */
  readonly images?: ImageBounds
  /** The film or music that is asked for. Its model says what is usual, and the unit that it is sold by. */
  readonly clip?: ClipShape & {
    /** The size that says the resolution, in the buyer's words. */
    readonly size?: string
  }
  /**
   * The bounds of each exchange with the provider where the call is several, one after another. The members above are
   * their sums. Absent for one exchange.
   */
  readonly each?: readonly DemandBounds[]
}

/**
 * Bounds of characters, time and other units. `most` is for the hold; `least` counts where a provider gives no figure.
 * Such an answer is paid whole or not at all: one that breaks off costs nothing.
 */
export type UnitBounds = { readonly most: Usage; readonly least: Usage }

/** The members of every target. */
type AnyTarget = {
  /** The resource's name in the ledger, in events and in look-ups. */
  readonly id: string
  /** The name under which the snapshot lists its offers. */
  readonly listing: string
  /** The resource's name in the buyer's request. */
  readonly requested: string
  readonly price: ReferencePrice
}

export type ModelTarget = AnyTarget & {
  readonly kind: 'model'
  readonly model: Model
  readonly endpoint: Endpoint
}

export type ForwardTarget = AnyTarget & Pick<ForwardDemand, 'kind' | 'name' | 'endpoint' | 'good'>

/** The thing that a call buys, and the price by which it is charged. Both are fixed for the whole call. */
export type Target = ModelTarget | ForwardTarget

/** The facts of the charge that the buyer is told. */
export type Receipt = {
  readonly chargeMicro: MicroUsd
  readonly listMicro: MicroUsd
  /** The part of the list cost that the input makes up. The output makes up the rest. */
  readonly listInputMicro: MicroUsd
  readonly usage: Usage
  /** The buyer's parameters that were left out or changed for the provider that answered. */
  readonly adaptedParams?: readonly string[]
  /** Members that the rail adds to the body; absent when it adds none. */
  readonly members?: Readonly<Record<string, unknown>>
}

/** An offer that can serve a call: capacity on sale, or a provider of the payer's own. */
export type Offer = MarketOffer | OwnOffer

/** Capacity on sale in the market. `lent` holds the terms of a lent key. */
export type MarketOffer = OfferRow & {
  readonly id: OfferId
  readonly servedBy: 'marketplace'
  readonly lent?: LentTerms
}

/** The uses that the lender of a key allows. Null allows everything. */
export type LentTerms = {
  readonly traits: ReadonlySet<string>
  readonly goods: ReadonlySet<string> | null
  readonly methods: ReadonlySet<string> | null
  readonly paths: readonly PathPattern[] | null
  readonly ratePerMinute: number | null
  /** The most of today's cap that one buyer may use. */
  readonly buyerCapMicro: MicroUsd | null
}

/**
 * A provider of the payer's own. Nobody sells it, it has no standing in the market, and its buyer pays nothing of the
 * price.
 */
export type OwnOffer = Pick<
  OfferRow,
  'provider' | 'baseUrl' | 'apiFormat' | 'providerModel' | 'keptBps' | 'capDailyMicro' | 'credential'
> & { readonly id: null; readonly sellerAccount: null; readonly servedBy: 'own_key' | 'fallback_key' }

/** The facts that an attempt at one offer needs beside the request itself. */
export type AttemptPlan<Of extends Target = Target> = {
  readonly rid: RequestId
  readonly offer: Offer
  readonly target: Of
  /** The output limit to forward: the least of what was asked, what the model can do and what the hold covers. */
  readonly maxOutputTokens: number
  /** Unix seconds of the admission. They are the `created` of the answer. */
  readonly createdAt: number
  /** True when the buyer's own ceiling for this call has lowered the limit. */
  readonly isCeilingBound: boolean
  /** Seals what the provider wants to see again, where the buyer's wire has no place for it. */
  readonly seal: TurnSeal
}

/** The plan of a model's wire. */
export type ModelPlan = AttemptPlan<ModelTarget>

/** A request in a seller's protocol. */
export type UpstreamRequest = EncodedRequest & {
  /**
   * Bytes in place of the text. They are sent piece by piece and never joined, so that a large body is not held twice.
   */
  readonly pieces?: Iterable<Buffer>
  /** Bytes of all pieces, where they are made only as they are sent. */
  readonly piecesBytes?: number
  /** Requests that follow this one, each when the one before it is answered. The answer is the answers to all. */
  readonly following?: readonly UpstreamRequest[]
  /** Set where the request is the buyer's own and goes on as it came. */
  readonly passedOn?: PassedOn
}

/** The parts of a buyer's own request that go on to a provider. */
export type PassedOn = {
  /** The whole address, on one of the hosts of the record. */
  readonly url: string
  readonly hosts: HostList
  /** The id of the record. A key that was sealed for another one is not sent. */
  readonly sealedFor: string
  /** The header that carries the key, and what stands before the key in it. */
  readonly credential: { readonly header: string; readonly prefix: string }
  /** Names and values of the buyer's headers that a provider may see, one after another. */
  readonly headers: readonly string[]
  /** The body as it comes, which can be sent once. Absent where the bytes stand in `pieces`. */
  readonly stream?: Readable
  /** The length of the stream; undefined where its sender did not say it. */
  readonly length?: number | undefined
}

/** The head of a provider's answer. */
export type AnswerHead = {
  readonly status: number
  /** In lower case; empty where there is none. */
  readonly contentType: string
  readonly headers: IncomingHttpHeaders
}

/** The contents of an answer when it was over. */
export type Ending = {
  readonly reported: ReportedUsage
  readonly finishReason: string | null
  /** UTF-8 bytes delivered of all content, and of the reasoning in it. A token is at least one byte. */
  readonly contentBytes: number
  readonly reasoningBytes: number
  /** The ending of each exchange so far where there are several. Each is metered by its own figures. */
  readonly each?: readonly Ending[]
  /** True where the answer broke off. A figure of zero is none yet. */
  readonly isUnfinished?: boolean
  /** Set for a forwarded answer. */
  readonly forwarded?: ForwardedUsage
}

/** The units that a forwarded answer is charged for, and what is strange about them. */
export type ForwardedUsage = {
  readonly usage: Usage
  readonly isReported: boolean
  readonly anomalies: readonly string[]
}

/** A file within an answer that its buyer wants a link to. */
export type AnswerFile = {
  /** The file's place in the answer. */
  readonly index: number
  readonly contentType: string
  readonly pieces: Iterable<Uint8Array>
  /** Puts a link in the place of the bytes. */
  link(url: string): void
}

/** A job that a forwarded call has started. */
export type StartedJob = {
  /** The provider's id of it. */
  readonly id: string
  /** Captures from the path of its submit. */
  readonly captures: RouteMatch['captures']
}

/** A provider's word about a job, and the answer in which it stands. */
export type JobWord = { readonly state: 'done' | 'failed' | 'unknown'; readonly given: GivenAnswer }

/** The head of an answer to the buyer. */
export type AnswerStart = { readonly status: number; readonly headers: Readonly<Record<string, string>> }

/** The head of a provider's answer, and that of the buyer's. */
export type DecoderHead = {
  /** The media type of the answer; absent when it is JSON, or an event stream that was asked for. */
  contentType?(): string
  /** True when the answer that begins so can be read. Absent as for `contentType`: then it has status 200. */
  takes?(head: AnswerHead): boolean
  /** Takes the headers of a good answer. Absent where nothing is read of them. */
  takeHeaders?(headers: AnswerHead['headers']): void
  /** The status of the answer where it is not 200, and headers of its own. */
  start?(): AnswerStart
  /** True when the answer is held until its end, although it may have been a stream. Absent where the demand decides. */
  isHeld?(): boolean
  /**
   * True when its usage is known although it is not over. False where it is known at the end of an answer that may have no
   * place for it. Absent where the last bytes say it.
   */
  isPriced?(): boolean
}

/** The job that a request starts or asks about. */
export type DecoderJob = {
  /** The job that the request has started at its provider. */
  started(): StartedJob | undefined
  /** The state of the job in a held answer to a question about it; undefined before the answer's end. */
  reported(): JobWord | undefined
}

/** The parts of a whole answer that its text alone does not have. */
export type DecoderWhole = {
  /** The files that go out as links once they are kept; absent where there are never any. */
  files?(): readonly AnswerFile[]
  /** The buyer's parameters that the answer does not follow, beside those that were changed for the provider. */
  adaptedParams?(): readonly string[]
  /** The bytes of `finish` where they may be large, as pieces that are never joined. Undefined for an answer that is small. */
  pieces(receipt: Receipt): readonly Buffer[] | undefined
}

/** Turns a provider's bytes into the buyer's. It holds back text before the first content. */
export type Decoder = {
  /** Absent where every answer has status 200 and the media type that was asked for. */
  readonly head?: DecoderHead
  /** Absent where no request has to do with a job. */
  readonly job?: DecoderJob
  /** Absent where a whole answer is its text. */
  readonly whole?: DecoderWhole | undefined
  /** Takes bytes and answers with what may be sent now. An empty string means nothing. */
  push(chunk: Buffer): string | Buffer
  /** Called once when the provider is done, however it ended. */
  end(): void
  /** Goes on to the answer to the next of several requests. Absent where there is one request. */
  goOn?(): void
  /** Pieces of content so far. After the first no other offer may take over. */
  contentPieces(): number
  /** True when the protocol's own end of the answer under way has been seen. Later bytes of it are ignored. */
  isDone(): boolean
  /** Set as soon as the bytes cannot be an answer. */
  failure(): BadAnswer | undefined
  /** The usage and the content received so far. */
  ending(): Ending
  /** Ends the answer early with finish reason `length`. Nothing is pushed after it. */
  stop(): void
  /** The last bytes, which carry the cost. For a whole reply they are all of it. */
  finish(receipt: Receipt): string
  /** The wire's error inside a stream that has begun; empty when it has no such error and the stream is broken off. */
  fail(error: AppError): string
  /** The bytes to send in a silence; empty when nothing may be sent. */
  keepAlive(): string
}

/** An answer to a buyer, for the pipeline. */
export type BuyerReply = {
  /** Sends status and headers of a stream; 200 by default. `trailers` names headers that follow its end. */
  start(headers: Readonly<Record<string, string>>, status?: number, trailers?: readonly string[]): void
  /** Sends a part of a stream. False asks the caller to wait for `onDrain`. */
  write(part: string | Buffer): boolean
  /** Ends a stream, with those of the trailers that it has announced. */
  end(text: string, trailers?: Readonly<Record<string, string>>): void
  /** Breaks a stream off, so that nobody takes the sent part for all of it. */
  cut(): void
  /** Sends a whole reply. */
  whole(status: number, headers: Readonly<Record<string, string>>, body: string | readonly Buffer[]): void
  isStarted(): boolean
  /** True when the buyer has left before the end. */
  isGone(): boolean
  onGone(listener: () => void): void
  onDrain(listener: () => void): void
  /** Listens for its end: the buyer has all of it, or has left. */
  onClosed(listener: () => void): void
}

/** Facts of one finished call for counters and the log. Labels have few values. */
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

/** Facts of a call beside its prompt and its tier. */
export type ServedFacts = Omit<PriceFacts, 'promptTokens' | 'serviceTier'>

/** The metered usage of an answer, and its finish reason. */
export type Metered = {
  readonly usage: Usage
  /** The usage of each exchange where the call was several and the price list has conditions. They add up to `usage`. */
  readonly each?: readonly Usage[]
  /** The tier that served the call, where the buyer asked for it. Absent for the standard one. */
  readonly serviceTier?: ServiceTier
  /** The other facts of the call that its price list may have conditions about. Absent where it has none. */
  readonly facts?: ServedFacts
  readonly source: UsageSource
  readonly finishReason: string | null
  readonly anomalies: readonly string[]
  /** The cost by the provider's own account, whether or not anybody pays for the call. */
  readonly ownCost?: PicoUsd
}

/** The progress of a call, for a start after a kill. */
export type Progress = {
  readonly hold: Pick<Hold, 'rid'>
  readonly offer: OfferId | null
  readonly outputTokens: number
  readonly chargeMicro: MicroUsd
  /** The usage event as text that would be captured if the process died now. */
  readonly event: string
}

/** The append-only log on the local disk. Appends never wait. `sync` resolves when all of them are on the disk. */
export type Journal = {
  progress(record: Progress): void
  /** Notes the usage event of a call as its capture. */
  capture(of: Pick<Chargeable, 'rid' | 'rail' | 'account'>, event: string): void
  sync(): Promise<void>
  /** False while nothing can be written. Then paid calls are refused. */
  isWritable(): boolean
}

/** The members of an offer that its cap needs. A provider of the payer's own has no cap. */
export type CappedOffer = Pick<Offer, 'id' | 'capDailyMicro'>

/** Takes of an offer's daily cap, one per attempt. */
export type OfferCaps = {
  /** Takes an amount from today's cap. Answers false when it does not fit. */
  take(offer: CappedOffer, attempt: string, amountMicro: MicroUsd, ttlMs: number): Promise<boolean>
  /** Settles a take to the charge. Zero gives all of it back. Never rejects. */
  settle(offer: CappedOffer, attempt: string, usedMicro: MicroUsd): Promise<void>
}
