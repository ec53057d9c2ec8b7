import type { BuyerReply, Payer, RawRequest } from '#data-plane/call.ts'
import type { Payment } from '#data-plane/rails/rail.ts'
import type { RateStanding } from '#data-plane/store/rate-limits.ts'
import type { ParsedCall } from '#data-plane/wires/wire.ts'
import { crashPoint } from '#shared/crash-point.ts'
import { AppError, describeCause, toAppError } from '#shared/errors.ts'
import { authenticate } from './authenticate.ts'
import type { CallPlane, CallRoute } from './call-plane.ts'
import { checkCapability } from './check-capability.ts'
import { emitCall, emitRefusal } from './emit-call.ts'
import type { CallQuote } from './quote-call.ts'
import { quoteCall } from './quote-call.ts'
import type { Relay, Winner } from './relay-with-failover.ts'
import { relayWithFailover } from './relay-with-failover.ts'
import { refusalHeaders, replyHeaders } from './reply-headers.ts'
import { reserveFunds } from './reserve-funds.ts'
import { checkAllowed, resolveTarget } from './resolve-target.ts'
import { readChoice } from './routing-choice.ts'
import { selectOffers } from './select-offers.ts'
import type { AdmittedCall, Settlement } from './settle-call.ts'
import { progressEvent, receiptOf, settleCall } from './settle-call.ts'

/**
 * The one flow of every paid call, whatever its protocol and its way to pay. Always answers and never rejects: what
 * goes wrong becomes the protocol's refusal, and a hold has exactly one end on every path.
 */
export async function serveCall(plane: CallPlane, route: CallRoute, raw: RawRequest, reply: BuyerReply): Promise<void> {
  let standing: RateStanding | undefined
  let scope: string | undefined
  plane.retries.callBegins()
  try {
    const payment = authenticate(route, raw, plane.apiBaseUrl)
    const payer = await payment.identify()
    const { limits } = plane.market()
    standing = plane.rates.enter(payerScope(payer), payer.ratePerMinute ?? limits.keyRatePerMinute, limits.keyInFlight)
    scope = payerScope(payer)
    const call = route.wire.read(raw)
    const { admitted, quote } = await admit(plane, route, { raw, call, payment, payer })
    plane.running.set(raw.requestId, { model: admitted.target.model.id, isStreamed: call.demand.isStreamed })
    await serveAdmitted(plane, { raw, reply, call, admitted, quote, standing, wire: route.wire })
  } catch (thrown) {
    const error = toAppError(thrown)
    emitRefusal(plane, route.wire.name, raw, error)
    refuse(route, raw, reply, { error, attempts: 0, standing })
  } finally {
    plane.running.delete(raw.requestId)
    if (scope !== undefined) plane.rates.leave(scope)
  }
}

function payerScope(payer: Payer): string {
  return payer.keyId ?? payer.account
}

type Caller = { readonly raw: RawRequest; readonly call: ParsedCall; readonly payment: Payment; readonly payer: Payer }

/** From a request and its payer to offers that may serve it and the money set aside for them. */
async function admit(
  plane: CallPlane,
  route: CallRoute,
  { raw, call, payment, payer }: Caller,
): Promise<{ admitted: AdmittedCall; quote: CallQuote }> {
  const market = plane.market()
  const { demand } = call
  const target = resolveTarget(market, demand)
  checkAllowed(market, target, payer)
  checkCapability(target, demand)
  const ports = { market, health: plane.health, caps: plane.spentCaps, now: raw.receivedAt }
  const ranked = selectOffers(ports, target, readChoice(market, demand, payer, raw.requestId))
  const quote = quoteCall({ rid: raw.requestId, target, demand, totalMs: plane.limits.totalMs }, ranked.candidates)
  crashPoint('before_reserve')
  const hold = await reserveFunds(plane, payment, payer, quote)
  crashPoint('after_reserve')
  const admitted: AdmittedCall = {
    wire: route.wire.name,
    payment,
    hold,
    target,
    demand,
    ranked,
    feeBps: market.limits.platformFeeBps,
    receivedAt: raw.receivedAt,
    startedAt: raw.startedAt,
  }
  return { admitted, quote }
}

type Admission = {
  readonly raw: RawRequest
  readonly reply: BuyerReply
  readonly call: ParsedCall
  readonly admitted: AdmittedCall
  readonly quote: CallQuote
  readonly standing: RateStanding
  readonly wire: CallRoute['wire']
}

