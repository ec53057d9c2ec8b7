import type { AttemptPlan, Decoder, Demand, Ending, Offer, UpstreamRequest } from '#data-plane/call.ts'
import type { AttemptResult } from '#data-plane/pipeline/attempt-result.ts'
import { attemptRow } from '#data-plane/pipeline/attempt-result.ts'
import type { CallCaps, CallPlane, CallRouting } from '#data-plane/pipeline/call-plane.ts'
import { meterUsage } from '#data-plane/pipeline/meter/meter-usage.ts'
import { capRefusal } from '#data-plane/pipeline/plan/cap-refusal.ts'
import { contextError } from '#data-plane/pipeline/plan/check-capability.ts'
import { rateScopeOf } from '#data-plane/pipeline/plan/lent-rules.ts'
import { ceilingAt, limitWithin, withOutput } from '#data-plane/pipeline/plan/quote-call.ts'
import { policyRefused } from '#data-plane/pipeline/plan/refuse-selection.ts'
import type { AdmittedCall, Relay, Turn } from '#data-plane/pipeline/stages.ts'
import type { UpstreamFailure } from '#data-plane/upstream/classify.ts'
import { SECOND } from '#shared/clock.ts'
import type { LentRule } from '#shared/contract/lent-offers.ts'
import type { Attempt } from '#shared/contract/usage-event.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { AppError } from '#shared/errors.ts'
import { ZERO } from '#shared/money.ts'
import { leastOutputTokensOf } from '#shared/protocols/index.ts'
import { isNothing } from '#shared/usage.ts'
import { runAttempt } from './attempt.ts'
import { isSaidTwice, shownFailure } from './shown-failure.ts'

/** Finish reasons of an answer that any other provider would cut at the same place. */
const AT_LIMIT: readonly (string | null)[] = ['length', 'cost_ceiling_reached']

/**
 * Tries offers in order until one answers. The path's `failover` says when the next offer may take over: a second
 * answer must not follow content of a first. Where a request has effects at the provider, the first must not have
 * received it. A failure counts against the offer's health and costs the buyer nothing.
 */
export async function relayWithFailover(plane: CallPlane, turn: Turn): Promise<Relay> {
  const { call, maxAttempts } = turn
  const { candidates } = call.ranked
  const attempts: Attempt[] = [...turn.before.attempts]
  const failures: UpstreamFailure[] = []
  const rules: LentRule[] = []
  let unsaid: AppError | undefined
  let last: Relay['last']
  let { waitedMs } = turn.before
  const deadlineAt = call.raw.startedAt + timeFor(plane, call)
  for (const [index, offer] of candidates.entries()) {
    if (attempts.length >= maxAttempts || plane.clock.monotonic() >= deadlineAt) break
    const plan = planFor(plane.routing, call, offer)
    if (plan === undefined) continue
    const request = encoded(call, plan)
    // The protocol of the next offer may be able to express the request. Nothing is taken from this offer.
    if (request instanceof AppError) {
      unsaid ??= request
      continue
    }
    if (!mayTry(plane, attempts)) break
    const rule = await admitLent(plane, call, plan, attempts.length)
    if (rule !== undefined) {
      rules.push(rule)
      continue
    }
    if (offer.capDailyMicro !== null && !(await takeCap(plane, call, plan, attempts.length))) {
      await plane.caps.shares.settle(`${plan.rid}.${attempts.length}`, ZERO)
      continue
    }
    const decoder = call.parsed.decoder(plan)
    crashPoint('before_dispatch')
    plane.routing.health.begin(offer)
    const result = await runAttempt(plane, { plan, request, decoder, turn, before: attempts, deadlineAt })
    last = { plan, request, decoder, result }
    waitedMs += result.endedAt - result.sentAt
    attempts.push(attemptRow(plan, result))
    plane.watch.tracing?.tried(plan, result)
    reportHealth(plane.routing, plan, result)
    if (result.failure) failures.push(result.failure)
    const isLast = index === candidates.length - 1 || attempts.length >= maxAttempts
    if (isLast || isFinal(call, { plan, result, decoder }, failures)) break
    // Nothing of this attempt is charged, so its offer's cap is restored.
    await settleCap(plane.caps, plan, attempts.length - 1)
  }
  const refusal = rules.length > 0 ? policyRefused(rules) : unsaid
  const error = last === undefined && refusal !== undefined ? refusal : errorOf(plane, call, last, failures)
  return { last, attempts, error, isGone: last?.result.isGone ?? false, waitedMs }
}

/** The request in an offer's protocol, or the error when the protocol cannot express it. */
function encoded({ parsed }: AdmittedCall, plan: AttemptPlan): UpstreamRequest | AppError {
  try {
    return parsed.encode(plan)
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_request') return error
    throw error
  }
}

function timeFor({ limits }: Pick<CallPlane, 'limits'>, { demand }: AdmittedCall): number {
  const isForPictures = demand.kind === 'model' && demand.bounds.images !== undefined
  return isForPictures ? Math.min(limits.picturesMs, limits.totalMs) : limits.totalMs
}

/** A further attempt is paid from the retry budget, unless the one before it reached no provider. */
function mayTry(plane: CallPlane, attempts: readonly Attempt[]): boolean {
  const before = attempts.at(-1)
  return before === undefined || before.errorClass === 'unreachable' || plane.routing.retries.spend()
}

/** True when no other offer may or needs to take over. */
function isFinal(
  { route, demand }: AdmittedCall,
  { plan, result, decoder }: EndedAttempt,
  failures: readonly UpstreamFailure[],
): boolean {
  if (result.isGone || decoder.contentPieces() > 0 || result.failure?.fault === 'ours') return true
  switch (route.failover) {
    case 'never':
      return true
    case 'until-connected':
      return result.isSent || result.failure?.fault === 'buyer'
    case 'until-content':
      // An empty answer is neither a failure nor content. The next offer may give a better one, unless the
      // provider bills this one: the next would then bill the same again.
      if (!result.failure) return isBilled(plan, demand, decoder.ending())
      return isSaidTwice(failures)
  }
}

