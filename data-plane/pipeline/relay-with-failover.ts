import type {
  AttemptPlan,
  BuyerReply,
  Decoder,
  Demand,
  Hold,
  Offer,
  Target,
  UpstreamRequest,
} from '#data-plane/call.ts'
import type { UpstreamFailure } from '#data-plane/upstream/classify.ts'
import type { ParsedCall } from '#data-plane/wires/wire.ts'
import type { Attempt } from '#shared/contract/usage-event.ts'
import { crashPoint } from '#shared/crash-point.ts'
import type { AppError } from '#shared/errors.ts'
import { ZERO } from '#shared/money.ts'
import type { AttemptResult } from './attempt.ts'
import { runAttempt } from './attempt.ts'
import type { CallPlane } from './call-plane.ts'
import { contextError } from './check-capability.ts'
import type { CallQuote } from './quote-call.ts'
import { ceilingAt, limitWithin, withOutput } from './quote-call.ts'
import { capRefusal } from './refuse-caps.ts'

/** After so many providers agree that the request is at fault, it is. */
const MAX_BUYER_FAULTS = 2

/** What the relay needs to know of the call. */
export type RelayJob = {
  readonly call: ParsedCall
  readonly target: Target
  readonly demand: Demand
  readonly candidates: readonly Offer[]
  readonly quote: CallQuote
  readonly hold: Hold
  readonly reply: BuyerReply
  /** Unix seconds and monotonic milliseconds of the admission. */
  readonly createdAt: number
  readonly startedAt: number
  /** What was tried for this call elsewhere, and how many tries that and this may make together. */
  readonly before: Pick<Relay, 'attempts' | 'waitedMs'>
  readonly maxAttempts: number
  /** Sends the head of a stream; without a winner it is only a sign of life. */
  startReply(winner: Winner | undefined, attempts: number): void
  /** Writes down how far the call has come. */
  onProgress(plan: AttemptPlan, decoder: Decoder, attempts: readonly Attempt[]): void
}

/** The attempt whose content the buyer gets. */
export type Winner = { readonly plan: AttemptPlan; readonly request: UpstreamRequest; readonly decoder: Decoder }

/** How the relay ended. */
export type Relay = {
  /** The last attempt that began; absent when none could. */
  readonly last: (Winner & { readonly result: AttemptResult }) | undefined
  readonly attempts: readonly Attempt[]
  /** Set when the buyer gets no complete answer. */
  readonly error: AppError | undefined
  readonly isGone: boolean
  /** Milliseconds in which the call waited for providers. */
  readonly waitedMs: number
}

/**
 * Tries offers in order until one answers. Another may take over as long as the buyer has seen no content: after that,
 * a second answer would not fit the first. Each failure costs the offer some of its health and the buyer nothing.
 */
export async function relayWithFailover(plane: CallPlane, job: RelayJob): Promise<Relay> {
  const attempts: Attempt[] = [...job.before.attempts]
  const failures: UpstreamFailure[] = []
  let last: Relay['last']
  let { waitedMs } = job.before
  const deadlineAt = job.startedAt + plane.limits.totalMs
  for (const [index, offer] of job.candidates.entries()) {
    if (attempts.length >= job.maxAttempts || plane.clock.monotonic() >= deadlineAt) break
    const plan = planFor(job, offer)
    if (plan === undefined) continue
    if (!mayTry(plane, attempts)) break
    if (offer.capDailyMicro !== null && !(await takeCap(plane, job, plan, attempts.length))) continue
    const request = job.call.encode(plan)
    const decoder = job.call.decoder(plan)
    crashPoint('before_dispatch')
    const result = await attemptOnce(plane, job, { plan, request, decoder, attempts, deadlineAt })
    last = { plan, request, decoder, result }
    waitedMs += result.endedAt - result.sentAt
    attempts.push(attemptRow(plan, result))
    plane.tracing?.tried(plan, result)
    reportHealth(plane, plan, result)
    if (result.failure) failures.push(result.failure)
    const isLast = index === job.candidates.length - 1 || attempts.length >= job.maxAttempts
    if (isFinal(result, decoder, failures, isLast)) break
    // Nothing of this attempt is charged: its offer gets its cap back.
    await settleCap(plane, plan, attempts.length - 1)
  }
  const error = errorOf(plane, job, last, failures)
  return { last, attempts, error, isGone: last?.result.isGone ?? false, waitedMs }
}

/** Second attempts are paid from the budget, but for those whose forerunner reached nobody. */
function mayTry(plane: CallPlane, attempts: readonly Attempt[]): boolean {
  const before = attempts.at(-1)
  return before === undefined || before.errorClass === 'unreachable' || plane.retries.spend()
}

