import type { BuyerReply, Payer, RawRequest, Target } from '#data-plane/call.ts'
import type { Payment } from '#data-plane/rails/rail.ts'
import type { RateStanding } from '#data-plane/store/rate-limits.ts'
import type { ParsedCall } from '#data-plane/wires/wire.ts'
import { MAX_ATTEMPTS } from '#shared/contract/usage-event.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { toAppError } from '#shared/errors.ts'
import type { Admission, Tried } from './answer-call.ts'
import { finishCall, refuse, relayCall } from './answer-call.ts'
import { authenticate } from './authenticate.ts'
import type { CallPlane, CallRoute } from './call-plane.ts'
import { checkCapability } from './check-capability.ts'
import { emitRefusal } from './emit-call.ts'
import type { OwnOffers } from './own-providers.ts'
import { mayFallBack, ownOffersOf, unbilledHold, unbilledPayment, unbilledQuote } from './own-providers.ts'
import { conversationOf, preferWarm } from './prefer-warm.ts'
import { quoteCall } from './quote-call.ts'
import type { Winner } from './relay-with-failover.ts'
import { reserveFunds } from './reserve-funds.ts'
import { checkAllowed, resolveTarget } from './resolve-target.ts'
import type { Choice } from './routing-choice.ts'
import { readChoice } from './routing-choice.ts'
import { selectOffers } from './select-offers.ts'
import type { AdmittedCall } from './settle-call.ts'

/**
 * The one flow of every paid call, whatever its protocol and its way to pay. Always answers and never rejects: what
 * goes wrong becomes the protocol's refusal, and a hold has exactly one end on every path.
 */
export async function serveCall(plane: CallPlane, route: CallRoute, raw: RawRequest, reply: BuyerReply): Promise<void> {
  let standing: RateStanding | undefined
  let scope: string | undefined
  // Not an arrow over both: the loader would name it for every call.
  let asked: { readonly scope: string; readonly perMinute: number } | undefined
  const progress: Progress = { attempts: 0, last: undefined }
  plane.retries.callBegins()
  plane.tracing?.begin(raw)
  try {
    const payment = authenticate(route, raw, plane.apiBaseUrl)
    const payer = await payment.identify()
    const { limits } = plane.market()
    const perMinute = payer.ratePerMinute ?? limits.keyRatePerMinute
    asked = { scope: payerScope(payer), perMinute }
    standing = plane.rates.enter(asked.scope, perMinute, limits.keyInFlight)
    scope = asked.scope
    const call = route.wire.read(raw)
    const caller: Caller = { raw, reply, call, payment, payer, standing, wire: route.wire }
    const course = plotCourse(plane, caller)
    const running = { account: payer.account, model: course.target.model.id, isStreamed: call.demand.isStreamed }
    if (course.own.first.length + course.own.last.length > 0) {
      plane.running.set(raw.requestId, running)
      plane.ownCalls.begun(raw.requestId, running)
      await serveInTurn(plane, caller, course, progress)
    } else {
      const admission = await admit(plane, caller, course)
      plane.running.set(raw.requestId, running)
      await finishCall(plane, admission, await relayCall(plane, admission, FIRST_TURN))
    }
  } catch (thrown) {
    const error = toAppError(thrown)
    if (plane.running.has(raw.requestId)) plane.ownCalls.refused(raw.requestId)
    emitRefusal(plane, route.wire.name, raw, error)
    refuse(route, raw, reply, {
      error,
      ...progress,
      standing: standing ?? (asked && plane.rates.look(asked.scope, asked.perMinute)),
    })
  } finally {
    plane.running.delete(raw.requestId)
    if (scope !== undefined) plane.rates.leave(scope)
  }
}

const FIRST_TURN = { before: { attempts: [], waitedMs: 0 }, maxAttempts: MAX_ATTEMPTS }

function payerScope(payer: Payer): string {
  return payer.keyId ?? payer.account
}

type Caller = {
  readonly raw: RawRequest
  readonly reply: BuyerReply
  readonly call: ParsedCall
  readonly payment: Payment
  readonly payer: Payer
  readonly standing: RateStanding
  readonly wire: CallRoute['wire']
}

/** What a call that is refused in its midst has been through. */
type Progress = { attempts: number; last: Winner | undefined }

/** What a call is to buy, by which wishes, and the buyer's own providers that may serve it. */
type Course = { readonly target: Target; readonly choice: Choice; readonly own: OwnOffers }

