import type { UsageEvent } from '#shared/contract/usage-event.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'
import type { Received } from '#test/sim/model/buyer-reply.ts'
import type { PlayedCall } from '#test/sim/providers/providers.ts'

/** A stream that is silent for longer may be given up by its node. A clock that jumps makes such a silence. */
export const PATIENCE_MS = 25_000

/** The end of a call, what its buyer has of it, and whether its node was told to stop meanwhile. */
export type PlayedEnd = {
  readonly call: PlayedCall
  readonly received: Received
  readonly tookMs: number
  readonly isStopping: boolean
}

/** A sentence about an end that was reported wrongly; undefined when it was reported correctly. */
export function endMistake(end: PlayedEnd): string | undefined {
  const { request, plan, attempts } = end.call
  const event = request.endEvent === undefined ? undefined : readUsageEvent(request.endEvent)
  if (event === undefined) return undefined
  const isTold = event.attempts.length === attempts && outcomesOf(end).includes(event.outcome)
  if (isTold) return answerMistake(end, event)
  const told = `${event.outcome} after ${event.attempts.length} attempts, finish ${event.finishReason}`
  return `${request.rid} was ${plan.ending} with ${request.deliveredMicro} delivered in ${attempts} attempts and is told as ${told}`
}

/** The outcomes that a report of the end of a call may have. */
function outcomesOf({ call, received, tookMs, isStopping }: PlayedEnd): readonly UsageEvent['outcome'][] {
  const { request, plan, attempts } = call
  const isDisturbed = isStopping || tookMs > PATIENCE_MS
  if (request.deliveredMicro === 0n) {
    const isEmpty = plan.failures[attempts - 1] === 'empty'
    return isEmpty || isDisturbed ? ['succeeded', 'failed', 'cancelled'] : ['failed', 'cancelled']
  }
  // A stream is withheld when its payment cannot be taken ahead. Its provider has delivered by then.
  if (plan.isStreamed && request.payment?.isExact === true && received.status === 402) return ['cut']
  const outcome = OUTCOMES[plan.ending]
  return isDisturbed ? [outcome, 'cut', 'cancelled'] : [outcome]
}

const OUTCOMES = { done: 'succeeded', cut: 'cut', cancelled: 'cancelled' } as const

/** A sentence about an answer whose end is not the one that the market has written down. */
function answerMistake({ call, received }: PlayedEnd, event: UsageEvent): string | undefined {
  const { text, isWhole, status } = received
  const hasError = text.includes('"error"')
  // The buyer left, or the connection was cut before anything arrived.
  if (event.outcome === 'cancelled' || !isWhole || status === undefined) return undefined
  // An answer is withheld when its payment can never be taken. P4 looks whether it could.
  if (call.request.payment !== undefined && status === 402) return undefined
  const isGood = event.outcome === 'succeeded'
  const isPriced = event.outcome !== 'cut' || text === '' || received.costMicro === BigInt(event.chargeMicro)
  const ends = call.plan.isStreamed && isGood ? streamEnds(text) : ''
  if (isPriced && isGood !== hasError && ends === '' && (!isGood || event.finishReason !== null)) return undefined
  return `${call.request.rid} is told as ${event.outcome}, finish ${event.finishReason}, and its buyer read ${status} ${ends} ${text.slice(-200)}`
}

/** A stream that went well has one reason for its end, then one usage chunk, and then its last line. */
function streamEnds(text: string): string {
  const reasons = [...text.matchAll(/"finish_reason":"/g)]
  const usages = [...text.matchAll(/"usage":\{/g)]
  const isInOrder = (reasons[0]?.index ?? 0) < (usages[0]?.index ?? 0) && text.endsWith('data: [DONE]\n\n')
  if (reasons.length === 1 && usages.length === 1 && isInOrder) return ''
  return `${reasons.length} reasons, ${usages.length} usage chunks`
}
