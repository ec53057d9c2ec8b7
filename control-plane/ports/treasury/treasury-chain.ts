import type { Hex } from 'viem'

/** A use of an authorization, as a block shows it. */
export type UsedAuthorization = {
  readonly transaction: string
  readonly block: bigint
  /** In lower case. */
  readonly recipient: string
  readonly amount: bigint
}

/** Whose authorizations are looked for: of which token and treasury, and from which block on. */
export type AuthorizationQuery = {
  readonly asset: string
  readonly treasury: string
  readonly nonces: readonly Hex[]
  readonly fromBlock: bigint
}

export type Block = {
  readonly block: bigint
  /** Its time in Unix milliseconds. */
  readonly at: number
}

/** A transfer of the token in one transaction. */
export type TokenMove = { readonly from: string; readonly to: string; readonly amount: bigint; readonly index: number }

/** The chain as the treasury uses it. Each throws when the chain is out of reach. */
export type TreasuryChain = {
  /** Throws unless the endpoint speaks for the chain with this id. */
  checkChain(chainId: number): Promise<void>
  head(): Promise<Block>
  blockAt(block: bigint): Promise<Block>
  /** The token balance in the token's units. */
  balanceOf(asset: string, owner: string): Promise<bigint>
  /** The authorizations that were used, by nonce. A canceled one is not. */
  findUsed(query: AuthorizationQuery): Promise<Map<string, UsedAuthorization>>
  /** Those of the nonces that the token does not take any more as of a block. */
  listSpent(query: Omit<AuthorizationQuery, 'fromBlock'>, block: bigint): Promise<ReadonlySet<string>>
  /** Says of each call of the token whether it would succeed now, made by `from`. */
  tryCalls(asset: string, from: string, calls: readonly Hex[]): Promise<readonly boolean[]>
  /** The block and the token's transfers of a transaction; undefined while it is in no block, or when it reverted. */
  movesOf(
    asset: string,
    hash: string,
  ): Promise<{ readonly block: bigint; readonly moves: readonly TokenMove[] } | undefined>
}
