import { finished } from 'node:stream/promises'
import type { BuyerReply, Demand, Incoming, Offer, RawRequest } from '#data-plane/call.ts'
import type { Payment } from '#data-plane/rails/rail.ts'
import { PaymentUsed } from '#data-plane/rails/rail.ts'
import type { PaidAnswer } from '#data-plane/store/paid-answers.ts'
import { MAX_ATTEMPTS } from '#shared/contract/usage-event.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { toAppError } from '#shared/errors.ts'
import { admittedCall, onlyThese } from './admitted-call.ts'
import { refuse } from './buyer-answer.ts'
import type { CallMoney, CallPlane, CallRoute } from './call-plane.ts'
import { emitRefusal } from './emit-call.ts'
import type { PayingGuest, Visit } from './entrance.ts'
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
import { finishCall, NOTHING_BEFORE, relayCall } from './finish-call.ts'
import { findAskedJob } from './forwarded-job.ts'
import type { TurnBounds } from './in-turns.ts'
import { inTurns } from './in-turns.ts'
import { mayFallBack } from './plan/own-providers.ts'
import type { Course, Plan } from './plan/plan-call.ts'
import { planCall, plotCourse, quoteFor } from './plan/plan-call.ts'
import { reserveFunds } from './reserve-funds.ts'
import type { AdmittedCall, Before, JobInquiry, ReadCall, Relayed, Winner } from './stages.ts'

/**
 * The flow of every paid call, for every protocol and way to pay. It always answers and never rejects. A failure
 * becomes the protocol's refusal, and a hold has exactly one end on every path.
 */
export async function serveCall(
  plane: CallPlane,
  route: CallRoute,
  incoming: Incoming,
  reply: BuyerReply,
): Promise<void> {
  const { head } = incoming
  const visit = openVisit(incoming)
  const journey: Journey = { attempts: 0, last: undefined }
  plane.routing.retries.callBegins()
  plane.watch.tracing?.begin(head)
  try {
    const guest = await enter(plane, route, visit)
    const { raw } = guest
    if (isProbe(guest)) throw paymentDemand(demandOf(plane.site, route, raw, PROBE))
    const parsed = route.wire.read(raw, plane.market().resources)
    const course = plotCourse(plane, { raw, demand: parsed.demand, payer: guest.payer })
    if (!isPaying(guest))
      throw paymentDemand(demandOf(plane.site, route, raw, planCall(plane, course, plane.limits.totalMs).quote))
    const { demand } = course
    if (bringsPictures(demand)) plane.answers.admit()
    const inquiry = parsed.ofJob && (await findAskedJob(plane, parsed.ofJob, guest.payer))
    const call: Planned = {
      plane,
      guest,
      course,
      inquiry,
      read: { raw, reply, route, parsed, demand, standing: visit.standing },
    }
    const { account } = guest.payer
    const running = { account, model: course.target.id, isStreamed: demand.isStreamed }
    if (course.own.first.length + course.own.last.length > 0) {
      plane.process.running.set(raw.requestId, running)
      plane.money.ownCalls.begun(raw.requestId, running)
      await serveInTurn(call, journey)
    } else {
      const admitted = await admit(call)
      plane.process.running.set(raw.requestId, running)
      await finishCall(plane, admitted, await relayCall(plane, admitted, NOTHING_BEFORE, MAX_ATTEMPTS))
    }
  } catch (thrown) {
    if (thrown instanceof KeptAnswer) reply.whole(thrown.status, thrown.headers, thrown.body)
    else refuseCall(plane, { route, incoming, reply }, { error: toAppError(thrown), visit, journey })
  } finally {
    plane.process.running.delete(head.requestId)
    leave(plane, visit)
  }
}

/** True for a call whose answer is most likely a large one. */
function bringsPictures(demand: Demand): boolean {
  return demand.kind === 'model' && demand.bounds.images !== undefined
}

/** The progress of a call, for a refusal midway. */
type Journey = { attempts: number; last: Winner | undefined }

type Exchange = { readonly route: CallRoute; readonly incoming: Incoming; readonly reply: BuyerReply }
type Refusing = { readonly error: ReturnType<typeof toAppError>; readonly visit: Visit; readonly journey: Journey }

function refuseCall(plane: CallPlane, { route, incoming, reply }: Exchange, { error, visit, journey }: Refusing): void {
  const { head } = incoming
  if (plane.process.running.has(head.requestId)) plane.money.ownCalls.refused(head.requestId)
  const { attempts, last } = journey
  const refusal = settleRefusal(plane, visit, error, attempts)
  emitRefusal(plane, route.wire.name, head, refusal)
  refuse(route.wire, head, reply, { error: refusal, attempts, last, standing: standingOf(plane, visit) })
}

