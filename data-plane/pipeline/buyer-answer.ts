import type { AttemptPlan, BuyerReply, Decoder, RawRequest, UpstreamRequest } from '#data-plane/call.ts'
import type { RateStanding } from '#data-plane/store/rate-limits.ts'
import type { AnyWire } from '#data-plane/wires/wire.ts'
import { AppError } from '#shared/errors.ts'
import type { AdmittedCall } from './admitted-call.ts'
import type { CallPlane } from './call-plane.ts'
import type { Relay } from './relay-with-failover.ts'
import type { ReplyFacts } from './reply-headers.ts'
import { refusalHeaders, replyHeaders } from './reply-headers.ts'
import type { Settlement } from './settle-call.ts'
import { receiptOf } from './settle-call.ts'

// What a buyer has got of an answer is decided here alone: nothing, a head, a stream, its end.

/** The attempt whose content the buyer gets. */
export type Winner = { readonly plan: AttemptPlan; readonly request: UpstreamRequest; readonly decoder: Decoder }

/** Sends the head of a stream, once. Without a winner it is only a sign of life. */
export function startAnswer(
  call: AdmittedCall,
  winner: Winner | undefined,
  { attempts, decisionMs }: Pick<ReplyFacts, 'attempts' | 'decisionMs'>,
): void {
  const { demand, reply, standing } = call
  if (!demand.isStreamed) return
  const isPriced = winner !== undefined && demand.hasFixedCharge === true
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
      receipt: isPriced ? receiptOf(call, winner.plan, winner.decoder) : undefined,
      contentType: winner?.decoder.contentType?.(),
    }),
  )
}

/** A call that is over, as its buyer is told. */
export type AnswerEnd = { readonly relay: Relay; readonly settlement: Settlement; readonly decisionMs: number }

/** Ends an answer: the whole of it, the last bytes of its stream, or the words for what went wrong. */
export function endAnswer(plane: CallPlane, call: AdmittedCall, { relay, settlement, decisionMs }: AnswerEnd): void {
  const { raw, reply, standing, demand } = call
  const { last, error } = relay
  if (reply.isGone()) return
  if (error !== undefined) {
    if (reply.isStarted() && last) endBroken(reply, last.decoder.fail(priced(error, settlement)))
    else refuse(call.route.wire, raw, reply, { error, attempts: relay.attempts.length, standing })
    return
  }
  if (last === undefined) return
  const { isStreamed } = demand
  const text = last.decoder.finish(settlement.receipt)
  const headers = replyHeaders({
    plan: last.plan,
    request: last.request,
    attempts: relay.attempts.length,
    decisionMs,
    overheadMs: plane.clock.monotonic() - raw.startedAt - relay.waitedMs,
    isStreamed,
    standing,
    // The cost of a stream rides in its last chunk, unless it was known from the beginning.
    receipt: isStreamed && demand.hasFixedCharge !== true ? undefined : settlement.receipt,
    contentType: last.decoder.contentType?.(),
  })
  if (settlement.headers !== undefined) Object.assign(headers, settlement.headers)
  if (!isStreamed) {
    reply.whole(200, headers, text)
    return
  }
  if (!reply.isStarted()) reply.start(headers)
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

/** Refuses a request in its protocol's words. */
export function refuse(
  wire: Pick<AnyWire, 'envelope'>,
  raw: Pick<RawRequest, 'requestId'>,
  reply: BuyerReply,
  refused: Refused,
): void {
  if (reply.isGone()) return
  if (reply.isStarted()) {
    endBroken(reply, refused.last?.decoder.fail(refused.error) ?? '')
    return
  }
  const { status, headers, body } = wire.envelope(refused.error, raw.requestId)
  reply.whole(status, { ...refusalHeaders(refused.attempts, refused.standing), ...headers }, body)
}
