import type { Offer, UpstreamRequest } from '#data-plane/call.ts'
import type { Hold } from '#data-plane/payment.ts'
import type { ProviderAnswer } from '#data-plane/pipeline/attempt/ask-provider.ts'
import { askProvider, speakerOf } from '#data-plane/pipeline/attempt/ask-provider.ts'
import type { Failover } from '#data-plane/pipeline/call-plane.ts'
import type { PayingGuest } from '#data-plane/pipeline/entrance.ts'
import type { TurnBounds } from '#data-plane/pipeline/in-turns.ts'
import type { Course } from '#data-plane/pipeline/plan/plan-call.ts'
import type { CallQuote } from '#data-plane/pipeline/plan/quote-call.ts'
import type { Payment } from '#data-plane/rails/rail.ts'
import type { UpstreamFailure } from '#data-plane/upstream/classify.ts'
import { classifyBadAnswer } from '#data-plane/upstream/classify.ts'
import type { ParsedJob } from '#data-plane/wires/wire.ts'
import type { Attempt } from '#shared/contract/usage-event.ts'
import type { AppError } from '#shared/errors.ts'
import { toAppError } from '#shared/errors.ts'
import type { ProviderJob } from '#shared/jobs.ts'
import type { MicroUsd } from '#shared/money.ts'
import { chargeShare, ZERO } from '#shared/money.ts'
import { jobCodecOf } from '#shared/protocols/index.ts'
import type { JobPlane, SubmitRoute } from './job-plane.ts'

/** A take of an offer's cap outlives the request to its provider by these milliseconds. */
const TAKE_SLACK_MS = 30_000

/** The providers that were called, and their refusals. */
export type AskedProviders = {
  readonly attempts: Attempt[]
  readonly failures: UpstreamFailure[]
  /** Refusals of protocols that cannot express the request. */
  readonly unsaid: AppError[]
  /** True once a provider has accepted the job. No other is called then, whatever fails here. */
  isTaken: boolean
}

/** A job with its payer, its course and the providers that were asked. */
export type JobRequest = {
  readonly route: SubmitRoute
  readonly guest: PayingGuest
  readonly job: ParsedJob
  readonly course: Course
  readonly tried: AskedProviders
}

/** Offers of one kind, and the rail that pays for them. */
export type JobTurn = TurnBounds & {
  readonly payment: Pick<Payment, 'reserve' | 'settle' | 'release'>
  readonly offers: readonly Offer[]
  readonly quote: CallQuote
}

export type StartedAtProvider = {
  readonly offer: Offer
  readonly request: UpstreamRequest
  readonly provider: ProviderJob
  /** The id of the quote's take from the offer's cap. */
  readonly take: string
}

/** The price of the whole job at an offer. */
export function quoteAt({ quote }: JobTurn, { keptBps }: Offer): MicroUsd {
  return chargeShare(quote.bound.bill, keptBps)
}

/**
 * Finds the first offer whose provider accepts the job; undefined when none did. It calls another only while it is
 * certain that the one before did not accept the job, because a job that runs twice is paid once. Throws when that is
 * not certain.
 */
export async function findProvider(
  { calls, limits }: JobPlane,
  { route, job, course, tried }: JobRequest,
  turn: JobTurn,
  hold: Hold,
): Promise<StartedAtProvider | undefined> {
  const { attempts, failures } = tried
  for (const offer of turn.offers) {
    const quote = quoteAt(turn, offer)
    if (attempts.length >= turn.maxAttempts || quote > hold.grantedMicro) continue
    const request = encodeFor(job, offer, course, tried)
    if (request === undefined) continue
    const take = `${hold.rid}.${attempts.length}`
    const askedAt = calls.clock.now()
    if (!(await calls.caps.offers.take(offer, take, quote, limits.askMs + TAKE_SLACK_MS))) {
      if (offer.id !== null) calls.caps.spent.mark(offer.id, askedAt)
      continue
    }
    calls.routing.health.begin(offer)
    const answer = await askProvider(calls, offer, request, limits.askMs)
    const codec = jobCodecOf(offer, route.wire.name)
    const provider = answer.failure === undefined ? codec.accepted(answer.text) : undefined
    const bad = { kind: 'malformed', status: answer.status, text: 'no job' } as const
    const failure =
      answer.failure ?? (provider === undefined ? classifyBadAnswer(bad, speakerOf(calls, offer, request)) : undefined)
    const { status, ms, connectMs } = answer
    const { id, provider: name } = offer
    attempts.push({ offer: id, provider: name, status, ms, connectMs, errorClass: failure?.errorClass ?? null })
    if (provider !== undefined) {
      calls.routing.health.succeeded(offer, hold.rid)
      return { offer, request, provider, take }
    }
    void calls.caps.offers.settle(offer, take, ZERO)
    if (failure === undefined) continue
    failures.push(failure)
    if (failure.fault === 'offer') calls.routing.health.failed(offer, hold.rid, failure)
    else if (failure.fault === 'misfit') calls.routing.health.noted(offer, hold.rid, failure)
    if (isFinal(route.failover, answer, failure)) throw failure.error
  }
  return undefined
}

/** The job in an offer's protocol. Undefined when that protocol cannot express it; another offer's may. */
function encodeFor(
  job: ParsedJob,
  offer: Offer,
  { target }: Course,
  { unsaid }: AskedProviders,
): UpstreamRequest | undefined {
  try {
    return job.encode(offer, target)
  } catch (thrown) {
    const error = toAppError(thrown)
    if (error.code !== 'model_capability_unsupported') throw thrown
    unsaid.push(error)
    return undefined
  }
}

/** True when no other provider may be asked after this failure. */
function isFinal(failover: Failover, answer: ProviderAnswer, { fault }: UpstreamFailure): boolean {
  return failover === 'never' || fault === 'buyer' || mayBeTaken(answer)
}

/** Statuses that leave the fate of the request open: a proxy gave up waiting. */
const GIVEN_UP: ReadonlySet<number> = new Set([408, 502, 504])

/** True unless the request was never sent, or the provider's answer says that it accepted no job. */
function mayBeTaken({ status, isSent }: ProviderAnswer): boolean {
  if (status === 0) return isSent
  return status < 300 || GIVEN_UP.has(status)
}
