import type { Offer } from '#data-plane/call.ts'
import type { UpstreamFailure } from '#data-plane/upstream/classify.ts'
import {
  classifyBadAnswer,
  classifyForwarded,
  classifyNoAnswer,
  classifyStatus,
} from '#data-plane/upstream/classify.ts'
import type { AskedProvider } from '#data-plane/upstream/provider-words.ts'
import type { UpstreamHead } from '#data-plane/upstream/send.ts'
import { readErrorBody } from '#shared/protocols/answers/error-body.ts'
import { errorInText } from '#shared/protocols/answers/openai-answer.ts'
import { protocolOf } from '#shared/protocols/index.ts'

/** Classifies a provider's refusal by its status and its text. */
export function classifyRefusal(
  offer: Offer,
  head: UpstreamHead | undefined,
  text: string,
  speaker: AskedProvider,
): UpstreamFailure {
  const status = head?.status ?? 0
  if (offer.servedBy === 'marketplace' && offer.lent !== undefined) {
    return classifyForwarded(status, readErrorBody(text), speaker, head?.retryAfterMs)
  }
  const errorBody = protocolOf(offer).readError(text, head?.headers)
  if (status < 200 || status >= 300) return classifyStatus(status, errorBody, speaker, head?.retryAfterMs)
  // A good status with an unexpected content type may still be a refusal.
  const error = errorInText(text)
  return error === undefined ? classifyNoAnswer(status, errorBody, speaker) : classifyBadAnswer(error, speaker)
}
