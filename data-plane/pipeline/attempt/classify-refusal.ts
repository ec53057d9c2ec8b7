import type { Offer } from '#data-plane/call.ts'
import type { UpstreamFailure } from '#data-plane/upstream/classify.ts'
import { classifyForwarded, classifyStatus } from '#data-plane/upstream/classify.ts'
import type { AskedProvider } from '#data-plane/upstream/provider-words.ts'
import type { UpstreamHead } from '#data-plane/upstream/send.ts'
import type { ErrorBody } from '#shared/protocols/answers/error-body.ts'
import { readErrorBody } from '#shared/protocols/answers/error-body.ts'
import { protocolOf } from '#shared/protocols/index.ts'

/** At most so many characters of an answer of status 200 are searched for an error. */
const MAX_SEARCHED_CHARS = 4_096

/** Classifies a provider's answer that is none, by its status and its text. */
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
  const said = protocolOf(offer).readError(text)
  const bad = status === 200 ? errorInBody(text, said, speaker) : undefined
  return bad ?? classifyStatus(status, said, speaker, head?.retryAfterMs)
}

/** Finds a refusal that came with status 200 and another content type than was asked for. */
function errorInBody(text: string, said: ErrorBody, speaker: AskedProvider): UpstreamFailure | undefined {
  const begin = text.slice(0, MAX_SEARCHED_CHARS)
  const status = /"(?:code|status)"\s*:\s*([45]\d\d)\b/.exec(begin)?.[1]
  return /"error"\s*:/.test(begin) ? classifyStatus(Number(status ?? 502), said, speaker) : undefined
}
