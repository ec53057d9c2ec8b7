import type { Chain } from '#control-plane/ports/chain/chain.ts'
import type { Facilitator } from './facilitator.ts'
import type { AskForLeave } from './leave.ts'

/** The settings of payments by wallet. Amounts are micro-USD. */
export type PaymentSettings = {
  /** CAIP-2, such as `eip155:8453`. */
  readonly network: `eip155:${number}`
  readonly asset: string
  readonly assetName: string
  readonly assetVersion: string
  readonly payTo: string
  /** Blocks, its own included, after which a transfer counts as final. */
  readonly confirmations: number
  /**
   * The most that one payer, and all together, may have open: served or in service, and not final. For all together,
   * unpaid amounts of the last day count, too.
   */
  readonly payerExposureMicro: bigint
  readonly exposureMicro: bigint
  /** The most that all contract wallets together may have open, with their unpaid amounts of the last day. */
  readonly contractExposureMicro: bigint
}

/** Milliseconds between the attempts of one payment. Tests use shorter times. */
export type PaymentTimes = {
  /** Milliseconds that an attempt waits for its block. A later attempt continues the wait. */
  readonly confirmationMs: number
  /** The age at which a transaction without a block is sent again, in milliseconds. */
  readonly againAfterMs: number
  /** Time for the process that received the charge, before the worker tries. */
  readonly restingMs: number
  /** Milliseconds between two searches for transfers of payments that were written off. */
  readonly watchEveryMs: number
  /** Milliseconds that a claim waits for the facilitator's verdict. The data plane gives up after eight seconds. */
  readonly verifyMs: number
}

export const PAYMENT_TIMES: PaymentTimes = {
  confirmationMs: 5_000,
  againAfterMs: 5_000,
  restingMs: 2_000,
  watchEveryMs: 10_000,
  verifyMs: 5_000,
}

/** All parts of payments by wallets; see plane.ts. */
export type PaymentParts = PaymentSettings & {
  readonly facilitator: Facilitator
  /** Null when only an outside facilitator reads the chain. Its answer is then final. */
  readonly chain: Chain | null
  /** The address of the settlement key, in lower case; null for a hosted facilitator. */
  readonly settler: string | null
  /** The settlement key's money for gas in wei; null when another facilitator has the key. */
  readonly gasMoney: (() => Promise<bigint>) | null
  /** Sends stored transactions again. Asks for permission before it signs anything. */
  sendAgain(ask: AskForLeave): Promise<number>
  /** Records that a transaction is in no block any more. */
  unmine(transaction: string): Promise<void>
  readonly memory: PaymentMemory
  readonly times: PaymentTimes
}

/** The last answer of the facilitator about itself. */
export type FacilitatorStanding = {
  /** Monotonic milliseconds. */
  readonly at: number
  readonly facilitator: string | null
  readonly schemes: ReadonlySet<string>
}

/** A process's memory of payments. */
export type PaymentMemory = {
  standing: FacilitatorStanding | undefined
  asking: Promise<void> | undefined
  /** The instant of the last question without an answer, in monotonic milliseconds. */
  silentAt: number
  /** Transfers in progress in this process, by request id. */
  readonly underWay: Map<string, Promise<void>>
  /** The instant of the last search for written-off payments, in monotonic milliseconds. */
  watchedAt: number
}

export function newPaymentMemory(): PaymentMemory {
  const never = Number.NEGATIVE_INFINITY
  return { standing: undefined, asking: undefined, silentAt: never, underWay: new Map(), watchedAt: never }
}
