import type { BuyerReply, RawRequest } from '#data-plane/call.ts'
import type { RateStanding } from '#data-plane/store/rate-limits.ts'
import type { ParsedCall } from '#data-plane/wires/wire.ts'
import { AppError, describeCause, toAppError } from '#shared/errors.ts'
import { inputTokens, outputTokens } from '#shared/usage.ts'
import type { CallPlane, CallRoute } from './call-plane.ts'
import { emitCall } from './emit-call.ts'
import type { CallQuote } from './quote-call.ts'
import type { Relay, Winner } from './relay-with-failover.ts'
import { relayWithFailover } from './relay-with-failover.ts'
import { refusalHeaders, replyHeaders } from './reply-headers.ts'
import type { AdmittedCall, Settlement } from './settle-call.ts'
import { progressEvent, receiptOf, settleCall } from './settle-call.ts'

/** An admitted call with its request and where its answer goes. */
export type Admission = {
  readonly raw: RawRequest
  readonly reply: BuyerReply
  readonly call: ParsedCall
  readonly admitted: AdmittedCall
  readonly quote: CallQuote
  readonly standing: RateStanding
  /** What the next turn of the same conversation will be known by. */
  readonly conversation: string | undefined
  readonly wire: CallRoute['wire']
}

/** What a call has been through before a relay, and how many tries it may have made after it. */
export type Turn = { readonly before: Pick<Relay, 'attempts' | 'waitedMs'>; readonly maxAttempts: number }

/** A relay that is over and not yet settled. */
export type Tried = { readonly relay: Relay; readonly hasProgress: boolean; readonly decisionMs: number }

/** Relays an admitted call. Never rejects: a failure of our own is the relay's. */
export async function relayCall(plane: CallPlane, admission: Admission, turn: Turn): Promise<Tried> {
  const { admitted, reply } = admission
  const decisionMs = plane.clock.monotonic() - admitted.startedAt
  // Nothing is owed for a buyer's own provider: there is nothing to write down.
  const isBilled = admitted.ranked.candidates[0]?.own === undefined
  let hasProgress = false
  try {
    const relay = await relayWithFailover(plane, {
      call: admission.call,
      target: admitted.target,
      demand: admitted.demand,
      candidates: admitted.ranked.candidates,
      quote: admission.quote,
      hold: admitted.hold,
      reply,
      createdAt: Math.floor(admitted.receivedAt / 1_000),
      startedAt: admitted.startedAt,
      ...turn,
      startReply(winner, attempts) {
        startStream(admission, { winner, attempts, decisionMs })
      },
      onProgress(plan, decoder, attempts) {
        if (!isBilled) return
        hasProgress = true
        const progress = progressEvent(plane, admitted, { plan, decoder, attempts })
        plane.journal.progress({ hold: admitted.hold, offer: plan.offer.id, ...progress })
      },
    })
    return { relay, hasProgress, decisionMs }
  } catch (thrown) {
    return { relay: brokenRelay(plane, admission, thrown), hasProgress, decisionMs }
  }
}

/** Settles a call and ends its answer. A failure of our own still ends it. */
export async function finishCall(plane: CallPlane, admission: Admission, tried: Tried): Promise<void> {
  const { admitted } = admission
  let { relay } = tried
  let settlement: Settlement
  try {
    settlement = await settleCall(plane, admitted, relay, tried.hasProgress)
  } catch (thrown) {
    relay = brokenRelay(plane, admission, thrown)
    settlement = await settleCall(plane, admitted, relay, tried.hasProgress)
  }
  endReply(plane, admission, { relay, settlement, decisionMs: tried.decisionMs })
  emitCall(plane, admitted, relay, settlement)
  noteWarm(plane, admission, relay, settlement)
}

/** Remembers where the conversation is in a prompt cache now. */
function noteWarm({ warm, clock }: CallPlane, admission: Admission, { last }: Relay, settlement: Settlement): void {
  const { conversation, admitted } = admission
  if (conversation === undefined || last === undefined || settlement.outcome === 'failed') return
  const { usage } = settlement.metered
  warm.note(`${conversation} ${admitted.target.model.id}`, {
    offer: last.plan.offer.id,
    at: clock.now(),
    inputTokens: inputTokens(usage),
    outputTokens: outputTokens(usage),
    cachedTokens: usage.cacheRead ?? 0,
  })
}

/** Our own fault after the hold: the buyer pays nothing, and what was begun is closed. */
function brokenRelay(plane: CallPlane, { admitted }: Admission, thrown: unknown): Relay {
  const error = toAppError(thrown)
  plane.log.error({ rid: admitted.hold.rid, cause: describeCause(error.cause) }, 'a call failed on our side')
  return { last: undefined, attempts: [], error, isGone: false, waitedMs: 0 }
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
  const facts = {
    plan: last.plan,
    request: last.request,
    attempts: relay.attempts.length,
    decisionMs,
    overheadMs: plane.clock.monotonic() - admitted.startedAt - relay.waitedMs,
    isStreamed,
    standing,
    // The cost of a stream rides in its last chunk, unless it was known from the beginning.
    receipt: isStreamed && admitted.demand.hasFixedCharge !== true ? undefined : settlement.receipt,
    contentType: last.decoder.contentType?.(),
  }
  if (!isStreamed) {
    reply.whole(200, replyHeaders(facts), text)
    return
  }
  if (!reply.isStarted()) reply.start(replyHeaders(facts))
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

/** A refusal, and what is known of the call by then. */
export type Refused = {
  readonly error: AppError
  readonly attempts: number
  readonly standing: RateStanding | undefined
  /** The try whose silence made the answer begin: its protocol has words for an end like this. */
  readonly last?: Winner | undefined
}

/** Refuses a call in its protocol's words. */
export function refuse(route: Pick<CallRoute, 'wire'>, raw: RawRequest, reply: BuyerReply, refused: Refused): void {
  if (reply.isGone()) return
  if (reply.isStarted()) {
    endBroken(reply, refused.last?.decoder.fail(refused.error) ?? '')
    return
  }
  const { status, headers, body } = route.wire.envelope(refused.error, raw.requestId)
  reply.whole(status, { ...refusalHeaders(refused.attempts, refused.standing), ...headers }, body)
}
