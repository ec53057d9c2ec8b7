import type { RawRequest } from '#data-plane/call.ts'
import type { Chargeable, Hold, PaymentDesk, Quote, RepeatProof, Settled } from '#data-plane/payment.ts'
import type { ChainRailName, ClaimAnswer, PaymentTerms, SettleAnswer } from '#shared/contract/chain-payments.ts'
import { MOST_PAYMENT_MICRO } from '#shared/contract/chain-payments.ts'
import { jobOfEnd } from '#shared/contract/usage-event.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId, RequestId } from '#shared/ids.ts'
import { isId, parseRequestId } from '#shared/ids.ts'
import type { MicroUsd } from '#shared/money.ts'
import { formatMicroUsd, microUsd } from '#shared/money.ts'
import type { TakenAhead } from './rail.ts'
import { PaymentUsed, paymentRefused } from './rail.ts'

// All ways to pay by wallet end in one engine: the desk claims a payment once, takes the charge, and books it.

/** Milliseconds that an answer waits for the chain. After that the payment continues without the answer. */
const SETTLE_WAIT_MS = 8_000
const RETRY_SECONDS = 5

/** A payment that was parsed and checked as far as that is possible without the chain. */
export type CheckedPayment = {
  readonly rail: ChainRailName
  readonly amountMicro: MicroUsd
  /** The payment in the form of x402, version 2, and the requirement that it meets. */
  readonly payload: Readonly<Record<string, unknown>>
  readonly requirement: Readonly<Record<string, unknown>>
  readonly network: string
  /** In lower case. */
  readonly wallet: string
  /** The facts that prove who paid when the payment is presented again. */
  readonly proof: RepeatProof
  /** The challenge that it answers, if its scheme has one. */
  readonly challengeId?: string
  readonly receiptFormat: ReceiptFormat
}

/** Refuses a call that costs more than one payment may be. */
export function refuseDear({ minMicro }: Pick<Quote, 'minMicro'>): void {
  if (minMicro <= MOST_PAYMENT_MICRO) return
  throw new AppError('cost_ceiling_reached', {
    message: 'A call that a wallet pays for costs at most 1.00 USD: lower its output limit, or use a key with credit.',
    detail: {
      limit_source: 'payment',
      limit_scope: 'call',
      limit_usdc: formatMicroUsd(microUsd(MOST_PAYMENT_MICRO)),
      spent_usdc: '0',
      required_usdc: formatMicroUsd(minMicro),
      resets_at: null,
    },
  })
}

/** Claims a payment for a call. Throws {@link paymentRefused}, {@link paymentUsed} and `service_unavailable`. */
export async function claimHold(
  desk: PaymentDesk,
  checkedPayment: CheckedPayment,
  quote: Quote,
  raw: RawRequest,
): Promise<Hold> {
  const { rid, ttlMs } = quote
  const { rail, amountMicro, payload, requirement, proof } = checkedPayment
  const claim = {
    amountMicro: amountMicro.toString(),
    bodyDigest: proof.digest,
    payload: { ...payload },
    requirement: { ...requirement },
    serveUntil: raw.receivedAt + ttlMs,
  }
  // Without its claim in the journal, a restored ledger could not book the call.
  if (JSON.stringify(claim).length > MAX_CLAIM_CHARS) throw paymentRefused('payment_too_long')
  const answer = await desk.claim({ rid, rail, ...claim })
  const { account, wallet } = claimedBy(answer, checkedPayment)
  const record = { ...recordOf(checkedPayment), claim }
  const { challengeId } = checkedPayment
  return { rid, rail, account, keyId: null, wallet, record, grantedMicro: amountMicro, proof, challengeId }
}

/**
 * The longest claim that the journal keeps, in characters of JSON. It is below an event's limit for a rail's record.
 */
const MAX_CLAIM_CHARS = 15_000

function recordOf({ network, requirement }: CheckedPayment): Readonly<Record<string, unknown>> {
  return { network, scheme: requirement['scheme'] }
}

type Claimed = { readonly account: AccountId; readonly wallet: string }

function claimedBy(answer: ClaimAnswer, checkedPayment: CheckedPayment): Claimed {
  switch (answer.state) {
    case 'claimed':
      if (!isId('acc', answer.account)) throw new AppError('internal_error', { cause: new Error('no account id') })
      return { account: answer.account, wallet: answer.wallet }
    case 'refused':
      throw paymentRefused(answer.reason)
    case 'used':
      throw usedBefore(answer, checkedPayment)
    case 'closed':
      throw paymentsClosed(answer.reason, answer.retryAfterSeconds)
  }
}

/**
 * The refusal of a used payment. A client that proves to be the payer may get the answer again, once the call is paid.
 */
