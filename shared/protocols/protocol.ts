import type { z } from 'zod'
import type { Endpoint, Model } from '#shared/catalog/model.ts'
import type { ErrorBody, RefusalHeaders } from '#shared/protocols/answers/error-body.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import type { EmbeddingsCodec } from './embeddings-codec.ts'
import type { EncodePlan } from './encode-plan.ts'
import type { ImageCodec } from './image-codec.ts'
import type { JobAsks, JobCodec } from './job-codec.ts'
import type { MessagesForm } from './messages-form.ts'
import type { AnswerReader } from './middle-form/answer.ts'
import type { Conversation, ResponseFormat } from './middle-form/conversation.ts'
import type { EncodedRequest, ProviderRequest } from './provider-request.ts'
import type { ServiceAccount } from './service-account.ts'

/**
 * A protocol that providers speak, with all that either plane needs for it. It is pure and has no part in the buyers'
 * protocols.
 */
export type Protocol = {
  /** The form of the text that authorizes calls. A plain key where it is absent. */
  readonly credential?: CredentialForm
  /** Adds the headers that carry the credential, or a signature by it, as a flat list of names and values. */
  authorize(headers: string[], credential: string, request: OutgoingRequest): void
  /**
   * The list of models that a key may use. Reading it costs nothing. Absent where the protocol has no list; probes then
   * name the models.
   */
  readonly listing?: ModelListing
  /**
   * The cheapest request to a model that shows whether it works: one output token, or a request that a media model does
   * not charge for.
   */
  readonly probe: ModelQuestion
  /** The cheapest probes of models that are no chat models, by endpoint. Absent where the probes use OpenAI's paths. */
  readonly mediaProbes?: { readonly [Name in Endpoint]?: ModelQuestion }
  /** Reads the body of a refusal, and its headers where the protocol has error details there. */
  readError(text: string, headers?: RefusalHeaders): ErrorBody
  /** Conversations. Absent when the protocol has none. */
  readonly chat?: ChatCodec
  /** The paths that take requests of OpenAI's protocols unchanged. Absent when the protocol has chats only. */
  readonly forwards?: ForwardPaths
  /** Reads the name of a model at a provider whose paths contain it. Absent where all models have the same paths. */
  deployment?(providerModel: string): Deployment
  /**
   * The codec for vectors. Absent where the protocol has no vectors, and where requests of OpenAI's protocol are
   * forwarded.
   */
  readonly embeddings?: EmbeddingsCodec
  /** The codec for images of a model. Absent when the protocol has none. */
  images?(model: Model): ImageCodec
  /** True where images can be streamed: partial images, then the final image. */
  readonly streamsImages?: boolean
  /** The codecs of long jobs by kind. A kind without a codec is not supported. */
  readonly jobs: { readonly [Kind in keyof JobAsks]?: JobCodec<JobAsks[Kind]> }
}

/** A small request to a model, whose answer shows that the key may use the model. */
export type ModelQuestion = {
  /** The output limit of the probe. Null where the provider charges nothing for it. */
  readonly maxOutputTokens: number | null
  request(providerModel: string): ProviderRequest
  /**
   * The same request with a tool and with reasoning. Absent where every model of the protocol that supports them
   * separately supports both together.
   */
  withTool?(providerModel: string): ProviderRequest
  isAnswer(status: number, text: string): boolean
  /** Reads the usage in the answer. Absent where the answer is a whole conversation of the protocol. */
  reported?(text: string): ReportedUsage
}

/** A provider's list of its models. */
export type ModelListing = {
  readonly path: string
  /** Reads the provider's own names of its models. Undefined when the answer is no list. */
  read(text: string): ReadonlySet<string> | undefined
}

/**
 * The form of the text that authorizes calls to a protocol's providers. It is encrypted as one text, whatever it
 * contains.
 */
export type CredentialForm = {
  /** Accepts any spelling of the text and returns its normal form. */
  readonly schema: z.ZodType<string, string>
  /** Describes the form in words, for the refusal of another form. */
  readonly words: string
  /** The parts of an encrypted text that are secret. The whole text where it is absent. */
  secretsOf?(text: string): readonly string[]
  /**
   * The service account for which access tokens are made from the text. Undefined where the text itself authorizes the
   * calls.
   */
  accountOf?(text: string): ServiceAccount | undefined
}

/** A request as it is sent, for protocols that sign it. */
export type OutgoingRequest = {
  readonly method: string
  /** The host with its port, as the header says it. */
  readonly host: string
  /** The path with its query. */
  readonly path: string
  /** The body, in pieces that can be read twice. */
  readonly body: string | Iterable<Buffer>
  /** Unix milliseconds. */
  readonly at: number
}

/** Reads and writes a protocol's messages for conversations. */
export type ChatCodec = {
  /** True when a request can ask the model itself for an answer in the format, with functions or without. */
  saysFormat(model: Model, format: ResponseFormat, hasTools: boolean): boolean
  /**
   * Writes a conversation as a request. Throws AppError `invalid_request` for content that the protocol does not
   * support.
   */
  encode(conversation: Conversation, plan: EncodePlan): EncodedRequest
  reader(isStreamed: boolean): AnswerReader
  /**
   * Reads an answer with the protocol's own events, for buyers of the same protocol. Absent in every protocol but
   * responses.
   */
  ownReader?(isStreamed: boolean): AnswerReader
  /** True where a tool of a request lets the provider search the web. Documents may be given by URL there. */
  readonly searches?: true
  /** True where a request may name the region that processes it. */
  readonly saysRegion?: true
  /** True where a document may be given by URL. */
  readonly takesDocumentUrls?: true
  /** True where the protocol has tools whose input is free text. */
  readonly saysCustomTools?: true
  /** The smallest output limit that a request may have. Absent where one token is enough. */
  readonly leastOutputTokens?: number
  /**
   * True where encrypted reasoning can be read again only by the account that made it, and not by every account of the
   * provider.
   */
  readonly isReadByAccount?: true
  /** True where the provider signs the reasoning of its models, so that a buyer can send it back unchanged. */
  readonly signsThoughts?: boolean
  /**
   * The form of the messages protocol in which a buyer's own request text can be forwarded. Absent in any other
   * protocol.
   */
  readonly messages?: MessagesForm
  /** The content type of its streams. Server-sent events where it is absent. */
  readonly streamType?: string
}

/** A model as its provider runs it: its name in requests, and the place of each path of the protocol. */
export type Deployment = {
  readonly name: string
  path(path: string): string
}

/** Paths behind a base URL, by the endpoint of OpenAI's protocols. */
export type ForwardPaths = {
  readonly chat: string
  readonly completions: string
  readonly embeddings: string
  readonly speech: string
  readonly transcription: string
}
