/** A payment as the chain shows it. Addresses are in lower case, and the amount is in the token's units. */
export type PaymentOnChain = {
  readonly asset: string
  readonly payer: string
  readonly payTo: string
  /** EIP-3009: 32 bytes in hex. Permit2: digits. */
  readonly nonce: string
  readonly amount: bigint
  /** The only sender that can use a Permit2 authorization; null where anybody can. */
  readonly settledBy: string | null
}

/** Reads of the chain. Each throws when the chain is out of reach. */
export type Chain = {
  /**
   * The block of a transaction and whether it did what it was for; undefined while it is in none. `isPaid` says that it
   * moved at least the payment's amount from the payer to us.
   */
  receiptOf(
    hash: string,
    payment: Pick<PaymentOnChain, 'asset' | 'payer' | 'payTo' | 'amount'>,
  ): Promise<{ readonly block: bigint; readonly isReverted: boolean; readonly isPaid: boolean } | undefined>
  /** The transaction in a recent block that took a payment, whoever sent it. */
  findTransfer(payment: PaymentOnChain): Promise<string | undefined>
  head(): Promise<bigint>
  /** The token balance in the token's units. */
  balanceOf(asset: string, owner: string): Promise<bigint>
  /** Throws unless the endpoint speaks for the chain with this id. */
  checkChain(chainId: number): Promise<void>
}
