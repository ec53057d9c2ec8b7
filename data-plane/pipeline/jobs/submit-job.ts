import type { BuyerReply, Incoming, Offer, UpstreamRequest } from '#data-plane/call.ts'
import type { Hold, Settled } from '#data-plane/payment.ts'
import { askProvider } from '#data-plane/pipeline/attempt/ask-provider.ts'
import { shownFailure } from '#data-plane/pipeline/attempt/shown-failure.ts'
import { refuse } from '#data-plane/pipeline/buyer-answer.ts'
import { captureJobEvent } from '#data-plane/pipeline/capture-job-event.ts'
import { announce, emitJob, emitRefusal } from '#data-plane/pipeline/emit-call.ts'
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
} from '#data-plane/pipeline/entrance.ts'
import { inTurns } from '#data-plane/pipeline/in-turns.ts'
import { capRefusal } from '#data-plane/pipeline/plan/cap-refusal.ts'
import { mayFallBack } from '#data-plane/pipeline/plan/own-providers.ts'
import { planCall, plotCourse, quoteFor } from '#data-plane/pipeline/plan/plan-call.ts'
import { refuseSwitchedOff } from '#data-plane/pipeline/refuse-switched-off.ts'
import { replyHeaders } from '#data-plane/pipeline/reply-headers.ts'
import { reserveFunds } from '#data-plane/pipeline/reserve-funds.ts'
import type { Repeated } from '#data-plane/rails/rail.ts'
import { PaymentUsed } from '#data-plane/rails/rail.ts'
import type { JobRecordText } from '#data-plane/store/jobs.ts'
import { MAX_ATTEMPTS } from '#shared/contract/usage-event.ts'
import { crashPoint } from '#shared/crash-point.ts'
import type { AppError } from '#shared/errors.ts'
import { toAppError } from '#shared/errors.ts'
import { writeUnitPrices } from '#shared/pricing.ts'
import { jobCodecOf } from '#shared/protocols/index.ts'
import type { AskedProviders, JobRequest, JobTurn, StartedAtProvider } from './find-job-provider.ts'
import { findProvider, quoteAt } from './find-job-provider.ts'
import { refusedEvent, submitEvent } from './job-event.ts'
import type { JobPlane, SubmitRoute } from './job-plane.ts'
import { jobIdOf } from './job-plane.ts'
import { openView } from './job-view.ts'

/**
 * Submits a long job. The quote is held and a provider accepts the job. Then the whole quote is settled, because the
 * job may outlive every process. The final cost comes out of it; see end-job.ts. Always answers.
 */
