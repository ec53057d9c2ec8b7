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

/** A request as it arrived, before any protocol has parsed it. */
export type RawRequest = RequestHead & {
  readonly body: Buffer
  /** The body as a stream. It replaces the bytes when the row takes a stream. */
  readonly stream?: Readable
  /** SHA-256 in hex of the part of the stream that has arrived. Set when a wallet pays. */
  contentDigest?(): string
  /** The value of a large JSON body, which was parsed in steps so that it delays no other call. */
  readonly json?: JsonBody
}

/**
 * The place of inlined data in a body: a top-level member, or `sources` for all members whose value may begin with an
 * image.
 */
export type InlinedIn = 'messages' | 'input' | 'body' | 'sources'

/**
 * The bytes of a message, in one piece or in the received pieces, and whether its text has stand-ins for parts of the
 * bytes.
 */
export type InlinedSource = {
  readonly bytes: Buffer | readonly Buffer[]
  readonly hasStandIns: boolean
  /** True for bytes of files, which become base64 as they are sent. */
  readonly isPlain?: true
}

/** A parsed JSON request: its own text, the place of each member in it, and its value. */
export type JsonBody = InlinedSource & {
  readonly bytes: Buffer
  readonly text: string
  readonly members: readonly JsonMember[]
  readonly body: Readonly<Record<string, unknown>>
  /** The prefix of texts that replace integers past 2^53 in the body. Absent without such integers. */
  readonly integerMark?: string | undefined
}

/** A request that has just arrived. Its body is read once its sender is known. */
export type Incoming = {
  readonly head: RequestHead
  /**
   * Throws AppError: `request_too_large`, `invalid_request` for a cut body, `invalid_json` for a large body that is not
   * JSON, `overloaded` without room for it.
   */
  read(): Promise<RawRequest>
  /** Received bytes of a large body; 0 for a small one. */
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
   * The buyer's name for the conversation. The conversation stays at the offer whose prompt cache has it, as long as
   * this offer is the cheapest.
   */
  readonly session?: string
  /** True when no other offer may take over from the first. */
  readonly isFirstOnly?: true
  /** True when measured speed has precedence over price, false when the buyer asks for price by name. */
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
  /**
   * True when the provider of a stream may be silent for long. Then only the limit of the whole call ends the stream.
   */
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
  /** The most that may be used, for the hold. */
  readonly bounds: DemandBounds
  /** The same request as a demand for another endpoint, for a model without this one. */
  readonly otherwise?: ModelDemand
}

/**
 * A demand for a resource (a provider's lent key) or a forwarded family. Its units are counted from the request, and
 * its price comes from the record that parsed the request.
 */
export type ForwardDemand = AnyDemand & {
  readonly kind: 'resource' | 'family'
  /** The id of the record. Lent keys are listed under it. */
  readonly name: string
  /** The route of the record that the call fits. */
  readonly endpoint: string
  /** The purchased good; null for a call that buys nothing. */
  readonly good: string | null
  readonly price: ReferencePrice
  readonly lentDemand: LentDemand
  readonly bounds: { readonly units: UnitBounds }
}

/** The parts of a forwarded call that rules of a lent key may concern. */
export type LentDemand = {
  /** Traits that the account must claim. */
  readonly traits: readonly string[]
  readonly good: string | null
  readonly method: string
  /** The path at the provider. */
  readonly path: string
}

/**
 * The purchase that a call asks for. It suffices to route the call, to bound its cost and to refuse an impossible call.
 */
export type Demand = ModelDemand | ForwardDemand

export type Needs = {
  readonly imageInput: boolean
  /**
   * The roles of a video's input images; absent without images. Each role has the name of the request's member that
   * holds the image.
   */
  readonly sourceRoles?: readonly { readonly role: SourceRole; readonly param: string }[]
  /**
   * The form of documents other than plain text: `url` when any comes by URL, else `data`. Absent without such a
   * document.
   */
  readonly documents?: 'data' | 'url'
  /** Parameters that change the meaning of an answer. A model that lists its parameters must list these. */
  readonly parameters?: readonly string[]
  /** The member of the request that needs the older completions protocol. */
  readonly completionsFor?: string
  /** The member that asks for an answer in a format; absent without one. */
  readonly formatParam?: string
  /** True when only the OpenAI protocol can express the request: several choices, or log probabilities. */
  readonly openAiFormat?: boolean
  /** True for images that are streamed. */
  readonly streamedPictures?: boolean
  /** The member that asks for images in a conversation; absent without one. */
  readonly picturesParam?: string
  /** Members that raise the call's cost above its tokens or pieces. Absent or empty without any. */
  readonly costly?: readonly CostlyMember[]
  /** The most searches that the tools of the request order from the model's maker; absent without such a tool. */
  readonly searches?: number
}

