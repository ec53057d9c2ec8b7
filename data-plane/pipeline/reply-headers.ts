import type { AttemptPlan, Receipt, UpstreamRequest } from '#data-plane/call.ts'
import type { RateStanding } from '#data-plane/store/rate-limits.ts'
import { decimal } from '#shared/decimal.ts'

/** The facts about a call in the head of its answer. */
export type ReplyFacts = {
  readonly isStreamed: boolean
  readonly standing: RateStanding | undefined
  readonly attempts: number
  readonly decisionMs: number
  readonly overheadMs: number
  readonly plan: { readonly offer: Pick<AttemptPlan['offer'], 'servedBy' | 'provider'> } | undefined
  readonly request: Pick<UpstreamRequest, 'adaptedParams'> | undefined
  /** Parameters that the answer does not follow. */
  readonly adaptedParams?: readonly string[] | undefined
  /** Absent on streams of text, whose cost is in the last chunk, and on long jobs that are not over. */
  readonly receipt: Pick<Receipt, 'chargeMicro' | 'listMicro'> | undefined
  /** Set for an answer that is neither JSON nor an event stream; empty without a type. */
  readonly contentType?: string | undefined
  /** Headers that the answer itself has. */
  readonly own?: Readonly<Record<string, string>> | undefined
}

/** Headers of a served answer. The writer of the bytes adds the ids. */
export function replyHeaders(facts: ReplyFacts): Record<string, string> {
  const { plan, receipt, request } = facts
  const headers: Record<string, string> = {
    'content-type': facts.contentType ?? (facts.isStreamed ? 'text/event-stream; charset=utf-8' : 'application/json'),
    // The answer may carry a receipt, which is private to its payer.
    'cache-control': facts.isStreamed ? 'private, no-cache, no-transform' : 'private, no-store',
    'x-mkt-marketplace-status': 'served',
    'x-mkt-marketplace-attempts': String(facts.attempts),
    'x-mkt-routing-decision-ms': millis(facts.decisionMs),
    'x-mkt-overhead-ms': millis(facts.overheadMs),
  }
  if (facts.contentType === '') delete headers['content-type']
  if (facts.isStreamed) headers['x-accel-buffering'] = 'no'
  if (plan !== undefined) {
    headers['x-mkt-served-by'] = plan.offer.servedBy
    headers['x-mkt-provider-family'] = plan.offer.provider
  }
  const { adaptedParams } = facts
  if (adaptedParams !== undefined && adaptedParams.length > 0) {
    headers['x-mkt-adapted-params'] = adaptedList([...(request?.adaptedParams ?? []), ...adaptedParams])
  } else if (request !== undefined && request.adaptedParams.length > 0) {
    headers['x-mkt-adapted-params'] = adaptedList(request.adaptedParams)
  }
  if (receipt !== undefined) Object.assign(headers, costHeaders(receipt))
  addStanding(headers, facts.standing)
  for (const name in facts.own) headers[name] ??= facts.own[name] ?? ''
  return headers
}

export const COST_HEADERS = ['x-mkt-buyer-cost-micro', 'x-mkt-list-cost-micro'] as const

/** Headers of a call's cost: its charge, and its price by the list. */
export function costHeaders({
  chargeMicro,
  listMicro,
}: Pick<Receipt, 'chargeMicro' | 'listMicro'>): Readonly<Record<(typeof COST_HEADERS)[number], string>> {
  return { 'x-mkt-buyer-cost-micro': chargeMicro.toString(), 'x-mkt-list-cost-micro': listMicro.toString() }
}

/** Milliseconds with at most three decimals, never below zero. */
function millis(duration: number): string {
  const microseconds = Math.max(0, Math.round(duration * 1_000))
  return decimal(microseconds, 3)
}

/** Headers of a refusal: its cost, which is zero, and the number of offers tried. */
export function refusalHeaders(attempts: number, standing: RateStanding | undefined): Record<string, string> {
  const headers: Record<string, string> = {
    'cache-control': 'no-store',
    'x-mkt-marketplace-status': 'filtered',
    'x-mkt-marketplace-attempts': String(attempts),
    'x-mkt-buyer-cost-micro': '0',
    'x-mkt-list-cost-micro': '0',
  }
  addStanding(headers, standing)
  return headers
}

function addStanding(headers: Record<string, string>, standing: RateStanding | undefined): void {
  if (standing === undefined) return
  headers['x-ratelimit-limit'] = String(standing.limit)
  headers['x-ratelimit-remaining'] = String(standing.remaining)
  headers['x-ratelimit-reset'] = String(standing.resetAt)
}

/**
 * The names of changed parameters as a header. A buyer's own names may hold characters that are invalid in a header.
 */
export function adaptedList(names: readonly string[]): string {
  return names
    .slice(0, 32)
    .map((name) => name.replace(/[^\w.-]/g, '_').slice(0, 64))
    .join(', ')
}
