import type { RawRequest, RequestHead } from '#data-plane/call.ts'
import type { Chargeable, Hold, Payer, Quote, RepeatProof, Settled } from '#data-plane/payment.ts'
import type { RailName } from '#shared/contract/rails.ts'
import type { ErrorDetail } from '#shared/errors.ts'
import { AppError } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'
import type { MicroUsd } from '#shared/money.ts'

/** A rail's demand for payment: entries of `accepts`, and headers of its own. */
export type Challenge = {
  readonly accepts: readonly Readonly<Record<string, unknown>>[]
  readonly headers: Readonly<Record<string, string>>
  /** Extensions of x402 that its clients may use. */
  readonly extensions?: Readonly<Record<string, unknown>>
}

/** A way to pay. An `event` is the usage event of the call as text; its bytes have to be kept. */
export type Rail<Proof> = {
  readonly name: RailName
  /** The credential in the headers; undefined without one of this rail. Throws on a malformed one. */
  recognize(head: RequestHead): Proof | undefined
  /** Finds the payer. Throws AppError: `invalid_api_key`, `wrong_key_type`, `service_unavailable`. */
  identify(proof: Proof): Promise<Payer>
  /** Makes the demand for payment of this call; null when a stranger cannot pay by this rail. */
  readonly challenge: ((quote: Pick<Quote, 'wantMicro' | 'minMicro'>, raw: RawRequest) => Challenge | undefined) | null
  /** Throws {@link paymentRefused} for a payment that is not valid for this call. */
  reserve(payer: Payer, proof: Proof, quote: Quote, raw: RawRequest): Promise<Hold>
  /**
   * Takes the money before the first content of a stream is sent; absent for a charge that is taken at the end. Never
   * rejects.
   */
  takeAhead?(hold: Hold): Promise<TakenAhead>
  /**
   * The names of headers that report a settlement. A stream that begins before it announces them as trailers. Absent
   * when the cost of a call is all there is to report.
   */
  readonly receipts?: readonly string[]
  /**
   * Takes the charge. A second call with the same bytes, by this process or by an heir of its journal, changes nothing
   * and returns the present state of the charge. Never rejects for a failure that a further attempt may mend.
   */
  settle(hold: Chargeable, charge: MicroUsd, event: string): Promise<Settled>
  /** Releases the money that was set aside. Never rejects. */
  release(hold: Hold, reason: string, event: string): Promise<void>
}

/** The result of taking money ahead: a refusal, a receipt, or neither while it is unknown. */
export type TakenAhead = Pick<Settled, 'refusal' | 'headers'>

/** The ways to end a hold. */
export type Settling = Pick<Rail<unknown>, 'settle' | 'release' | 'takeAhead' | 'receipts'>

/** The refusal of a payment, with a reason in the terms of its protocol. The caller may pay anew for the same call. */
export function paymentRefused(reason: string, detail: Readonly<Record<string, unknown>> = {}): AppError {
  return new AppError('payment_required', { detail: { ...detail, payment_error: reason } })
}

/** A call whose payer presents its payment again, and the present form of that payment's report. */
export type Repeated = {
  readonly rid: RequestId
  readonly proof: RepeatProof
  readonly headers: Readonly<Record<string, string>>
}

/**
 * The refusal of a payment that another call has. It asks for no other payment. `repeat` is set for a caller who may
 * have the answer of that call again, if it was kept.
 */
export class PaymentUsed extends AppError {
  readonly repeat: Repeated | undefined
  constructor(detail: { readonly paid_request_id: RequestId } & ErrorDetail, repeat: Repeated | undefined) {
    super('payment_required', { detail: { ...detail, payment_error: 'payment_already_used', is_final: true } })
    this.repeat = repeat
  }
}

/** A rail with the proof that it found. It pays for a call. */
export type Payment = Settling & {
  readonly rail: RailName
  identify(): Promise<Payer>
  reserve(payer: Payer, quote: Quote, raw: RawRequest): Promise<Hold>
}

/** A rail that hides the type of its proof. */
export type AnyRail = Settling &
  Pick<Rail<unknown>, 'name' | 'challenge'> & {
    recognize(head: RequestHead): Payment | undefined
  }

export function defineRail<Proof>(rail: Rail<Proof>): AnyRail {
  return {
    name: rail.name,
    challenge: rail.challenge,
    settle: rail.settle,
    release: rail.release,
    ...(rail.takeAhead && { takeAhead: rail.takeAhead }),
    ...(rail.receipts && { receipts: rail.receipts }),
    recognize(head) {
      const proof = rail.recognize(head)
      return proof === undefined ? undefined : payBy(rail, proof)
    },
  }
}

/** Makes a payment by a rail from a proof. */
export function payBy<Proof>(rail: Rail<Proof>, proof: Proof): Payment {
  return {
    rail: rail.name,
    // The members are methods, not arrow functions. The object is made for every call, and the loader names each arrow
    // function on creation.
    identify() {
      return rail.identify(proof)
    },
    reserve(payer, quote, raw) {
      return rail.reserve(payer, proof, quote, raw)
    },
    settle: rail.settle,
    release: rail.release,
    ...(rail.takeAhead && { takeAhead: rail.takeAhead }),
    ...(rail.receipts && { receipts: rail.receipts }),
  }
}
