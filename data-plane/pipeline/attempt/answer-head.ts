import type { AnswerHead, Decoder, Demand, UpstreamRequest } from '#data-plane/call.ts'
import type { CallLimits } from '#data-plane/pipeline/call-plane.ts'

/** Milliseconds until a provider's head. A forwarded call may be work that takes minutes. */
export function firstByteMsOf({ firstByteMs, totalMs }: CallLimits, demand: Demand): number {
  const { isStreamed, isWorkedInSilence, kind } = demand
  return isStreamed && isWorkedInSilence !== true && kind === 'model' ? firstByteMs : totalMs
}

/** True before the head of a forwarded answer, for which only the deadline counts. */
export function awaitsHead(head: AnswerHead | undefined, { passedOn }: UpstreamRequest): boolean {
  return head === undefined && passedOn !== undefined
}

/** True for the head of an answer, false for the head of a refusal. */
export function isAnswer(decoder: Decoder, { isStreamed }: Demand, head: AnswerHead): boolean {
  if (decoder.head?.takes !== undefined) return decoder.head.takes(head)
  const isRightType = isStreamed ? head.contentType.startsWith('text/event-stream') : head.contentType.includes('json')
  return head.status === 200 && isRightType
}
