import type { ErrorBody } from '#shared/protocols/answers/error-body.ts'
import type { EncodePlan } from './encode-plan.ts'
import type { JobAsks, JobCodec } from './job-codec.ts'
import type { AnswerReader } from './middle-form/answer.ts'
import type { Conversation } from './middle-form/conversation.ts'
import type { EncodedRequest, ProviderRequest } from './provider-request.ts'

/**
 * A protocol that providers speak: all that either plane knows of one. It knows nothing of the buyers' protocols, and it
 * is pure.
 */
export type Protocol = {
  /** Adds the headers that carry the key: a name, a value, a name, a value. */
  addCredential(headers: string[], key: string): void
  /** The list of a provider's models, which costs nothing to ask for. */
  readonly listing: {
    readonly path: string
    /** The provider's own names of its models; undefined where the answer is no list. */
    read(text: string): ReadonlySet<string> | undefined
  }
  /** The cheapest question to a model: one token. */
  readonly probe: {
    request(providerModel: string): ProviderRequest
    /** True where the body of an answer of status 200 says that the model answers. */
    isAnswer(text: string): boolean
  }
  /** What the body of a refusal says. */
  readError(text: string): ErrorBody
  /** Writes a conversation as a request. Throws AppError `invalid_request` for what the protocol cannot say. */
  encode(conversation: Conversation, plan: EncodePlan): EncodedRequest
  reader(isStreamed: boolean): AnswerReader
  /** Where requests of OpenAI's protocols are taken as they came; absent where chats are all that can be said. */
  readonly forwards?: ForwardPaths
  /** Long jobs, by their kind; absent ones cannot be asked for. */
  readonly jobs: { readonly [Kind in keyof JobAsks]?: JobCodec<JobAsks[Kind]> }
}

/** Paths that follow a base URL, by what OpenAI's protocols ask for there. */
export type ForwardPaths = {
  readonly chat: string
  readonly completions: string
  readonly embeddings: string
  readonly speech: string
  readonly transcription: string
}
