import type { BuyerReply, Incoming, Offer, UpstreamRequest } from '#data-plane/call.ts'
import type { Hold, Settled } from '#data-plane/payment.ts'
import type { Payment } from '#data-plane/rails/rail.ts'
import { repeatedCall } from '#data-plane/rails/rail.ts'
import type { UpstreamFailure } from '#data-plane/upstream/classify.ts'
import { classifyBadAnswer } from '#data-plane/upstream/classify.ts'
import type { ParsedJob } from '#data-plane/wires/wire.ts'
import type { Attempt } from '#shared/contract/usage-event.ts'
import { MAX_ATTEMPTS } from '#shared/contract/usage-event.ts'
import { crashPoint } from '#shared/crash-point.ts'
import type { AppError } from '#shared/errors.ts'
import { toAppError } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'
import type { ProviderJob } from '#shared/jobs.ts'
import type { MicroUsd } from '#shared/money.ts'
import { chargeShare, ZERO } from '#shared/money.ts'
import { writeUnitPrices } from '#shared/pricing.ts'
import { jobCodecOf } from '#shared/protocols/index.ts'
import type { ProviderAnswer } from './ask-provider.ts'
import { askProvider, speakerOf } from './ask-provider.ts'
import { bookJobEvent } from './book-job-event.ts'
import { refuse } from './buyer-answer.ts'
import type { Failover } from './call-plane.ts'
import { emitJob, emitRefusal } from './emit-call.ts'
import type { PayingGuest } from './entrance.ts'
import {
  demandOf,
  enter,
  isPaying,
  isProbe,
  leave,
  openVisit,
  PROBE,
  paymentDemand,
  settleRefusal,
  standingOf,
  withDemand,
} from './entrance.ts'
import { submitEvent } from './job-event.ts'
import type { JobPlane, SubmitRoute } from './job-plane.ts'
import { jobIdOf } from './job-plane.ts'
import { openView } from './job-view.ts'
import { mayFallBack } from './own-providers.ts'
import type { Course } from './plan-call.ts'
import { planCall, plotCourse, quoteFor } from './plan-call.ts'
import type { CallQuote } from './quote-call.ts'
import { capRefusal } from './refuse-caps.ts'
import { refuseSwitchedOff } from './refuse-switched-off.ts'
import { replyHeaders } from './reply-headers.ts'
import { reserveFunds } from './reserve-funds.ts'

/** A take of an offer's cap outlives the question to its provider by these milliseconds. */
const TAKE_SLACK_MS = 30_000

/**
 * Submits a long job. The quote is held and a provider accepts the job. Then the whole quote is settled, because the
 * job may outlive every process. The final cost comes out of it; see finish-job.ts. Always answers.
 */
export async function submitJob(
  plane: JobPlane,
  route: SubmitRoute,
  incoming: Incoming,
  reply: BuyerReply,
): Promise<void> {
  const { calls } = plane
  const { head } = incoming
  const visit = openVisit()
  const tried: Asked = { attempts: [], failures: [], unsaid: [] }
  calls.tracing?.begin(head)
  try {
    const guest = await enter(calls, { ...route, withoutCredential: 'challenge' }, incoming, visit)
    const { raw } = guest
    if (isProbe(guest)) throw paymentDemand(demandOf(calls, route, raw, PROBE))
    refuseSwitchedOff(calls, 'long_jobs')
    const job = route.wire.read(raw)
    const plottedFrom = calls.clock.monotonic()
    const course = plotCourse(calls, { raw, demand: job.demand, payer: guest.payer })
    if (!isPaying(guest)) {
      throw paymentDemand(demandOf(calls, route, raw, planCall(calls, course, askedMs(plane)).quote))
    }
    const decisionMs = calls.clock.monotonic() - plottedFrom
    const { text, offer, request, own } = await submitInTurn(plane, { route, guest, job, course, tried })
    const headers = replyHeaders({
      isStreamed: false,
      standing: standingOf(calls, visit),
      attempts: tried.attempts.length,
      decisionMs,
      overheadMs: calls.clock.monotonic() - head.startedAt - waitedFor(tried),
      plan: { offer },
      request,
      receipt: undefined,
      own,
    })
    reply.whole(route.wire.acceptedStatus, headers, text)
  } catch (thrown) {
    const error = toAppError(thrown)
    emitRefusal(calls, route.wire.name, head, error)
    settleRefusal(calls, visit, error, tried.attempts.length)
    refuse(route.wire, head, reply, { error, attempts: tried.attempts.length, standing: standingOf(calls, visit) })
  } finally {
    leave(calls, visit)
  }
}