/** Everything that is decided before any offer is looked at. Throws what the call is refused with. */
function plotCourse(plane: CallPlane, { raw, call, payer }: Caller): Course {
  const market = plane.market()
  const { demand } = call
  const target = resolveTarget(market, demand)
  checkAllowed(market, target, payer)
  checkCapability(target, demand)
  const choice = readChoice(market, demand, payer, raw.requestId)
  return { target, choice, own: ownOffersOf(payer, target, choice, raw.pathFloorPercent) }
}

/** From a course to offers of the market that may serve the call, and the money set aside for them. */
async function admit(plane: CallPlane, caller: Caller, { target, choice }: Course): Promise<Admission> {
  const { raw, call, payment, payer } = caller
  const { demand } = call
  const market = plane.market()
  const ports = { market, health: plane.health, caps: plane.spentCaps, now: raw.receivedAt }
  const conversation = conversationOf(raw, demand, payer)
  const cheapest = selectOffers(ports, target, choice)
  const ranked = preferWarm(plane.warm, { ports, target, demand, choice, conversation }, cheapest)
  const quote = quoteCall({ rid: raw.requestId, target, demand, totalMs: plane.limits.totalMs }, ranked.candidates)
  crashPoint('before_reserve')
  const hold = await reserveFunds(plane, payment, payer, quote)
  crashPoint('after_reserve')
  return admission(plane, caller, { target, quote, conversation, payment, hold, ranked })
}

/** A call to the buyer's own providers: admitted without money. */
function admitUnbilled(
  plane: CallPlane,
  caller: Caller,
  { target }: Course,
  candidates: OwnOffers['first'],
): Admission {
  const { raw, call, payment, payer } = caller
  return admission(plane, caller, {
    target,
    quote: unbilledQuote(raw.requestId, target, call.demand),
    conversation: undefined,
    payment: unbilledPayment(payment, plane.ownCalls),
    hold: unbilledHold(raw.requestId, payer),
    ranked: { candidates, excluded: [] },
  })
}

type Admitting = Pick<Admission, 'quote' | 'conversation'> &
  Pick<AdmittedCall, 'target' | 'payment' | 'hold' | 'ranked'>

/** Member by member: a literal that spreads others is made some twenty times slower, and this is made for every call. */
function admission(plane: CallPlane, caller: Caller, admitting: Admitting): Admission {
  const { raw, reply, call, standing, wire } = caller
  const { quote, conversation, target, payment, hold, ranked } = admitting
  return {
    raw,
    reply,
    call,
    standing,
    wire,
    quote,
    conversation,
    admitted: {
      wire: wire.name,
      payment,
      hold,
      target,
      demand: call.demand,
      ranked,
      bill: quote.bound.bill,
      feeBps: plane.market().limits.platformFeeBps,
      receivedAt: raw.receivedAt,
      startedAt: raw.startedAt,
    },
  }
}

/**
 * The buyer's own providers of the model first, then the marketplace, then its providers for every model: each while
 * nothing of an answer has gone out. Money is set aside only for the marketplace, and given back before the last turn.
 */
async function serveInTurn(plane: CallPlane, caller: Caller, course: Course, progress: Progress) {
  const { first, last } = course.own
  const kept = last.length > 0 ? 1 : 0
  let before: Tried['relay'] | typeof FIRST_TURN.before = FIRST_TURN.before
  const goOn = (tried: Tried): boolean => {
    before = tried.relay
    progress.attempts = tried.relay.attempts.length
    progress.last = tried.relay.last
    return mayGoOn(tried, caller.reply)
  }
  if (first.length > 0) {
    const own = admitUnbilled(plane, caller, course, first)
    // The marketplace and what comes after it get a try each.
    const tried = await relayCall(plane, own, { before, maxAttempts: MAX_ATTEMPTS - 1 - kept })
    if (!goOn(tried)) return finishCall(plane, own, tried)
  }
  try {
    const sold = await admit(plane, caller, course)
    const tried = await relayCall(plane, sold, { before, maxAttempts: MAX_ATTEMPTS - kept })
    if (kept === 0 || !goOn(tried)) return finishCall(plane, sold, tried)
    await sold.admitted.payment.release(sold.admitted.hold, 'fallback', '')
  } catch (thrown) {
    if (kept === 0 || !mayFallBack(toAppError(thrown).code)) throw thrown
  }
  const fallback = admitUnbilled(plane, caller, course, last)
  await finishCall(plane, fallback, await relayCall(plane, fallback, { before, maxAttempts: MAX_ATTEMPTS }))
}

/** True while another provider may take over: the answer failed, and the buyer is there and has seen none of it. */
function mayGoOn({ relay }: Tried, reply: BuyerReply): boolean {
  const hasContent = (relay.last?.decoder.contentPieces() ?? 0) > 0
  return relay.error !== undefined && !relay.isGone && !hasContent && !reply.isGone()
}