/** Relays, settles and ends the answer. A failure of our own after the hold still ends it. */
async function serveAdmitted(plane: CallPlane, admission: Admission): Promise<void> {
  const { admitted, reply } = admission
  const decisionMs = plane.clock.monotonic() - admitted.startedAt
  let hasProgress = false
  let relay: Relay
  let settlement: Settlement
  try {
    relay = await relayWithFailover(plane, {
      call: admission.call,
      target: admitted.target,
      demand: admitted.demand,
      candidates: admitted.ranked.candidates,
      quote: admission.quote,
      hold: admitted.hold,
      reply,
      createdAt: Math.floor(admitted.receivedAt / 1_000),
      startedAt: admitted.startedAt,
      startReply(winner, attempts) {
        startStream(admission, { winner, attempts, decisionMs })
      },
      onProgress(plan, decoder, attempts) {
        hasProgress = true
        const progress = progressEvent(plane, admitted, { plan, decoder, attempts })
        plane.journal.progress({ hold: admitted.hold, offer: plan.offer.id, ...progress })
      },
    })
    settlement = await settleCall(plane, admitted, relay, hasProgress)
  } catch (thrown) {
    // Our own fault after the hold: the buyer pays nothing, and what was begun is closed.
    const error = toAppError(thrown)
    plane.log.error({ rid: admitted.hold.rid, cause: describeCause(error.cause) }, 'a call failed on our side')
    relay = { last: undefined, attempts: [], error, isGone: false, waitedMs: 0 }
    settlement = await settleCall(plane, admitted, relay, hasProgress)
  }
  endReply(plane, admission, { relay, settlement, decisionMs })
  emitCall(plane, admitted, relay, settlement)
}

type Start = { readonly winner: Winner | undefined; readonly attempts: number; readonly decisionMs: number }

function startStream({ reply, standing, admitted }: Admission, { winner, attempts, decisionMs }: Start): void {
  if (!admitted.demand.isStreamed) return
  const isPriced = winner !== undefined && admitted.demand.hasFixedCharge === true
  reply.start(
    replyHeaders({
      plan: winner?.plan,
      request: winner?.request,
      attempts,
      decisionMs,
      isStreamed: true,
      standing,
      // What we added ourselves is known when the provider is asked, not when it answers.
      overheadMs: decisionMs,
      receipt: isPriced ? receiptOf(admitted, winner.plan, winner.decoder) : undefined,
      contentType: winner?.decoder.contentType?.(),
    }),
  )
}

type End = { readonly relay: Relay; readonly settlement: Settlement; readonly decisionMs: number }

function endReply(plane: CallPlane, admission: Admission, { relay, settlement, decisionMs }: End): void {
  const { raw, reply, standing, admitted } = admission
  const { last, error } = relay
  const isStreamed = admitted.demand.isStreamed
  if (reply.isGone()) return
  if (error !== undefined) {
    if (reply.isStarted() && last) endBroken(reply, last.decoder.fail(priced(error, settlement)))
    else refuse({ wire: admission.wire }, raw, reply, { error, attempts: relay.attempts.length, standing })
    return
  }
  if (last === undefined) return
  const text = last.decoder.finish(settlement.receipt)
  const overheadMs = plane.clock.monotonic() - admitted.startedAt - relay.waitedMs
  const facts = {
    plan: last.plan,
    request: last.request,
    attempts: relay.attempts.length,
    standing,
    isStreamed,
    contentType: last.decoder.contentType?.(),
  }
  if (!isStreamed) {
    reply.whole(200, replyHeaders({ ...facts, decisionMs, overheadMs, receipt: settlement.receipt }), text)
    return
  }
  const receipt = admitted.demand.hasFixedCharge === true ? settlement.receipt : undefined
  if (!reply.isStarted()) reply.start(replyHeaders({ ...facts, decisionMs, overheadMs, receipt }))
  reply.end(text)
}

/** A protocol without words for an error in its midst has only the broken connection. */
function endBroken(reply: BuyerReply, text: string): void {
  if (text === '') reply.cut()
  else reply.end(text)
}

/** A stream that broke says what its delivered part costs: no usage chunk will. */
function priced({ code, message, param, detail }: AppError, { receipt }: Settlement): AppError {
  const cost = { buyer_cost_micro: Number(receipt.chargeMicro), list_cost_micro: Number(receipt.listMicro) }
  return new AppError(code, { message, detail: { ...detail, ...cost }, ...(param === undefined ? {} : { param }) })
}

type Refused = { readonly error: AppError; readonly attempts: number; readonly standing: RateStanding | undefined }

function refuse(route: Pick<CallRoute, 'wire'>, raw: RawRequest, reply: BuyerReply, refused: Refused): void {
  if (reply.isGone()) return
  if (reply.isStarted()) {
    reply.end('')
    return
  }
  const { status, headers, body } = route.wire.envelope(refused.error, raw.requestId)
  reply.whole(status, { ...refusalHeaders(refused.attempts, refused.standing), ...headers }, body)
}