/** The providers that were asked, and their refusals. */
type Asked = {
  readonly attempts: Attempt[]
  readonly failures: UpstreamFailure[]
  /** Refusals of protocols that cannot say what is asked for. */
  readonly unsaid: AppError[]
}

/** A job whose course is set. */
type Wanted = {
  readonly route: SubmitRoute
  readonly guest: PayingGuest
  readonly job: ParsedJob
  readonly course: Course
  readonly tried: Asked
}

/** One kind of offers, and the rail that pays for them. */
type Turn = {
  readonly payment: Pick<Payment, 'reserve' | 'settle' | 'release'>
  readonly offers: readonly Offer[]
  readonly quote: CallQuote
  /** Attempts of this turn and of those before it together. */
  readonly maxAttempts: number
}

/** A job that runs, as its buyer is told of it. */
type Accepted = {
  readonly text: string
  readonly offer: Pick<Offer, 'servedBy' | 'provider'>
  /** What its provider was told; undefined for a job of before. */
  readonly request: UpstreamRequest | undefined
  /** Headers of the rail. */
  readonly own: Settled['headers']
}

function waitedFor({ attempts }: Asked): number {
  return attempts.reduce((total, { ms }) => total + ms, 0)
}

function askedMs({ limits }: JobPlane): number {
  return limits.askMs * MAX_ATTEMPTS
}

/**
 * Tries the payer's own providers of the model, then the marketplace, then the payer's providers for every model, as
 * for a call.
 */
async function submitInTurn(plane: JobPlane, wanted: Wanted): Promise<Accepted> {
  const { course, guest } = wanted
  const { first, last } = course.own
  const kept = last.length > 0 ? 1 : 0
  const ownTurn = (offers: readonly Offer[], maxAttempts: number): Turn => {
    const quote = quoteFor(course, offers, askedMs(plane))
    return { payment: plane.calls.ownProviders, offers, quote, maxAttempts }
  }
  if (first.length > 0) {
    const accepted = await takeTurn(plane, wanted, ownTurn(first, MAX_ATTEMPTS - 1 - kept))
    if (accepted !== undefined) return accepted
  }
  try {
    const { ranked, quote } = planCall(plane.calls, course, askedMs(plane))
    const { payment } = guest
    const sold: Turn = { payment, offers: ranked.candidates, quote, maxAttempts: MAX_ATTEMPTS - kept }
    const accepted = await takeTurn(plane, wanted, sold)
    if (accepted !== undefined) return accepted
    if (kept === 0) throw refusalOf(plane, wanted, ranked.candidates)
  } catch (thrown) {
    if (kept === 0 || !mayFallBack(toAppError(thrown).code)) throw thrown
  }
  const accepted = await takeTurn(plane, wanted, ownTurn(last, MAX_ATTEMPTS))
  if (accepted !== undefined) return accepted
  throw refusalOf(plane, wanted, last)
}

function refusalOf({ calls }: JobPlane, { tried, course }: Wanted, offers: readonly Offer[]): AppError {
  const message = 'No seller of the model has enough left of its daily cap for this job.'
  const ports = { caps: calls.spentCaps, now: calls.clock.now() }
  const refused = tried.failures.at(-1)?.error ?? tried.unsaid.at(-1)
  return refused ?? capRefusal(course.target, offers, ports, message)
}

/**
 * Holds the money and finds a provider. Answers the text for the buyer of a running job; undefined when it is certain
 * that no provider of this turn took it. Every failure gives the hold back.
 */
