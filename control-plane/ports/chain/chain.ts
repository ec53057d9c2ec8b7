/** Reads of the chain. Each throws when the chain is out of reach. */
export type Chain = {
  /** The block of a transaction and whether it did what it was for; undefined while it is in none. */
  receiptOf(hash: string): Promise<{ readonly block: bigint; readonly isReverted: boolean } | undefined>
  head(): Promise<bigint>
  /** The token balance in the token's units. */
  balanceOf(asset: string, owner: string): Promise<bigint>
  /** Throws unless the endpoint speaks for the chain with this id. */
  checkChain(chainId: number): Promise<void>
}
