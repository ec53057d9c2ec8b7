import type { AttemptPlan, UpstreamRequest } from '#data-plane/call.ts'
import type { AnswerReader } from '#data-plane/middle-form/answer.ts'
import type { Conversation } from '#data-plane/middle-form/conversation.ts'

/** A protocol that sellers' providers speak. It knows nothing of the buyers' protocols. */
export type Dialect = {
  /** Writes a conversation as a request. Throws AppError `invalid_request` for what the protocol cannot say. */
  encode(conversation: Conversation, plan: AttemptPlan): UpstreamRequest
  reader(isStreamed: boolean): AnswerReader
}
