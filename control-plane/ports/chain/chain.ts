/** A payment as the chain shows it. Addresses are in lower case, and the amount is in the token's units. */
export type PaymentOnChain = {
  readonly asset: string
  readonly payer: string
  readonly payTo: string
  /** EIP-3009: 32 bytes in hex. Permit2: digits. */
  readonly nonce: string
  readonly amount: bigint
  /** The only sender that can use a Permit2 authorization; null when anybody can. */
  readonly settledBy: string | null
  /** An instant in Unix milliseconds before which no block can have it. */
  readonly since: number
}

/** A query of a payer's money: nonces of its authorizations, and the allowance of Permit2. */
export type PurseQuestion = {
  readonly nonces: readonly string[]
  readonly hasAllowance: boolean
  readonly hasPermit: boolean
}

/** A payer's money, in the token's units. */
export type PayerPurse = {
  readonly balance: bigint
  /** The amount that Permit2 may take from the balance; 0 if not asked for. */
  readonly allowance: bigint
  /** The nonce of the next EIP-2612 permit; 0 if not asked for. */
  readonly nextPermit: bigint
  /** The used nonces among the given ones. */
  readonly used: ReadonlySet<string>
}

/** Reads of the chain. Each throws when the chain is out of reach. */
export type Chain = {
  /**
   * The block of a transaction; undefined while it is in none. `moved` is the amount that it took from the payer to us
   * by the payment's own authorization, and 0 for a transaction of another payment. The transfer of an EIP-3009
   * authorization follows its use. Of several transfers by Permit2 the largest that does not exceed the payment's
   * amount counts.
   */
  receiptOf(
    hash: string,
    payment: PaymentOnChain,
  ): Promise<{ readonly block: bigint; readonly isReverted: boolean; readonly moved: bigint } | undefined>
  /**
   * The transaction that took a payment, by any sender and at any time. Throws while the search is unfinished: a
   * repeat continues it. A repeat of a finished search reads the newest blocks alone.
   */
  findTransfer(payment: PaymentOnChain): Promise<string | undefined>
  /** The newest block: its number, and its time in Unix milliseconds. */
  head(): Promise<{ readonly block: bigint; readonly at: number }>
  /**
   * A payer's money, and which nonces of its authorizations are used, all as of one block. An unused authorization may
   * still take from that balance and that allowance.
   */
  readPurse(asset: string, payer: string, purseQuestion: PurseQuestion): Promise<PayerPurse>
  /** True for a contract's address. */
  hasCode(address: string): Promise<boolean>
  /** Throws unless the endpoint serves the chain with this id. */
  checkChain(chainId: number): Promise<void>
}