type EndedAttempt = { readonly plan: AttemptPlan; readonly result: AttemptResult; readonly decoder: Decoder }

/** True for an answer whose provider counts output, and for one that was cut at its limit. */
function isBilled(plan: AttemptPlan, demand: Demand, ending: Ending): boolean {
  const { usage, finishReason } = meterUsage(plan, demand, ending)
  return !isNothing(usage) || AT_LIMIT.includes(finishReason)
}

function planFor({ turnSeal }: CallRouting, call: AdmittedCall, offer: Offer): AttemptPlan | undefined {
  const { target, hold, raw, demand } = call
  const { bound } = call.quote
  const maxOutputTokens = limitWithin(bound, offer.keptBps, hold.grantedMicro, leastOutputTokensOf(offer))
  const { maxCostMicro } = demand
  const isLowered = maxOutputTokens !== undefined && maxOutputTokens < bound.maxOutputTokens
  // Only the buyer's own ceiling lowers a limit that the buyer gave. The limit of an image is never lowered.
  const mayLower = !bound.isWhole && (!bound.isGiven || maxCostMicro !== undefined)
  if (maxOutputTokens === undefined || (isLowered && !mayLower)) return undefined
  return {
    rid: hold.rid,
    offer,
    target,
    maxOutputTokens,
    createdAt: Math.floor(raw.receivedAt / SECOND),
    isCeilingBound: isLowered && maxCostMicro !== undefined,
    seal: turnSeal,
  }
}

async function takeCap(plane: CallPlane, call: AdmittedCall, plan: AttemptPlan, attempt: number): Promise<boolean> {
  const { offer } = plan
  const { bound } = call.quote
  const most = ceilingAt(offer.keptBps, withOutput(bound, plan.maxOutputTokens * bound.choices))
  const askedAt = plane.clock.now()
  const hasRoom = await plane.caps.offers.take(offer, `${plan.rid}.${attempt}`, most, call.quote.ttlMs)
  if (hasRoom || offer.id === null) return true
  const usedMicro = await plane.caps.offers.usedToday([offer.id])
  plane.caps.spent.mark(offer.id, askedAt, usedMicro.get(offer.id))
  return false
}

/**
 * Counts a call at a lent key that its lender has limited. Returns the rule that refuses it. Requests about jobs are
 * not limited.
 */
async function admitLent(
  plane: CallPlane,
  call: AdmittedCall,
  { offer, rid, maxOutputTokens }: AttemptPlan,
  attempt: number,
): Promise<LentRule | undefined> {
  if (offer.servedBy !== 'marketplace' || offer.lent === undefined || call.inquiry !== undefined) return undefined
  const { buyerCapMicro: limitMicro, ratePerMinute } = offer.lent
  const { bound } = call.quote
  if (limitMicro !== null) {
    const most = ceilingAt(offer.keptBps, withOutput(bound, maxOutputTokens * bound.choices))
    const buyer = call.hold.account ?? call.hold.wallet
    const hasRoom = await plane.caps.shares.take({ offer: offer.id, buyer, limitMicro }, `${rid}.${attempt}`, most)
    if (!hasRoom) {
      plane.routing.refusals.note([{ offer: offer.id, rule: 'buyer_share' }], most)
      return 'buyer_share'
    }
  }
  if (ratePerMinute !== null) plane.rates.charge(rateScopeOf(offer), 1)
  return undefined
}

/** Restores the parts of an offer's cap and of the buyer's share that an attempt without a sale has taken. */
export async function settleCap({ offers, shares }: CallCaps, plan: AttemptPlan, attempt: number): Promise<void> {
  if (plan.offer.capDailyMicro === null) return
  await offers.settle(plan.offer, `${plan.rid}.${attempt}`, ZERO)
  await shares.settle(`${plan.rid}.${attempt}`, ZERO)
}

/** The note to the seller whose provider may count one call twice. The first sending counts as no failure. */
const SENT_TWICE = {
  errorClass: 'unreachable',
  status: 0,
  retryAfterMs: undefined,
  detail: 'the provider closed an idle connection as the request left; it was sent again on a new one',
} as const

function reportHealth(
  { health }: CallRouting,
  { offer, rid }: AttemptPlan,
  { failure, isGone, isResent }: AttemptResult,
): void {
  if (isResent) health.noted(offer, rid, SENT_TWICE)
  if (failure === undefined) {
    if (!isGone) health.succeeded(offer, rid)
  } else if (failure.fault === 'offer') health.failed(offer, rid, failure)
  else if (failure.fault === 'misfit') health.noted(offer, rid, failure)
}

/** The error for the buyer when there is no complete answer. */
function errorOf(
  plane: CallPlane,
  call: AdmittedCall,
  last: Relay['last'],
  failures: readonly UpstreamFailure[],
): AppError | undefined {
  if (last === undefined) {
    const message = `No seller of the ${call.target.kind} has enough left of its daily cap for a call of this size.`
    const ports = { caps: plane.caps.spent, now: plane.clock.now() }
    return capRefusal(call.target, call.ranked.candidates, ports, message)
  }
  const { failure } = last.result
  if (failure === undefined || last.decoder.contentPieces() > 0) return failure?.error
  const shown = shownFailure(failures) ?? failure
  const { target, demand } = call
  return shown.errorClass === 'context_length' && target.kind === 'model' && demand.kind === 'model'
    ? contextError(target, demand, last.plan.maxOutputTokens)
    : shown.error
}
