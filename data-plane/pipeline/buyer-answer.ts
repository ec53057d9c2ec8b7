import type { BuyerReply, RawRequest } from '#data-plane/call.ts'
import type { Settled } from '#data-plane/payment.ts'
import type { RateStanding } from '#data-plane/store/rate-limits.ts'
import type { AnyWire } from '#data-plane/wires/wire.ts'
import { AppError } from '#shared/errors.ts'
import type { CallMoney, CallPlane } from './call-plane.ts'
import type { ReplyFacts } from './reply-headers.ts'
import { COST_HEADERS, costHeaders, refusalHeaders, replyHeaders } from './reply-headers.ts'
import { receiptAhead } from './settle-call.ts'
import type { AdmittedCall, Relay, Settlement, Winner } from './stages.ts'

// This module alone decides how much of an answer the buyer has received: nothing, a head, a stream, its end.

/** The facts of a call when its stream begins. `paid` holds a payment that was taken by then. */
type Begun = Pick<ReplyFacts, 'attempts' | 'decisionMs'> & { readonly paid: Settled['headers'] }

/** Sends the head of a stream once. A head without a winner only shows that the call is alive. */
export function startAnswer(
  call: AdmittedCall,
  winner: Winner | undefined,
  { attempts, decisionMs, paid }: Begun,
): void {
  const { demand, reply, standing } = call
  if (!demand.isStreamed) return
  const isPriced = winner !== undefined && knowsPrice(winner)
  const answerStart = winner?.decoder.head?.start?.()
  const headers = replyHeaders({
    plan: winner?.plan,
    request: winner?.request,
    attempts,
    decisionMs,
    isStreamed: true,
    standing,
    // Our own delay is known when the provider is called, before it answers.
    overheadMs: decisionMs,
    receipt: isPriced ? receiptAhead(call, winner) : undefined,
    contentType: winner?.decoder.head?.contentType?.(),
    own: answerStart?.headers,
  })
  if (paid !== undefined) Object.assign(headers, paid)
  const trailers = trailersOf(call, winner, headers)
  // The receipt of a payment comes in trailers, which a length would rule out.
  if (isReceiptLater(call, headers)) delete headers['content-length']
  reply.start(headers, answerStart?.status, trailers)
}

/** True for a stream that begins before its payment is settled. */
function isReceiptLater({ payment }: AdmittedCall, headers: Readonly<Record<string, string>>): boolean {
  return payment.receipts?.some((name) => headers[name] === undefined) === true
}

/**
 * The names of trailers: the receipt of a payment that is settled at the end, and the cost of an answer that passes
 * through or is sound, and has no last event from us.
 */
function trailersOf(
  { payment }: AdmittedCall,
  winner: Winner | undefined,
  headers: Readonly<Record<string, string>>,
): readonly string[] {
  const isBare = winner?.request.passedOn !== undefined || winner?.decoder.head?.isPriced?.() === false
  const names = [...(payment.receipts ?? []), ...(isBare ? COST_HEADERS : [])]
  return names.filter((name) => headers[name] === undefined)
}

/** True when the price of an answer is known before its end. */
function knowsPrice({ decoder }: Pick<Winner, 'decoder'>): boolean {
  return decoder.head?.isPriced?.() === true
}

/** The facts of a call's end for its buyer. */
export type AnswerEnd = { readonly relay: Relay; readonly settlement: Settlement; readonly decisionMs: number }