export type DemandBounds = {
  /** UTF-8 bytes of text plus 64 for each message. A token is at least one byte, so this bounds the tokens. */
  readonly inputTokens: number
  readonly inputImages: number
  /** Separate inputs, each of which may fill the context; 1 by default. */
  readonly inputs?: number
  /** True when the tokens of a part do not follow from its bytes. The call may then fill the model's context. */
  readonly isOpenEnded?: boolean
  /** True when the request predicts its answer. Predicted tokens that the model rejects are invisible output. */
  readonly isPredicted?: boolean
  /** UTF-8 bytes of text alone. A quarter of it estimates the tokens when a provider gives no figure. */
  readonly inputBytes: number
  /** The buyer's output limit, and the number of choices; 0 when no output is priced. */
  readonly maxOutputTokens: number | undefined
  readonly choices: number
  /** Bounds of units other than tokens; absent for a price by tokens. */
  readonly units?: UnitBounds
  /** The text to speak. It counts for a price by tokens; `units` count for any other price. */
  readonly speech?: SpokenText
  /** The audio to transcribe. It counts for a price by tokens; `units` count for any other price. */
  readonly audio?: HeardAudio
  /** The requested images. Their model decides whether tokens, pieces or area are priced. */
  readonly images?: ImageBounds
  /** The requested video or music. Its model has the defaults and the priced unit. */
  readonly clip?: ClipShape & {
    /** The size from which the resolution follows, in the buyer's form. */
    readonly size?: string
  }
  /**
   * The bounds of each exchange with the provider when the call makes several, one after another. The members above are
   * their sums. Absent for one exchange.
   */
  readonly each?: readonly DemandBounds[]
}

/**
 * Bounds of characters, time and other units. `most` is for the hold; `least` counts when a provider gives no figure.
 * Such an answer is paid whole or not at all: an interrupted one costs nothing.
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

/** The purchase of a call, and its price. Both are fixed for the whole call. */
export type Target = ModelTarget | ForwardTarget

