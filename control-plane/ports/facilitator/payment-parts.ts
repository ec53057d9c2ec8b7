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
   * The most that one payer, and all together, may have open: served or being served, and not final. For all together
   * what was left unpaid within a day counts, too.
   */
  readonly payerExposureMicro: bigint
  readonly exposureMicro: bigint
  /** The most that all contract wallets together may have open and have left unpaid within a day. */
  readonly contractExposureMicro: bigint
}

/** Milliseconds between the tries of one payment. Tests are in more of a hurry. */
export type PaymentTimes = {
  /** Milliseconds that a try waits for its block. A later try goes on waiting. */
  readonly confirmationMs: number
  /** The age at which a transaction without a block is sent again, in milliseconds. */
  readonly againAfterMs: number
  /** The time that the process has which was told the charge, before the worker tries. */
  readonly restingMs: number
  /** Milliseconds between two looks for transfers of payments that were written off. */
  readonly watchEveryMs: number
}

export const PAYMENT_TIMES: PaymentTimes = {
  confirmationMs: 5_000,
  againAfterMs: 5_000,
  restingMs: 2_000,
  watchEveryMs: 10_000,
}

/** Everything by which wallets pay; see plane.ts. */
export type PaymentParts = PaymentSettings & {
  readonly facilitator: Facilitator
  /** Null where only an outside facilitator knows the chain. Its word is then final. */
  readonly chain: Chain | null
  /** The address of the settlement key, in lower case; null where the facilitator is another's. */
  readonly settler: string | null
  /** The settlement key's money for gas in wei; null where it is not ours. */
  readonly gasMoney: (() => Promise<bigint>) | null
  /** Sends stored transactions again. Asks for leave before it signs anything. */
  sendAgain(ask: AskForLeave): Promise<number>
  /** Forgets that a transaction was in a block. */
  unmine(transaction: string): Promise<void>
  readonly memory: PaymentMemory
  readonly times: PaymentTimes
}

/** The last word of the facilitator about itself. */
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
  /** Transfers that this process is at work on, by request id. */
  readonly underWay: Map<string, Promise<void>>
  /** When written-off payments were last looked for. Monotonic milliseconds. */
  watchedAt: number
}

export function newPaymentMemory(): PaymentMemory {
  return { standing: undefined, asking: undefined, underWay: new Map(), watchedAt: Number.NEGATIVE_INFINITY }
}