/** Ends an answer: with its whole body, the last bytes of its stream, or an error. */
export function endAnswer(plane: CallPlane, call: AdmittedCall, { relay, settlement, decisionMs }: AnswerEnd): void {
  const { raw, reply, standing, demand } = call
  const { last, error } = relay
  const isStreamed = demand.isStreamed && last?.decoder.head?.isHeld?.() !== true
  // A buyer who paid for a whole answer and lost the connection may fetch it again.
  const isKept = settlement.headers !== undefined && !isStreamed
  if (reply.isGone() && !isKept) return
  if (error !== undefined) {
    if (reply.isStarted() && last)
      endBroken(reply, last.decoder.fail(withReceipt(error, settlement)), settlementHeaders(settlement))
    else refuse(call.route.wire, raw, reply, { error, attempts: relay.attempts.length, standing })
    return
  }
  if (last === undefined) return
  // The answer was not paid, so it is withheld. A kept answer can be read again once its transfer is on the chain.
  const withheld = reply.isStarted() ? undefined : settlement.refusal
  if (withheld !== undefined && (isStreamed || !isKept)) {
    refuse(call.route.wire, raw, reply, { error: withheld, attempts: relay.attempts.length, standing })
    return
  }
  const answerStart = last.decoder.head?.start?.()
  const headers = replyHeaders({
    plan: last.plan,
    request: last.request,
    attempts: relay.attempts.length,
    decisionMs,
    overheadMs: plane.clock.monotonic() - raw.startedAt - relay.waitedMs,
    isStreamed,
    standing,
    // The cost of a stream is in its last chunk, unless it was known at the start.
    receipt: isStreamed && !knowsPrice(last) ? undefined : settlement.receipt,
    contentType: last.decoder.head?.contentType?.(),
    adaptedParams: last.decoder.whole?.adaptedParams?.(),
    own: answerStart?.headers,
  })
  if (settlement.headers !== undefined) Object.assign(headers, settlement.headers)
  const { decoder } = last
  if (!isStreamed) {
    const body = decoder.whole?.pieces(settlement.receipt) ?? decoder.finish(settlement.receipt)
    const status = answerStart?.status ?? 200
    if (isKept) keep(plane.money, call, { status, headers, body })
    if (withheld === undefined) reply.whole(status, headers, body)
    else refuse(call.route.wire, raw, reply, { error: withheld, attempts: relay.attempts.length, standing })
    return
  }
  if (!reply.isStarted()) reply.start(headers, answerStart?.status)
  reply.end(decoder.finish(settlement.receipt), settlementHeaders(settlement))
}

/** Trailers for the end of a call: its cost, and the headers of its rail. */
function settlementHeaders({ headers, receipt }: Settlement): Readonly<Record<string, string>> {
  return { ...costHeaders(receipt), ...headers }
}

type PaidAnswer = Parameters<CallMoney['paidAnswers']['keep']>[1]

/** Keeps an answer for its payer, when only the payer can present the payment again. */
function keep({ paidAnswers }: CallMoney, { hold, raw }: AdmittedCall, answer: PaidAnswer): void {
  const { rid, proof } = hold
  if (proof === undefined || proof.keptMs === 0) return
  paidAnswers.keep(rid, answer, { proof, content: raw.contentDigest?.() })
}

/** A protocol without an error inside a stream can only break the connection. */
function endBroken(reply: BuyerReply, text: string, trailers: Readonly<Record<string, string>> = {}): void {
  if (text === '') reply.cut()
  else reply.end(text, trailers)
}

/** Adds the cost of the delivered part to the error of a broken stream, because no usage chunk follows. */
function withReceipt({ code, message, param, detail }: AppError, { receipt }: Settlement): AppError {
  const cost = { buyer_cost_micro: Number(receipt.chargeMicro), list_cost_micro: Number(receipt.listMicro) }
  return new AppError(code, {
    message,
    detail: { ...detail, ...cost, ...receipt.members },
    ...(param === undefined ? {} : { param }),
  })
}

/** A refusal, and the known facts of the call. */
export type RefusedCall = {
  readonly error: AppError
  readonly attempts: number
  readonly standing: RateStanding | undefined
  /** The attempt whose silence made the answer begin. Its protocol can write an error into the stream. */
  readonly last?: Winner | undefined
}

/** Refuses a request in the form of its protocol. */
export function refuse(
  wire: Pick<AnyWire, 'envelope'>,
  raw: Pick<RawRequest, 'requestId'>,
  reply: BuyerReply,
  refusedCall: RefusedCall,
): void {
  if (reply.isGone()) return
  if (reply.isStarted()) {
    endBroken(reply, refusedCall.last?.decoder.fail(refusedCall.error) ?? '')
    return
  }
  const { status, headers, body } = wire.envelope(refusedCall.error, raw.requestId)
  reply.whole(status, { ...refusalHeaders(refusedCall.attempts, refusedCall.standing), ...headers }, body)
}