async function takeTurn(plane: JobPlane, wanted: Wanted, turn: Turn): Promise<Accepted | undefined> {
  const { payment } = turn
  const hold = await reserve(plane, wanted, turn)
  if (!('rid' in hold)) return hold
  try {
    const taken = await findProvider(plane, wanted, turn, hold)
    if (taken !== undefined) return await book(plane, wanted, turn, { ...taken, hold })
    void payment.release(hold, 'no_provider', '')
    return undefined
  } catch (thrown) {
    const error = toAppError(thrown)
    void payment.release(hold, error.code, '')
    plane.calls.log.info({ rid: hold.rid, code: error.code }, 'a job was not taken')
    throw error
  }
}

/** Sets the money aside. A wallet that shows the payment of a job again, for the same request, is told of that job. */
async function reserve(plane: JobPlane, { route, guest }: Wanted, { payment, quote }: Turn): Promise<Hold | Accepted> {
  const { calls } = plane
  try {
    return await reserveFunds(calls, payment, guest, quote)
  } catch (thrown) {
    const rid = repeatedCall(thrown)
    const job = rid && (await toldAgain(plane, route, rid))
    if (job !== undefined) return job
    throw withDemand(thrown, () => demandOf(calls, route, guest.raw, quote))
  }
}

/** The answer to the submit of a job once more. Its payment stands by now, or may yet come about. */
async function toldAgain(plane: JobPlane, { wire }: SubmitRoute, rid: RequestId): Promise<Accepted | undefined> {
  const stored = await plane.jobs.find(rid)
  if (stored?.job.wire !== wire.name) return undefined
  const { job, isWithheld } = stored
  if (isWithheld) await plane.jobs.withhold(rid, false)
  const view = openView(rid, job, { state: 'queued', progress: undefined, bindingMs: plane.limits.bindingMs })
  const text = wire.submitted(view, plane.tokenOf(jobIdOf(rid)))
  return { text, offer: job, request: undefined, own: undefined }
}

function quoteAt({ quote }: Turn, { keptBps }: Offer): MicroUsd {
  return chargeShare(quote.bound.bill, keptBps)
}

type Taken = {
  readonly offer: Offer
  readonly request: UpstreamRequest
  readonly provider: ProviderJob
  /** The id under which its quote was taken from the offer's cap. */
  readonly take: string
}

/**
 * Finds the first offer whose provider takes the job; undefined when none did. It asks another only while it is certain
 * that the one before did not take it, because a job that runs twice is paid once. Throws when that is not certain.
 */
async function findProvider(
  { calls, limits }: JobPlane,
  { route, job, course, tried }: Wanted,
  turn: Turn,
  hold: Hold,
): Promise<Taken | undefined> {
  const { attempts, failures } = tried
  for (const offer of turn.offers) {
    const quote = quoteAt(turn, offer)
    if (attempts.length >= turn.maxAttempts || quote > hold.grantedMicro) continue
    const request = encodeFor(job, offer, course, tried)
    if (request === undefined) continue
    const take = `${hold.rid}.${attempts.length}`
    if (!(await calls.offerCaps.take(offer, take, quote, limits.askMs + TAKE_SLACK_MS))) {
      if (offer.id !== null) calls.spentCaps.mark(offer.id, calls.clock.now())
      continue
    }
    calls.health.begin(offer)
    const answer = await askProvider(calls, offer, request, limits.askMs)
    const codec = jobCodecOf(offer, route.wire.name)
    const provider = answer.failure === undefined ? codec.accepted(answer.text) : undefined
    const bad = { kind: 'malformed', status: answer.status, text: 'no job' } as const
    const failure =
      answer.failure ?? (provider === undefined ? classifyBadAnswer(bad, speakerOf(calls, offer, request)) : undefined)
    const row = { offer: offer.id, provider: offer.provider, status: answer.status, ms: answer.ms }
    attempts.push({ ...row, errorClass: failure?.errorClass ?? null })
    if (provider !== undefined) {
      calls.health.succeeded(offer, hold.rid)
      return { offer, request, provider, take }
    }
    void calls.offerCaps.settle(offer, take, ZERO)
    if (failure === undefined) continue
    failures.push(failure)
    if (failure.fault === 'offer') calls.health.failed(offer, hold.rid, failure)
    if (isFinal(route.failover, answer, failure)) throw failure.error
  }
  return undefined
}

