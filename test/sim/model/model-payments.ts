import type { SignedByWallet } from './wallets.ts'

/** A payment of a wallet as an outsider can know it. */
export type ModelPayment = SignedByWallet & {
  /** The request id of the one call that may be served for it. */
  paidFor: string | undefined
  /** False for a payment that nobody may serve. */
  readonly isGood: boolean
  /** True for a payment that is signed for less than was asked. It pays for a call that costs no more by then. */
  readonly isLower: boolean
  /** The one body that it may pay for; undefined for any. */
  readonly onlyFor: string | undefined
  /** The payer took money away while the payment was open. Then a transfer may fail by the payer's own fault. */
  isDrained: boolean
  /** The world's clock has jumped over the payment's end. Then a transfer may come too late by nobody's fault. */
  hasRunOut: boolean
}
