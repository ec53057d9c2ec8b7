import type { UsageEvent } from '#shared/contract/usage-event.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'
import type { Received } from '#test/sim/model/buyer-reply.ts'
import type { PlayedCall } from '#test/sim/providers/providers.ts'

/** Milliseconds of silence after which a node may give up a stream. A jump of the clock causes such a silence. */
export const PATIENCE_MS = 25_000

/** The end of a call, the part of its answer that the buyer has, and whether its node was told to stop meanwhile. */
export type PlayedEnd = {
  readonly call: PlayedCall
  readonly received: Received
  readonly tookMs: number
  readonly isStopping: boolean
}

/** A sentence about a wrongly reported end. Undefined when the report is correct. */
export function endMistake(end: PlayedEnd): string | undefined {
  const { request, plan, attempts } = end.call
  const event = request.endEvent === undefined ? undefined : readUsageEvent(request.endEvent)
  if (event === undefined) return undefined
  const isTold = event.attempts.length === attempts && outcomesOf(end).includes(event.outcome)
  if (isTold) return answerMistake(end, event)
  const told = `${event.outcome} after ${event.attempts.length} attempts, finish ${event.finishReason}`
  return `${request.rid} was ${plan.ending} with ${request.deliveredMicro} delivered in ${attempts} attempts and is reported as ${told}`
}

/** The outcomes that may be reported for the end of a call. */
function outcomesOf({ call, received, tookMs, isStopping }: PlayedEnd): readonly UsageEvent['outcome'][] {
  const { request, plan, attempts } = call
  const isDisturbed = isStopping || tookMs > PATIENCE_MS
  if (request.deliveredMicro === 0n) {
    const isEmpty = plan.failures[attempts - 1] === 'empty'
    return isEmpty || isDisturbed ? ['succeeded', 'failed', 'cancelled'] : ['failed', 'cancelled']
  }
  // A stream is withheld when its payment cannot be settled ahead. The provider has delivered by then.
  if (plan.isStreamed && request.payment?.isExact === true && received.status === 402) return ['cut']
  const outcome = OUTCOMES[plan.ending]
  return isDisturbed ? [outcome, 'cut', 'cancelled'] : [outcome]
}

const OUTCOMES = { done: 'succeeded', cut: 'cut', cancelled: 'cancelled' } as const

/** A sentence about an answer whose end differs from the end in the market's record. */
function answerMistake({ call, received }: PlayedEnd, event: UsageEvent): string | undefined {
  const { text, isWhole, status } = received
  const hasError = text.includes('"error"')
  // The buyer disconnected, or the connection was cut before the first byte arrived.
  if (event.outcome === 'cancelled' || !isWhole || status === undefined) return undefined
  // An answer is withheld when its payment can never be settled. P4 checks whether settlement was possible.
  if (call.request.payment !== undefined && status === 402) return undefined
  const isGood = event.outcome === 'succeeded'
  const isPriced = event.outcome !== 'cut' || text === '' || received.costMicro === BigInt(event.chargeMicro)
  const ends = call.plan.isStreamed && isGood ? streamEnds(text) : ''
  if (isPriced && isGood !== hasError && ends === '' && (!isGood || event.finishReason !== null)) return undefined
  return `${call.request.rid} is reported as ${event.outcome}, finish ${event.finishReason}, and its buyer read ${status} ${ends} ${text.slice(-200)}`
}

/** A successful stream has one finish reason, then one usage chunk, and then its last line. */
function streamEnds(text: string): string {
  const reasons = [...text.matchAll(/"finish_reason":"/g)]
  const usages = [...text.matchAll(/"usage":\{/g)]
  const isInOrder = (reasons[0]?.index ?? 0) < (usages[0]?.index ?? 0) && text.endsWith('data: [DONE]\n\n')
  if (reasons.length === 1 && usages.length === 1 && isInOrder) return ''
  return `${reasons.length} reasons, ${usages.length} usage chunks`
}
