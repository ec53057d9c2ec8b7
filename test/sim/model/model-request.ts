import type { CaptureOutcome } from '#data-plane/payment.ts'
import type { AccountId, KeyId } from '#shared/ids.ts'
import type { ModelPayment } from './model-payments.ts'

/** A request as an outsider can know it: the money set aside, the answer delivered, and the charge written down. */
export type ModelRequest = {
  /** The request id of the call, or of a long job's end. */
  readonly rid: string
  readonly account: AccountId
  readonly keyId: KeyId | null
  /** The payment of a wallet; undefined for a call that credit pays for. */
  readonly payment?: ModelPayment
  /** True for a call that is paid whole or not at all. Until its charge is written down it costs nothing. */
  readonly isPaidWhole?: boolean
  readonly machine: string
  /** The process that serves it. */
  readonly pid: number
  state: 'asking' | 'refused' | 'running' | 'captured' | 'released'
  heldMicro: bigint
  /** The earliest end of its hold, by the wall clock of the world. */
  deadline: number
  /** The price of what the provider has delivered so far. */
  deliveredMicro: bigint
  /** True when its provider counts more output than it delivers. Then the hold alone bounds the charge. */
  isOverstated: boolean
  /** The charge of the capture in the journal. */
  chargeMicro: bigint | undefined
  /** The usage event of its end. */
  endEvent: string | undefined
  offer: string | null
  sellerAccount: string | null
  /** The instant of its capture in milliseconds of the world. */
  capturedAt: number
  /** The result of the capture that its process heard. */
  captured: CaptureOutcome | undefined
  /** True when its buyer was told of the charge while the disk took records. Then the charge must last. */
  isAcknowledged: boolean
  /** Faults that have hit it. Two of them together excuse a loss that one alone does not. */
  readonly faults: Set<RequestFault>
}

/**
 * `redis_lost`: Redis lost writes that were made after it began. `journal_lost`: the disk of its machine did.
 * `ledger_lost`: a restored ledger lacks its posting, and Redis had forgotten it by then. `owner_away`: its process was dead, frozen or cut off while the gate was rebuilt or its hold ran out.
 */
export type RequestFault = 'redis_lost' | 'journal_lost' | 'ledger_lost' | 'owner_away'
