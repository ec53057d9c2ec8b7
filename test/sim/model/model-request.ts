import type { CaptureOutcome } from '#data-plane/payment.ts'
import type { AccountId, KeyId } from '#shared/ids.ts'
import type { ModelPayment } from './model-payments.ts'

/** A request as an outside observer knows it: the hold, the delivered answer and the recorded charge. */
export type ModelRequest = {
  /** The request id of the call, or of the end of a long job. */
  readonly rid: string
  readonly account: AccountId
  readonly keyId: KeyId | null
  /** The payment of a wallet. Undefined for a call that credit pays for. */
  readonly payment?: ModelPayment
  /** True for a call that is paid whole or not at all. It costs nothing until its charge is recorded. */
  readonly isPaidWhole?: boolean
  readonly machine: string
  /** The process that serves the call. */
  readonly pid: number
  state: 'asking' | 'refused' | 'running' | 'captured' | 'released'
  heldMicro: bigint
  /** The earliest expiry of the hold, by the wall clock of the world. */
  deadline: number
  /** The price of the delivered part. */
  deliveredMicro: bigint
  /** True when the provider counts more output than it delivers. Only the hold bounds the charge then. */
  isOverstated: boolean
  /** The charge of the capture in the journal. */
  chargeMicro: bigint | undefined
  /** The usage event of the end. */
  endEvent: string | undefined
  offer: string | null
  sellerAccount: string | null
  /** The time of the capture in milliseconds of the world. */
  capturedAt: number
  /** The result of the capture that the process received. */
  captured: CaptureOutcome | undefined
  /** True when the buyer saw the charge while the disk took records. The charge must survive then. */
  isAcknowledged: boolean
  /** Faults that have hit the request. Two together excuse a loss that one alone does not. */
  readonly faults: Set<RequestFault>
}

/**
 * `redis_lost`: Redis lost writes made after the request began. `journal_lost`: the disk of its machine did.
 * `ledger_lost`: a restored ledger lacks its posting, and Redis had forgotten it by then. `owner_away`: its process was
 * dead, frozen or cut off while the gate was rebuilt or its hold expired.
 */
export type RequestFault = 'redis_lost' | 'journal_lost' | 'ledger_lost' | 'owner_away'
