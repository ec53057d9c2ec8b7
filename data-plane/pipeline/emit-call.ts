import type { CallFacts, RequestHead } from '#data-plane/call.ts'
import type { Chargeable } from '#data-plane/payment.ts'
import { toMicrosecond } from '#shared/clock.ts'
import type { Attempt } from '#shared/contract/usage-event.ts'
import type { AppError } from '#shared/errors.ts'
import { describeCause } from '#shared/errors.ts'
import { ZERO } from '#shared/money.ts'
import { inputTokens, outputTokens } from '#shared/usage.ts'
import type { CallMoney, CallPlane } from './call-plane.ts'
import type { AdmittedCall, Relay, Settlement } from './stages.ts'

/** Reports a call that was admitted: one usage event, one line in the log, and the counters. */
export function emitCall(plane: CallPlane, call: AdmittedCall, relay: Relay, settlement: Settlement): void {
  announce(plane.money, call.hold, settlement)
  if (settlement.metered.anomalies.length > 0) suspect(plane, call, relay, settlement)
  const { startedAt } = call.raw
  const durationMs = plane.clock.monotonic() - startedAt
  const result = relay.last?.result
  const { usage } = settlement.metered
  const facts: CallFacts = {
    rid: call.hold.rid,
    wire: call.route.wire.name,
    model: call.target.id,
    provider: relay.last?.plan.offer.provider ?? null,
    outcome: settlement.outcome,
    errorCode: relay.error?.code ?? null,
    status: settlement.outcome === 'failed' ? (relay.error?.status ?? 500) : 200,
    isStreamed: call.demand.isStreamed,
    attempts: relay.attempts.length,
    durationMs,
    overheadMs: durationMs - relay.waitedMs,
    ttftMs: result?.firstContentAt === undefined ? null : result.firstContentAt - startedAt,
    inputTokens: inputTokens(usage),
    outputTokens: outputTokens(usage),
    chargeMicro: settlement.receipt.chargeMicro,
  }
  report(plane, facts, relay.attempts, 'call')
}

/** Announces a call to the booking: by its name when its rail keeps the event, otherwise by the event itself. */
export function announce(
  { events }: { readonly events: Pick<CallMoney['events'], 'captured' | 'usage'> },
  { rid, account }: Pick<Chargeable, 'rid' | 'account'>,
  { booking, event }: Pick<Settlement, 'booking' | 'event'>,
): void {
  if (booking === 'by-name' && account !== null) events.captured({ rid, account })
  else if (booking !== 'later') events.usage(event)
}

/** Counts a call and writes its line to the log. */
function report(
  { watch, log }: Pick<CallPlane, 'watch' | 'log'>,
  facts: CallFacts,
  attempts: readonly Attempt[],
  line: 'call' | 'job',
): void {
  watch.observe(facts, attempts)
  if (!log.isLevelEnabled('info') || (facts.outcome === 'succeeded' && !watch.logsCall())) return
  const times = {
    durationMs: toMicrosecond(facts.durationMs),
    overheadMs: toMicrosecond(facts.overheadMs),
    ttftMs: facts.ttftMs === null ? null : toMicrosecond(facts.ttftMs),
  }
  log.info({ ...facts, ...times, chargeMicro: facts.chargeMicro.toString() }, line)
}

/** Reports a long job that a provider accepted. Its charge at that moment is its quote. */
export function emitJob(
  plane: CallPlane,
  raw: RequestHead,
  {
    attempts,
    ...job
  }: Pick<CallFacts, 'wire' | 'model' | 'provider' | 'chargeMicro'> & { readonly attempts: readonly Attempt[] },
  waitedMs: number,
): void {
  const durationMs = plane.clock.monotonic() - raw.startedAt
  const facts = {
    ...job,
    rid: raw.requestId,
    attempts: attempts.length,
    outcome: 'succeeded',
    errorCode: null,
    status: 202,
    isStreamed: false,
    durationMs,
    overheadMs: durationMs - waitedMs,
    ttftMs: null,
    inputTokens: 0,
    outputTokens: 0,
  }
  report(plane, facts, attempts, 'job')
}

/**
 * Reports a seller whose reported usage is repeatedly too high, because a seller gains from that. A person then reviews
 * the seller.
 */
function suspect(
  { routing, log }: Pick<CallPlane, 'routing' | 'log'>,
  { hold }: AdmittedCall,
  { last }: Relay,
  { metered }: Settlement,
): void {
  if (last === undefined) return
  const { offer } = last.plan
  const { anomalies } = metered
  if (!routing.health.suspect(offer, hold.rid, anomalies)) return
  log.warn({ rid: hold.rid, offer: offer.id, sellerAccount: offer.sellerAccount, anomalies }, 'a seller was flagged')
}

/** Reports a call that was refused before any money was set aside. */
export function emitRefusal(plane: CallPlane, wire: string, raw: RequestHead, error: AppError): void {
  const facts: CallFacts = {
    rid: raw.requestId,
    wire,
    model: '',
    provider: null,
    outcome: 'refused',
    errorCode: error.code,
    status: error.status,
    isStreamed: false,
    attempts: 0,
    durationMs: plane.clock.monotonic() - raw.startedAt,
    overheadMs: plane.clock.monotonic() - raw.startedAt,
    ttftMs: null,
    inputTokens: 0,
    outputTokens: 0,
    chargeMicro: ZERO,
  }
  plane.watch.observe(facts, [])
  const line = { rid: raw.requestId, code: error.code, status: error.status, cause: describeCause(error.cause) }
  if (error.status >= 500 && error.code === 'internal_error') plane.log.error(line, 'a call failed on our side')
  else if (error.status >= 500 || plane.watch.logsCall()) plane.log.info(line, 'refused')
}
