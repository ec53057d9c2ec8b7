import type { Hex } from 'viem'

/** A use of an authorization, as a block shows it. */
export type UsedAuthorization = {
  readonly transaction: string
  readonly block: bigint
  /** In lower case. */
  readonly recipient: string
  readonly amount: bigint
}

/** The authorizations to search: their token, treasury and first block. */
export type AuthorizationQuery = {
  readonly asset: string
  readonly treasury: string
  readonly nonces: readonly Hex[]
  readonly fromBlock: bigint
}

export type Block = {
  readonly block: bigint
  readonly hash: string
  /** The block's time in Unix milliseconds. */
  readonly at: number
}

/** A transfer of the token in one transaction. */
export type TokenMove = { readonly from: string; readonly to: string; readonly amount: bigint; readonly index: number }

/** Blocks of one query, both included. */
export type MoveQuery = {
  readonly asset: string
  readonly treasury: string
  readonly fromBlock: bigint
  readonly toBlock: bigint
}

/** A transfer to or from a treasury. Addresses and hashes are in lower case. */
export type ChainMove = {
  readonly direction: 'in' | 'out'
  readonly token: string
  readonly transaction: string
  readonly block: bigint
  /** The place of the log in its block. */
  readonly logIndex: number
  /** The index of the transfer among the transaction's transfers in its direction, from 0. */
  readonly place: number
  readonly party: string
  readonly amount: bigint
  /** The nonce of the authorization that moved it; null for another transfer. */
  readonly nonce: string | null
}

/** A use of x402's proxy. Anybody can use it for their own payments. Addresses are in lower case. */
export type ProxyUse = {
  /** The only sender that may use the authorization. */
  readonly sender: string
  readonly payer: string
  /** Digits. */
  readonly nonce: string
}

/** A query of wallets' balances and of their allowances for a spender. Addresses are in lower case. */
export type AllowanceQuery = { readonly asset: string; readonly spender: string; readonly wallets: readonly string[] }
export type WalletReading = { readonly balance: bigint; readonly allowance: bigint }

export type ChainMoves = { readonly moves: readonly ChainMove[]; readonly strays: readonly ChainMove[] }

/** The chain as the treasury uses it. Each method throws when the chain is out of reach. */
export type TreasuryChain = {
  /** Throws unless the endpoint serves the chain with this id. */
  checkChain(chainId: number): Promise<void>
  head(): Promise<Block>
  blockAt(block: bigint): Promise<Block>
  /** The token balance in the token's units, now or at the end of a block. */
  balanceOf(asset: string, owner: string, block?: bigint): Promise<bigint>
  /** The balance and the allowance of each wallet, at one moment. */
  readAllowances(query: AllowanceQuery): Promise<ReadonlyMap<string, WalletReading>>
  /** The nonce of a wallet's next permit. */
  permitNonceOf(asset: string, owner: string): Promise<bigint>
  /** The transfers of a treasury in a range of blocks, and arrivals of other tokens. */
  listMoves(query: MoveQuery): Promise<ChainMoves>
  /**
   * The Permit2 authorization that a transaction uses through x402's proxy; null for a transaction that does not call
   * it.
   */
  proxyUseOf(hash: string): Promise<ProxyUse | null>
  /** The used authorizations, by nonce, without canceled ones. */
  findUsed(query: AuthorizationQuery): Promise<Map<string, UsedAuthorization>>
  /** The given nonces that the token no longer accepts as of a block. */
  listSpent(query: Omit<AuthorizationQuery, 'fromBlock'>, block: bigint): Promise<ReadonlySet<string>>
  /** Tells of each call of the token by `from` whether it would succeed now. */
  tryCalls(asset: string, from: string, calls: readonly Hex[]): Promise<readonly boolean[]>
  /** The block and the token's transfers of a transaction; undefined while it is in no block, or when it reverted. */
  movesOf(
    asset: string,
    hash: string,
  ): Promise<{ readonly block: bigint; readonly moves: readonly TokenMove[] } | undefined>
}
