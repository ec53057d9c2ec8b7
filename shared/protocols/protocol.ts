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
 * A protocol that providers speak, with all that either plane knows of it. It is pure and knows nothing of the buyers'
 * protocols.
 */
export type Protocol = {
  /** The text that is handed over to call with. A plain key where it is absent. */
  readonly credential?: CredentialForm
  /** Adds the headers that carry the credential, or a signature by it, as a flat list of names and values. */
  authorize(headers: string[], credential: string, request: OutgoingRequest): void
  /** The list of what a key may use. Asking for it costs nothing. Absent where the protocol has none: models are named. */
  readonly listing?: ModelListing
  /** The cheapest question to a model: one token, or what a maker of files does not charge. */
  readonly probe: ModelQuestion
  /** The cheapest questions to models that do not converse, by endpoint. Absent where they go to OpenAI's paths. */
  readonly mediaProbes?: { readonly [Name in Endpoint]?: ModelQuestion }
  /** Reads the body of a refusal, and its headers where the protocol says something in them. */
  readError(text: string, headers?: RefusalHeaders): ErrorBody
  /** Conversations. Absent when the protocol has none. */
  readonly chat?: ChatCodec
  /** The paths that take requests of OpenAI's protocols unchanged. Absent when the protocol has chats only. */
  readonly forwards?: ForwardPaths
  /** Reads the name of a model at a provider whose paths have it. Absent where all models have the same paths. */
  deployment?(providerModel: string): Deployment
  /** Vectors in messages of the protocol's own. Absent where there are none, and where OpenAI's are forwarded. */
  readonly embeddings?: EmbeddingsCodec
  /** The messages for pictures of a model. Absent when the protocol has none. */
  images?(model: Model): ImageCodec
  /** True where pictures can be streamed: partial ones, then the whole one. */
  readonly streamsImages?: boolean
  /** Long jobs by kind. An absent kind cannot be asked for. */
  readonly jobs: { readonly [Kind in keyof JobAsks]?: JobCodec<JobAsks[Kind]> }
}

/** A small question to a model, whose answer shows that the model is there for the key. */
export type ModelQuestion = {
  /** The output limit of the question. Null where the provider charges nothing for it. */
  readonly maxOutputTokens: number | null
  request(providerModel: string): ProviderRequest
  /** The same with a tool and a wish to think. Absent where the protocol takes both of every model that has them. */
  withTool?(providerModel: string): ProviderRequest
  isAnswer(status: number, text: string): boolean
  /** Reads the provider's figures in an answer. Absent where the answer is a whole conversation of the protocol. */
  reported?(text: string): ReportedUsage
}

/** A provider's list of its models. */
export type ModelListing = {
  readonly path: string
  /** Reads the provider's own names of its models. Undefined when the answer is no list. */
  read(text: string): ReadonlySet<string> | undefined
}

/** The text that a protocol's providers are called with. One text is sealed, whatever stands in it. */
export type CredentialForm = {
  /** Reads the text in any of its spellings and gives the one that is sealed. */
  readonly schema: z.ZodType<string, string>
  /** The form of the text in words, for the refusal of another form. */
  readonly words: string
  /** The parts of a sealed text that nobody else may read. The whole text where it is absent. */
  secretsOf?(text: string): readonly string[]
  /** The account for which tokens are made from a sealed text. Undefined where the text itself is called with. */
  accountOf?(text: string): ServiceAccount | undefined
}

/** A request as it goes out, for protocols that sign it. */
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

/** The messages of a protocol for conversations. */
export type ChatCodec = {
  /** True when a request can ask the model itself for an answer in the format, beside functions or without any. */
  saysFormat(model: Model, format: ResponseFormat, hasTools: boolean): boolean
  /** Writes a conversation as a request. Throws AppError `invalid_request` for what the protocol cannot say. */
  encode(conversation: Conversation, plan: EncodePlan): EncodedRequest
  reader(isStreamed: boolean): AnswerReader
  /** Reads an answer with the protocol's own events, for buyers who speak it. Absent in any other than responses. */
  ownReader?(isStreamed: boolean): AnswerReader
  /** True where a tool of a request lets the provider search the web. Documents may be given by their addresses there. */
  readonly searches?: true
  /** True where a request may say the region in which it is worked on. */
  readonly saysRegion?: true
  /** True where a document may be given by its address. */
  readonly takesDocumentUrls?: true
  /** True where the protocol has tools whose input is free text. */
  readonly saysCustomTools?: true
  /** The smallest output limit that a request may have. Absent where one token is enough. */
  readonly leastOutputTokens?: number
  /** True where only the account that made an answer can read its sealed thoughts again, and not all of the provider's. */
  readonly isReadByAccount?: true
  /** True where the thoughts of its models are signed, so that a buyer can send them back as they came. */
  readonly signsThoughts?: boolean
  /** The form of the messages protocol in which a buyer's own text of it can go on. Absent in any other protocol. */
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