/** A call with its course, its payer, and the place for its answer. */
type Planned = {
  readonly plane: CallPlane
  readonly guest: PayingGuest
  readonly course: Course
  readonly inquiry: JobInquiry | undefined
  readonly read: ReadCall
}

/** Plans a call over offers of the market and sets the money aside. */
async function admit({ plane, guest, course, inquiry, read }: Planned): Promise<AdmittedCall> {
  const { ranked, quote, conversation } =
    inquiry === undefined ? planCall(plane, course, plane.limits.totalMs) : planFor(plane, course, inquiry)
  const { payment } = guest
  crashPoint('before_reserve')
  const hold = await reserveFunds(plane, payment, guest, quote).catch(async (error: unknown) => {
    const kept = await keptAnswer(plane.money, error, course.raw)
    throw kept ?? withDemand(error, () => demandOf(plane.site, read.route, course.raw, quote))
  })
  crashPoint('after_reserve')
  const feeBps = plane.market().limits.platformFeeBps
  return admittedCall(read, { target: course.target, ranked, quote, conversation, payment, hold, feeBps, inquiry })
}

/** A request about a job goes to the key that started the job, whatever its health and rules. */
function planFor({ limits }: Pick<CallPlane, 'limits'>, course: Course, { offer }: JobInquiry): Plan {
  return {
    ranked: { candidates: [offer], excluded: [] },
    quote: quoteFor(course, [offer], limits.totalMs),
    conversation: undefined,
  }
}

/** The stored answer of an earlier call with the same payment and request. It ends this call. */
class KeptAnswer extends Error {
  readonly status: number
  readonly headers: PaidAnswer['headers']
  readonly body: PaidAnswer['body']
  constructor({ status, headers, body }: PaidAnswer) {
    super('answered before')
    this.status = status
    this.headers = headers
    this.body = body
  }
}

async function keptAnswer(
  { paidAnswers }: CallMoney,
  error: unknown,
  raw: RawRequest,
): Promise<KeptAnswer | undefined> {
  if (!(error instanceof PaymentUsed) || error.repeat === undefined) return undefined
  const { rid, proof, headers } = error.repeat
  // A streamed body is compared by all of its bytes.
  if (raw.stream !== undefined) await finished(raw.stream.resume())
  const storedAnswer = await paidAnswers.find(rid, { proof, content: raw.contentDigest?.() })
  // The transfer may have succeeded since then.
  return storedAnswer && new KeptAnswer({ ...storedAnswer, headers: { ...storedAnswer.headers, ...headers } })
}

/** Admits a call to the payer's own providers, under their own rail. */
async function admitOwn({ plane, guest, course, read }: Planned, offers: readonly Offer[]): Promise<AdmittedCall> {
  const payment: Payment = plane.money.ownProviders
  const quote = quoteFor(course, offers, plane.limits.totalMs)
  const hold = await reserveFunds(plane, payment, guest, quote)
  const feeBps = plane.market().limits.platformFeeBps
  const ranked = onlyThese(offers)
  const alone = { conversation: undefined, inquiry: undefined }
  return admittedCall(read, { target: course.target, ranked, quote, payment, hold, feeBps, ...alone })
}

/** Tries offers in turns, as long as nothing of an answer has gone out. Money is set aside only for the marketplace. */
async function serveInTurn(call: Planned, journey: Journey): Promise<void> {
  const { plane, course, read } = call
  let before: Before = NOTHING_BEFORE
  /** Calls the offers of a turn. Returns the end of the call unless another turn follows. */
  const ask = async (admitted: AdmittedCall, { maxAttempts, isLast }: TurnBounds): Promise<Finish | undefined> => {
    const relayed = await relayCall(plane, admitted, before, maxAttempts)
    if (!isLast) {
      before = relayed.relay
      journey.attempts = relayed.relay.attempts.length
      journey.last = relayed.relay.last
      if (mayGoOn(relayed, read.reply)) return undefined
    }
    return () => finishCall(plane, admitted, relayed)
  }
  const finish = await inTurns<Finish>(course, {
    own: async (offers, bounds) => ask(await admitOwn(call, offers), bounds),
    async sold(bounds) {
      const admitted = await admit(call)
      const ending = await ask(admitted, bounds)
      if (ending === undefined) await admitted.payment.release(admitted.hold, 'fallback', '')
      return ending
    },
    mayFallBack: ({ code }) => mayFallBack(code),
  })
  // Payment comes after the turns: an answer that cannot be paid ends the call, and no other turn takes over.
  await finish?.()
}

type Finish = () => Promise<void>

/**
 * True while another provider may take over: the answer failed, and the buyer is still connected and has received none
 * of it.
 */
function mayGoOn({ relay }: Relayed, reply: BuyerReply): boolean {
  const hasContent = (relay.last?.decoder.contentPieces() ?? 0) > 0
  return relay.error !== undefined && !relay.isGone && !hasContent && !reply.isGone()
}