function usedBefore(answer: ClaimAnswer & { state: 'used' }, payment: CheckedPayment): PaymentUsed {
  const { rid, standing, transaction, amountMicro, bodyDigest } = answer
  const { proof, receiptFormat, wallet, challengeId } = payment
  const isRepeat = proof.keptMs > 0 && bodyDigest === proof.digest && standing !== 'failed'
  const settlement = { state: 'settled', transaction, amountMicro, reason: null } as const
  const isOver = standing === 'settled' || standing === 'released'
  const headers = isOver ? receiptFormat.headers(settlement, { record: recordOf(payment), wallet, challengeId }) : {}
  const facts = { paid_request_id: rid, settlement_status: standing, transaction }
  return new PaymentUsed(facts, isRepeat ? { rid, proof, headers } : undefined)
}

/** The terms of a rail; undefined while it takes no payments. */
export function termsOf(desk: Pick<PaymentDesk, 'terms'>, rail: ChainRailName): PaymentTerms | undefined {
  const terms = desk.terms()
  return terms?.switchedOff.includes(rail) === true ? undefined : terms
}

/** The refusal while no wallet can pay. Calls with keys continue. */
export function paymentsClosed(reason: string, retryAfterSeconds = RETRY_SECONDS): AppError {
  return new AppError('service_unavailable', {
    message: 'Payments by wallet are not taken at the moment.',
    detail: { limit_source: reason, limit_scope: 'payments', resets_at: null },
    retryAfterSeconds,
  })
}

/** The facts of a payment that its receipt names. */
export type ReceiptFacts = Pick<Chargeable, 'record' | 'wallet' | 'challengeId'>

/** The form in which an answer reports a settlement. */
export type ReceiptFormat = {
  headers(answer: SettleAnswer, hold: ReceiptFacts): Readonly<Record<string, string>>
  /** Names of the headers that `headers` returns. */
  readonly names: readonly string[]
  readonly type: 'x402' | 'mpp'
}

/**
 * Takes the charge of a call, and waits for the chain for a while. The money of a long job came with its submit, so its
 * end takes nothing, and only gives the booking the split.
 */
export async function settleHold(
  desk: PaymentDesk,
  hold: Chargeable,
  { charge, event }: { readonly charge: MicroUsd; readonly event: string },
  receiptFormat: ReceiptFormat,
): Promise<Settled> {
  if (jobOfEnd(hold.rid) !== undefined) return TOLD
  const rid = ridOf(hold)
  const answer = await desk.settle({ rid, event, chargeMicro: charge.toString(), waitMs: SETTLE_WAIT_MS })
  if (answer === undefined)
    return { state: 'pending', booking: 'later', members: membersOf(UNKNOWN, hold, receiptFormat) }
  const receiptParts = { headers: receiptFormat.headers(answer, hold), members: membersOf(answer, hold, receiptFormat) }
  if (answer.state !== 'failed') return { state: 'final', booking: 'later', ...receiptParts }
  return { state: 'final', booking: 'later', ...receiptParts, refusal: failed(answer, receiptParts.headers) }
}

const TOLD: Settled = { state: 'final', booking: 'by-event' }
const UNKNOWN: SettleAnswer = { state: 'pending', transaction: null, amountMicro: microUsd(0), reason: null }

/** The payment in an answer's usage: its state now, and its transaction once there is one. */
function membersOf(
  { state, transaction }: SettleAnswer,
  hold: Chargeable,
  { type }: ReceiptFormat,
): Readonly<Record<string, unknown>> {
  return { payment: { type, status: state, transaction, network: hold.record?.['network'], payer: hold.wallet } }
}

function failed({ reason, transaction }: SettleAnswer, headers: Readonly<Record<string, string>>): AppError {
  return new AppError('payment_required', {
    detail: { accepts: [], headers, payment_error: reason ?? 'settlement_failed', transaction },
  })
}

/** Takes the whole payment before the service. */
export async function takeAhead(desk: PaymentDesk, hold: Hold, receiptFormat: ReceiptFormat): Promise<TakenAhead> {
  const answer = await desk.settle({ rid: hold.rid, event: null, chargeMicro: '0', waitMs: SETTLE_WAIT_MS })
  if (answer === undefined || answer.state === 'pending') return {}
  const headers = receiptFormat.headers(answer, hold)
  return answer.state === 'failed' ? { refusal: failed(answer, headers) } : { headers }
}

function ridOf({ rid }: Chargeable): RequestId {
  const read = parseRequestId(rid)
  if (read === undefined) throw new AppError('internal_error', { cause: new Error('a payment without a call') })
  return read
}