/** True when no other offer may or need take over. */
function isFinal(
  result: AttemptResult,
  decoder: Decoder,
  failures: readonly UpstreamFailure[],
  isLast: boolean,
): boolean {
  if (isLast || result.isGone || decoder.contentPieces() > 0) return true
  // Neither a failure nor content: an empty answer, which the next offer may do better.
  if (!result.failure) return false
  return failures.filter(({ fault }) => fault === 'buyer').length >= MAX_BUYER_FAULTS
}

function planFor(job: RelayJob, offer: Offer): AttemptPlan | undefined {
  const { bound } = job.quote
  const maxOutputTokens = limitWithin(job.target, bound, offer.keptBps, job.hold.grantedMicro)
  const { maxCostMicro } = job.demand
  const isLowered = maxOutputTokens !== undefined && maxOutputTokens < bound.maxOutputTokens
  // A limit that the buyer gave is lowered only by the buyer's own ceiling.
  if (maxOutputTokens === undefined || (isLowered && bound.isGiven && maxCostMicro === undefined)) return undefined
  return {
    rid: job.hold.rid,
    offer,
    target: job.target,
    maxOutputTokens,
    createdAt: job.createdAt,
    isCeilingBound: isLowered && maxCostMicro !== undefined,
  }
}

async function takeCap(plane: CallPlane, job: RelayJob, plan: AttemptPlan, attempt: number): Promise<boolean> {
  const { offer } = plan
  const { bound } = job.quote
  const most = ceilingAt(job.target, offer.keptBps, withOutput(bound, plan.maxOutputTokens * bound.choices))
  const hasRoom = await plane.offerCaps.take(offer, `${plan.rid}.${attempt}`, most, job.quote.ttlMs)
  if (hasRoom) return true
  const used = await plane.offerCaps.usedToday([offer.id])
  plane.spentCaps.mark(offer.id, plane.clock.now(), used.get(offer.id))
  return false
}

async function settleCap(plane: CallPlane, plan: AttemptPlan, attempt: number): Promise<void> {
  if (plan.offer.capDailyMicro !== null) await plane.offerCaps.settle(plan.offer, `${plan.rid}.${attempt}`, ZERO)
}

type Trial = {
  readonly plan: AttemptPlan
  readonly request: UpstreamRequest
  readonly decoder: Decoder
  readonly attempts: readonly Attempt[]
  readonly deadlineAt: number
}

function attemptOnce(plane: CallPlane, job: RelayJob, trial: Trial): Promise<AttemptResult> {
  const { plan, request, decoder, attempts, deadlineAt } = trial
  const sentAt = plane.clock.monotonic()
  if (plan.offer.own === undefined) plane.health.begin(plan.offer)
  return runAttempt(plane, {
    plan,
    request,
    decoder,
    reply: job.reply,
    isStreamed: job.demand.isStreamed,
    choices: job.demand.bounds.choices,
    deadlineAt,
    startReply(hasWon) {
      job.startReply(hasWon ? { plan, request, decoder } : undefined, attempts.length + 1)
    },
    onProgress() {
      const soFar = { status: 200, sentAt, endedAt: plane.clock.monotonic(), failure: undefined }
      job.onProgress(plan, decoder, [...attempts, attemptRow(plan, soFar)])
    },
  })
}

type Tried = Pick<AttemptResult, 'status' | 'sentAt' | 'endedAt' | 'failure'>

function attemptRow({ offer }: AttemptPlan, result: Tried): Attempt {
  return {
    offer: offer.own === undefined ? offer.id : null,
    provider: offer.provider,
    status: result.status,
    ms: Math.round(result.endedAt - result.sentAt),
    errorClass: result.failure?.errorClass ?? null,
  }
}

function reportHealth(plane: CallPlane, { offer, rid }: AttemptPlan, { failure, isGone }: AttemptResult): void {
  // A buyer's own key has no standing in the market.
  if (offer.own !== undefined) return
  if (failure === undefined) {
    if (!isGone) plane.health.succeeded(offer, rid)
  } else if (failure.fault === 'offer') plane.health.failed(offer, rid, failure)
}

/** What the buyer is told when there is no complete answer. */
function errorOf(
  plane: CallPlane,
  job: RelayJob,
  last: Relay['last'],
  failures: readonly UpstreamFailure[],
): AppError | undefined {
  if (last === undefined) {
    const message = 'No seller of the model has enough left of its daily cap for a call of this size.'
    return capRefusal(job.candidates, plane.spentCaps, plane.clock.now(), message)
  }
  const { failure } = last.result
  if (failure === undefined || last.decoder.contentPieces() > 0) return failure?.error
  // A request that a provider found fault with is not mended by another one's failure.
  const shown = failures.find(({ fault }) => fault === 'buyer') ?? failure
  return shown.errorClass === 'context_length'
    ? contextError(job.target, job.demand, last.plan.maxOutputTokens)
    : shown.error
}