/** The job in the words of an offer's protocol. Undefined where that has none for it; another offer's may have. */
function encodeFor(job: ParsedJob, offer: Offer, { target }: Course, { unsaid }: Asked): UpstreamRequest | undefined {
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

/** Statuses that say nothing of what became of the request: somebody on the way gave up waiting. */
const GIVEN_UP: ReadonlySet<number> = new Set([408, 502, 504])

/** True unless the request never went out, or the provider's answer says that it took no job. */
function mayBeTaken({ status, isSent }: ProviderAnswer): boolean {
  if (status === 0) return isSent
  return status < 300 || GIVEN_UP.has(status)
}

/**
 * Writes the job down and settles its quote. Only then the buyer hears of it. A job whose payment cannot be taken is
 * hidden and, where that can be, stopped. It ends like any other, and what it costs then the platform stands in for.
 */
async function book(
  plane: JobPlane,
  { route, guest, job, course, tried }: Wanted,
  turn: Turn,
  { offer, request, provider, take, hold }: Taken & { readonly hold: Hold },
): Promise<Accepted> {
  const { calls, limits } = plane
  const { raw } = guest
  const { target } = course
  const { wire } = route
  const quoteMicro = quoteAt(turn, offer)
  const record = {
    v: 1 as const,
    rid: hold.rid,
    account: hold.account,
    keyId: hold.keyId,
    wallet: hold.wallet,
    rail: hold.rail,
    payment: hold.record,
    wire: wire.name,
    endpoint: target.endpoint,
    model: target.id,
    requestedModel: target.requested,
    offer: offer.id,
    sellerAccount: offer.sellerAccount,
    servedBy: offer.servedBy,
    provider: offer.provider,
    baseUrl: offer.baseUrl,
    apiFormat: offer.apiFormat,
    credential: offer.credential,
    providerJob: provider.id,
    priceVersion: target.price.version,
    unitPrices: writeUnitPrices(target.price.unitPrices),
    keptBps: Number(offer.keptBps),
    feeBps: Number(calls.market().limits.platformFeeBps),
    quoteMicro: quoteMicro.toString(),
    // The bound by which it was quoted.
    bound: { ...turn.quote.bound.units },
    attempts: [...tried.attempts],
    asked: job.asked,
    adaptedParams: [...request.adaptedParams],
    createdAt: raw.receivedAt,
    deadlineAt: raw.receivedAt + limits.deadlineMs,
  }
  let usedMicro = ZERO
  let settled: Settled
  try {
    crashPoint('job_taken')
    await plane.jobs.put(record, calls.clock.now())
    crashPoint('job_written')
    // The whole quote counts against today's cap, whatever the job costs in the end.
    usedMicro = quoteMicro
    const event = JSON.stringify(submitEvent(record, calls.nodeId, calls.clock.now()))
    settled = await bookJobEvent(calls, hold, event, () => turn.payment.settle(hold, quoteMicro, event))
    crashPoint('job_settled')
  } finally {
    void calls.offerCaps.settle(offer, take, usedMicro)
  }
  if (settled.refusal !== undefined) {
    await plane.jobs.withhold(hold.rid, true)
    void stopJob(plane, route, offer, provider.id)
    throw settled.refusal
  }
  const facts = { wire: wire.name, model: record.model, provider: record.provider, chargeMicro: quoteMicro }
  emitJob(calls, raw, { ...facts, tried: tried.attempts }, waitedFor(tried))
  const { bindingMs } = limits
  const view = openView(hold.rid, record, { state: 'queued', progress: provider.progress, bindingMs })
  const text = wire.submitted(view, plane.tokenOf(jobIdOf(hold.rid)))
  return { text, offer, request, own: settled.headers }
}

/** Asks a provider to stop a job that nobody will see. Never rejects: where it does not, the job runs to its end. */
async function stopJob({ calls, limits }: JobPlane, { wire }: SubmitRoute, offer: Offer, job: string): Promise<void> {
  const request = jobCodecOf(offer, wire.name).cancel?.(job)
  if (request !== undefined) await askProvider(calls, offer, { ...request, adaptedParams: [] }, limits.askMs)
}
