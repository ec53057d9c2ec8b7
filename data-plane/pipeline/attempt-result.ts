import type { AttemptPlan } from '#data-plane/call.ts'
import type { UpstreamFailure } from '#data-plane/upstream/classify.ts'
import type { Attempt } from '#shared/contract/usage-event.ts'

/** The end of an attempt. */
export type AttemptResult = {
  readonly failure: UpstreamFailure | undefined
  /** True when the buyer left. The result tells how much of the answer arrived. */
  readonly isGone: boolean
  /** The provider's HTTP status, or 0 when there was none. */
  readonly status: number
  /** False when it is certain that no byte of the request was sent. */
  readonly isSent: boolean
  /** Monotonic milliseconds. */
  readonly sentAt: number
  /** Undefined when no connection was made. */
  readonly connectedAt: number | undefined
  /** True when a request was sent twice, because its idle connection was closed as it left. */
  readonly isResent: boolean
  readonly endedAt: number
  readonly firstContentAt: number | undefined
  readonly lastContentAt: number | undefined
}

/** The row of an attempt in the call's event and its look-up. */
export function attemptRow(
  { offer }: AttemptPlan,
  result: Pick<AttemptResult, 'status' | 'sentAt' | 'connectedAt' | 'isResent' | 'endedAt' | 'failure'>,
): Attempt {
  return {
    offer: offer.id,
    provider: offer.provider,
    status: result.status,
    ms: Math.round(result.endedAt - result.sentAt),
    ...connectOf(result),
    ...(result.isResent && { isResent: true as const }),
    errorClass: result.failure?.errorClass ?? null,
  }
}

/** The wait for a new connection, in an attempt's row. A request on an open connection does not wait. */
export function connectOf({
  sentAt,
  connectedAt = sentAt,
}: Pick<AttemptResult, 'sentAt' | 'connectedAt'>): Pick<Attempt, 'connectMs'> {
  const connectMs = Math.round(connectedAt - sentAt)
  return connectMs > 0 ? { connectMs } : {}
}