/** The facts of the charge for the buyer. */
export type Receipt = {
  readonly chargeMicro: MicroUsd
  readonly listMicro: MicroUsd
  /** The input part of the list cost. The output is the rest. */
  readonly listInputMicro: MicroUsd
  readonly usage: Usage
  /** The buyer's parameters that were left out or changed for the provider that answered. */
  readonly adaptedParams?: readonly string[]
  /** Members that the rail adds to the body; absent without any. */
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
 * A provider of the payer's own. It has no seller and no rating in the market, and its buyer pays nothing of the price.
 */
export type OwnOffer = Pick<
  OfferRow,
  'provider' | 'baseUrl' | 'apiFormat' | 'providerModel' | 'keptBps' | 'capDailyMicro' | 'credential'
> & { readonly id: null; readonly sellerAccount: null; readonly servedBy: 'own_key' | 'fallback_key' }

/** The facts that an attempt at one offer needs besides the request. */
export type AttemptPlan<Of extends Target = Target> = {
  readonly rid: RequestId
  readonly offer: Offer
  readonly target: Of
  /** The output limit to forward: the least of the requested limit, the model's limit and the hold's. */
  readonly maxOutputTokens: number
  /** Unix seconds of the admission. They are the `created` of the answer. */
  readonly createdAt: number
  /** True when the buyer's own ceiling has lowered the limit. */
  readonly isCeilingBound: boolean
  /** Seals data that the provider expects back, when the buyer's wire has no place for it. */
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
  /** Bytes of all pieces, when they are made only as they are sent. */
  readonly piecesBytes?: number
  /**
   * Requests that follow this one, each after the answer to the one before. The answer consists of the answers to all.
   */
  readonly following?: readonly UpstreamRequest[]
  /** Set for a buyer's own request that is forwarded unchanged. */
  readonly passedOn?: PassedOn
}

/** The forwarded parts of a buyer's own request. */
export type PassedOn = {
  /** The whole URL, on one of the record's hosts. */
  readonly url: string
  readonly hosts: HostList
  /** The id of the record. A key that was sealed for another record is not sent. */
  readonly sealedFor: string
  /** The header of the key, and the text before the key in it. */
  readonly credential: { readonly header: string; readonly prefix: string }
  /** Names and values of the buyer's headers that a provider may see, one after another. */
  readonly headers: readonly string[]
  /** The body as a stream, which can be sent once. Absent when the bytes are in `pieces`. */
  readonly stream?: Readable
  /** The length of the stream; undefined when its sender did not declare it. */
  readonly length?: number | undefined
}

/** The head of a provider's answer. */
export type AnswerHead = {
  readonly status: number
  /** In lower case; empty without one. */
  readonly contentType: string
  readonly headers: IncomingHttpHeaders
}

/** The content of an answer at its end. */
export type Ending = {
  readonly reported: ReportedUsage
  readonly finishReason: string | null
  /** UTF-8 bytes delivered of all content, and of the reasoning in it. A token is at least one byte. */
  readonly contentBytes: number
  readonly reasoningBytes: number
  /** The ending of each exchange so far when there are several. Each is metered by its own figures. */
  readonly each?: readonly Ending[]
  /** True for an interrupted answer. A figure of zero is not final then. */
  readonly isUnfinished?: boolean
  /** Set for a forwarded answer. */
  readonly forwarded?: ForwardedUsage
}

/** The charged units of a forwarded answer, and their anomalies. */
export type ForwardedUsage = {
  readonly usage: Usage
  readonly isReported: boolean
  readonly anomalies: readonly string[]
}

/** A file within an answer that its buyer wants as a link. */
export type AnswerFile = {
  /** The file's index in the answer. */
  readonly index: number
  readonly contentType: string
  readonly pieces: Iterable<Uint8Array>
  /** Replaces the bytes with a link. */
  link(url: string): void
}

/** A job that a forwarded call started. */
export type StartedJob = {
  /** The provider's id of the job. */
  readonly id: string
  /** Captures from the path of its submit. */
  readonly captures: RouteMatch['captures']
}

/** A provider's statement about a job, and its answer. */
export type JobWord = { readonly state: 'done' | 'failed' | 'unknown'; readonly given: GivenAnswer }

/** The head of an answer to the buyer. */
export type AnswerStart = { readonly status: number; readonly headers: Readonly<Record<string, string>> }

/** The head of a provider's answer, and that of the buyer's. */
export type DecoderHead = {
  /** The media type of the answer; absent for JSON, or for a requested event stream. */
  contentType?(): string
  /**
   * True when the answer that begins with this head can be read. Absent as for `contentType`: it then has status 200.
   */
  takes?(head: AnswerHead): boolean
  /** Takes the headers of a successful answer. Absent when none are used. */
  takeHeaders?(headers: AnswerHead['headers']): void
  /** The status of the answer if not 200, and headers of its own. */
  start?(): AnswerStart
  /** True when the answer is held until its end, although it could be a stream. Absent when the demand decides. */
  isHeld?(): boolean
  /**
   * True when the usage is known before the end of the answer. False when it is known at the end and the answer may
   * have no place for it. Absent when the last bytes of the answer hold it.
   */
  isPriced?(): boolean
}

/** The job that a request starts or concerns. */
export type DecoderJob = {
  /** The job that the request has started at its provider. */
  started(): StartedJob | undefined
  /** The state of the job in a held answer to a request about it; undefined before the answer's end. */
  reported(): JobWord | undefined
}

/** The parts of a whole answer beyond its text. */
export type DecoderWhole = {
  /** The files that are sent as links once they are stored; absent for a wire without files. */
  files?(): readonly AnswerFile[]
  /** The buyer's parameters that the answer does not follow, besides those that were changed for the provider. */
  adaptedParams?(): readonly string[]
  /** The bytes of `finish` if they may be large, as pieces that are never joined. Undefined for a small answer. */
  pieces(receipt: Receipt): readonly Buffer[] | undefined
}

/** Turns a provider's bytes into the buyer's. It holds back text before the first content. */
export type Decoder = {
  /** Absent when every answer has status 200 and the requested media type. */
  readonly head?: DecoderHead
  /** Absent when no request concerns a job. */
  readonly job?: DecoderJob
  /** Absent when a whole answer is only its text. */
  readonly whole?: DecoderWhole | undefined
  /** Takes bytes and returns the part that may be sent now. An empty string means nothing. */
  push(chunk: Buffer): string | Buffer
  /** Called once when the provider has finished, in any way. */
  end(): void
  /** Starts the answer to the next of several requests. Absent for one request. */
  goOn?(): void
  /** Pieces of content so far. After the first no other offer may take over. */
  contentPieces(): number
  /** True after the protocol's own end of the present answer. Later bytes of it are ignored. */
  isDone(): boolean
  /** Set as soon as the bytes cannot be an answer. */
  failure(): BadAnswer | undefined
  /** The usage and the content received so far. */
  ending(): Ending
  /** Ends the answer early with finish reason `length`. Nothing is pushed after it. */
  stop(): void
  /** The last bytes, which carry the cost. A whole reply is sent in these bytes alone. */
  finish(receipt: Receipt): string
  /** The wire's error inside a started stream; empty for a wire without such an error, whose stream is cut. */
  fail(error: AppError): string
  /** The bytes to send during a silence; empty when nothing may be sent. */
  keepAlive(): string
}

/** An answer to a buyer, for the pipeline. */
export type BuyerReply = {
  /** Sends status and headers of a stream; 200 by default. `trailers` names headers that follow its end. */
  start(headers: Readonly<Record<string, string>>, status?: number, trailers?: readonly string[]): void
  /** Sends a part of a stream. False asks the caller to wait for `onDrain`. */
  write(part: string | Buffer): boolean
  /** Ends a stream with the trailers that its head has announced. */
  end(text: string, trailers?: Readonly<Record<string, string>>): void
  /** Cuts a stream, so that no client takes the sent part for the whole. */
  cut(): void
  /** Sends a whole reply. */
  whole(status: number, headers: Readonly<Record<string, string>>, body: string | readonly Buffer[]): void
  isStarted(): boolean
  /** True when the buyer has left before the end. */
  isGone(): boolean
  onGone(listener: () => void): void
  onDrain(listener: () => void): void
  /** Calls back at the end of the answer: the buyer has received all of it, or has left. */
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

/** Facts of a call besides its prompt and its tier. */
export type ServedFacts = Omit<PriceFacts, 'promptTokens' | 'serviceTier'>

/** The metered usage of an answer, and its finish reason. */
export type Metered = {
  readonly usage: Usage
  /** The usage of each exchange when the call made several and the price list has conditions. They sum to `usage`. */
  readonly each?: readonly Usage[]
  /** The tier that served the call, when the buyer asked for it. Absent for the standard tier. */
  readonly serviceTier?: ServiceTier
  /** The other facts that conditions of the price list may depend on. Absent without conditions. */
  readonly facts?: ServedFacts
  readonly source: UsageSource
  readonly finishReason: string | null
  readonly anomalies: readonly string[]
  /** The provider's own cost, whether or not the call is charged. */
  readonly ownCost?: PicoUsd
}

/** The progress of a call, for a start after a crash. */
export type Progress = {
  readonly hold: Pick<Hold, 'rid'>
  readonly offer: OfferId | null
  readonly outputTokens: number
  readonly chargeMicro: MicroUsd
  /** The usage event, as text, that would be captured if the process died now. */
  readonly event: string
}

/** The append-only log on the local disk. Appends never wait. `sync` resolves when all of them are on disk. */
export type Journal = {
  progress(record: Progress): void
  /** Records the usage event of a call as its capture. */
  capture(of: Pick<Chargeable, 'rid' | 'rail' | 'account'>, event: string): void
  sync(): Promise<void>
  /** False while nothing can be written. Then paid calls are refused. */
  isWritable(): boolean
}

/** The members of an offer that its cap needs. A provider of the payer's own has no cap. */
export type CappedOffer = Pick<Offer, 'id' | 'capDailyMicro'>

/** Takes of an offer's daily cap, one per attempt. */
export type OfferCaps = {
  /** Takes an amount from today's cap. Returns false when it does not fit. */
  take(offer: CappedOffer, attempt: string, amountMicro: MicroUsd, ttlMs: number): Promise<boolean>
  /** Settles a take to the charge. Zero returns all of it. Never rejects. */
  settle(offer: CappedOffer, attempt: string, usedMicro: MicroUsd): Promise<void>
}
