import type { SignedByWallet } from './wallets.ts'

/** A payment of a wallet as an outside observer knows it. */
export type ModelPayment = SignedByWallet & {
  /** The request id of the one call that the payment may serve. */
  paidFor: string | undefined
  /** False for a payment that must not serve a call. */
  readonly isGood: boolean
  /**
   * True for a payment signed for less than the requested amount. It pays for a call that costs no more at its start.
   */
  readonly isLower: boolean
  /** The one body that the payment is for. Undefined for any body. */
  readonly onlyFor: string | undefined
  /**
   * True when the payer moved money away while the payment was open. A transfer may fail then through the payer's
   * fault.
   */
  isDrained: boolean
  /** True when the world's clock has jumped past the payment's end. A transfer may be late then without a fault. */
  hasRunOut: boolean
}