export async function submitJob(
  plane: JobPlane,
  route: SubmitRoute,
  incoming: Incoming,
  reply: BuyerReply,
): Promise<void> {
  const { calls } = plane
  const { head } = incoming
  const visit = openVisit(incoming)
  const tried: AskedProviders = { attempts: [], failures: [], unsaid: [], isTaken: false }
  calls.watch.tracing?.begin(head)
  try {
    const guest = await enter(calls, { ...route, withoutCredential: 'challenge' }, visit)
    const { raw } = guest
    if (isProbe(guest)) throw paymentDemand(demandOf(calls.site, route, raw, PROBE))
    refuseSwitchedOff(calls, 'long_jobs')
    const job = route.wire.read(raw)
    const plottedFrom = calls.clock.monotonic()
    const course = plotCourse(calls, { raw, demand: job.demand, payer: guest.payer })
    if (!isPaying(guest)) {
      throw paymentDemand(demandOf(calls.site, route, raw, planCall(calls, course, askedMs(plane)).quote))
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
    reply.whole(ACCEPTED, headers, text)
  } catch (thrown) {
    const error = settleRefusal(calls, visit, toAppError(thrown), tried.attempts.length)
    emitRefusal(calls, route.wire.name, head, error)
    refuse(route.wire, head, reply, { error, attempts: tried.attempts.length, standing: standingOf(calls, visit) })
  } finally {
    leave(calls, visit)
  }
}

/** The HTTP status of an accepted job. */
const ACCEPTED = 202

/** A running job, in the form for its buyer. */
type Accepted = {
  readonly text: string
  readonly offer: Pick<Offer, 'servedBy' | 'provider'>
  /** The request that the provider received; undefined for a job that existed already. */
  readonly request: UpstreamRequest | undefined
  /** Headers of the rail. */
  readonly own: Settled['headers']
}

function waitedFor({ attempts }: AskedProviders): number {
  return attempts.reduce((total, { ms }) => total + ms, 0)
}

function askedMs({ limits }: JobPlane): number {
  return limits.askMs * MAX_ATTEMPTS
}

/** Holds money and calls providers in turns, as for a call. */
async function submitInTurn(plane: JobPlane, jobRequest: JobRequest): Promise<Accepted> {
  const { course, guest, tried } = jobRequest
  const accepted = await inTurns(course, {
    own(offers, bounds) {
      const quote = quoteFor(course, offers, askedMs(plane))
      return takeTurn(plane, jobRequest, { payment: plane.calls.money.ownProviders, offers, quote, ...bounds })
    },
    sold(bounds) {
      const { ranked, quote } = planCall(plane.calls, course, askedMs(plane))
      return takeTurn(plane, jobRequest, { payment: guest.payment, offers: ranked.candidates, quote, ...bounds })
    },
    mayFallBack: ({ code }) => !tried.isTaken && mayFallBack(code),
  })
  if (accepted === undefined) throw refusalOf(plane, jobRequest, course.own.last)
  return accepted
}

function refusalOf({ calls }: JobPlane, { tried, course }: JobRequest, offers: readonly Offer[]): AppError {
  const message = 'No seller of the model has enough left of its daily cap for this job.'
  const ports = { caps: calls.caps.spent, now: calls.clock.now() }
  const providerError = shownFailure(tried.failures)?.error ?? tried.unsaid.at(-1)
  return providerError ?? capRefusal(course.target, offers, ports, message)
}

/**
 * Holds the money and finds a provider. Returns the job in the form for its buyer; undefined when it is certain that no
 * provider of this turn accepted it and another turn follows. Every failure releases the hold and is booked as a failed
 * call.
 */
async function takeTurn(plane: JobPlane, jobRequest: JobRequest, turn: JobTurn): Promise<Accepted | undefined> {
  const { payment } = turn
  const hold = await reserve(plane, jobRequest, turn)
  if (!('rid' in hold)) return hold
  try {
    const provider = await findProvider(plane, jobRequest, turn, hold)
    if (provider !== undefined) {
      jobRequest.tried.isTaken = true
      return await book(plane, jobRequest, turn, { ...provider, hold })
    }
    if (turn.isLast) throw refusalOf(plane, jobRequest, turn.offers)
    void payment.release(hold, 'no_provider', '')
    return undefined
  } catch (thrown) {
    const error = toAppError(thrown)
    plane.calls.log.info({ rid: hold.rid, code: error.code }, 'a job was not taken')
    const event = jobRequest.tried.isTaken ? '' : failedEvent(plane, jobRequest, hold, error)
    void payment.release(hold, error.code, event)
    if (event !== '') announce(plane.calls.money, hold, { booking: 'by-event', event })
    throw error
  }
}

/** The event of a submit that no provider accepted. */
function failedEvent(
  { calls }: JobPlane,
  { route, guest, course, tried }: JobRequest,
  hold: Hold,
  error: AppError,
): string {
  const { target } = course
  const call = { hold, target, wire: route.wire.name, startedAt: guest.raw.receivedAt, attempts: tried.attempts }
  return JSON.stringify(refusedEvent(call, { code: error.code, node: calls.site.nodeId, now: calls.clock.now() }))
}

/** Sets the money aside. A wallet that presents a job's payment again, for the same request, gets that job. */
async function reserve(
  plane: JobPlane,
  { route, guest }: JobRequest,
  { payment, quote }: JobTurn,
): Promise<Hold | Accepted> {
  const { calls } = plane
  try {
    return await reserveFunds(calls, payment, guest, quote)
  } catch (thrown) {
    const repeat = thrown instanceof PaymentUsed ? thrown.repeat : undefined
    const job = repeat && (await answerRepeat(plane, route, repeat))
    if (job !== undefined) return job
    throw withDemand(thrown, () => demandOf(calls.site, route, guest.raw, quote))
  }
}

/** The answer to a repeated submit. Its payment has succeeded by now, or may still succeed. */
async function answerRepeat(
  plane: JobPlane,
  { wire }: SubmitRoute,
  { rid, proof, headers }: Repeated,
): Promise<Accepted | undefined> {
  const storedJob = await plane.jobs.find(rid)
  if (storedJob?.job.wire !== wire.name || storedJob.isDeleted) return undefined
  const { job, isWithheld } = storedJob
  if (job.createdAt + proof.keptMs < plane.calls.clock.now()) return undefined
  if (isWithheld) await plane.jobs.withhold(rid, false)
  const view = openView(plane, rid, job, { state: 'queued', progress: undefined })
  const text = wire.submitted(view, plane.tokenOf(jobIdOf(rid)))
  return { text, offer: job, request: undefined, own: headers }
}

/**
 * Settles the quote of the job, and then stores the job's record. Only then the buyer gets the job. So a record always
 * belongs to a paid job: when this process dies before, nothing is shown, and after the settlement a worker makes the
 * record from the ledger. A job whose payment cannot be taken is hidden and, if possible, stopped. It ends like any
 * other, and the platform covers its cost.
 */
async function book(
  plane: JobPlane,
  { route, guest, job, course, tried }: JobRequest,
  turn: JobTurn,
  { offer, request, provider, take, hold }: StartedAtProvider & { readonly hold: Hold },
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
    ...(hold.budgets && { budgets: [...hold.budgets] }),
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
    // The bound in the job's quote.
    bound: { ...turn.quote.bound.units },
    attempts: [...tried.attempts],
    asked: job.asked,
    adaptedParams: [...request.adaptedParams],
    createdAt: raw.receivedAt,
    deadlineAt: raw.receivedAt + limits.deadlineMs,
  }
  crashPoint('job_taken')
  const event = JSON.stringify(submitEvent(record, calls.site.nodeId, calls.clock.now()))
  let settlement: Settled
  try {
    settlement = await captureJobEvent(calls.money, hold, event, () => turn.payment.settle(hold, quoteMicro, event))
  } finally {
    // The whole quote counts against today's cap, whatever the job's final cost.
    void calls.caps.offers.settle(offer, take, quoteMicro)
  }
  crashPoint('job_settled')
  const { refusal } = settlement
  await writeDown(plane, record, refusal !== undefined)
  crashPoint('job_written')
  if (refusal !== undefined) {
    void stopJob(plane, route, offer, provider.id)
    throw refusal
  }
  const facts = { wire: wire.name, model: record.model, provider: record.provider, chargeMicro: quoteMicro }
  emitJob(calls, raw, { ...facts, attempts: tried.attempts }, waitedFor(tried))
  const view = openView(plane, hold.rid, record, { state: 'queued', progress: provider.progress })
  const text = wire.submitted(view, plane.tokenOf(jobIdOf(hold.rid)))
  return { text, offer, request, own: settlement.headers }
}

/** Milliseconds for which a buyer waits for Redis to store a job's record, and the pause between two attempts. */
const RECORD_MS = 30_000
const RECORD_PAUSE_MS = 250

/**
 * Stores the record of a job as soon as Redis accepts it, so that the buyer can look up the job. Never rejects, because
 * the job is settled. While Redis stays away, a worker makes the record from the ledger.
 */
async function writeDown({ calls, jobs }: JobPlane, record: JobRecordText, isWithheld: boolean): Promise<void> {
  const until = calls.clock.monotonic() + RECORD_MS
  for (;;) {
    try {
      await jobs.put(record, { isWithheld }, calls.clock.now())
      return
    } catch (error) {
      if (calls.clock.monotonic() >= until) {
        calls.log.warn({ err: error, rid: record.rid }, 'a worker will write the record of a job')
        return
      }
      await calls.clock.sleep(RECORD_PAUSE_MS)
    }
  }
}

/** Asks a provider to stop a hidden job. Never rejects: otherwise the job runs to its end. */
async function stopJob({ calls, limits }: JobPlane, { wire }: SubmitRoute, offer: Offer, job: string): Promise<void> {
  const request = jobCodecOf(offer, wire.name).cancel?.(job)
  if (request !== undefined) await askProvider(calls, offer, { ...request, adaptedParams: [] }, limits.askMs)
}
