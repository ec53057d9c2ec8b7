import type { Leave } from './leave.ts'

/** A transaction as it was signed. */
export type SignedTransaction = {
  readonly hash: string
  readonly raw: string
  readonly nonce: bigint
  readonly ref: string
  readonly sender: string
  /** Milliseconds since its signature, and since it was last sent; null before the first. */
  readonly ageMs: number
  readonly sentMs: number | null
  readonly minedAt: Date | null
  /** True when it is in a block without an effect, and when another transaction took its nonce. */
  readonly isReverted: boolean | null
}

export type Signature = { readonly hash: string; readonly raw: string }

export type NewTransaction = {
  readonly ref: string
  readonly sender: string
  /** The first nonce of a new sender, or after another program has used its key. */
  readonly first: bigint
  /** The most by which `first` may be ahead of our own count. */
  readonly maxJump: bigint
  readonly leave: Leave
}

/** A nonce of a sender, and the reference that uses it. */
export type NonceUse = Pick<SignedTransaction, 'sender' | 'nonce' | 'ref'>

/** The store of signed transactions. It issues a sender's nonces to every process with its key. */
export type TransactionStore = {
  /** The transactions for a reference, newest first. */
  list(ref: string): Promise<SignedTransaction[]>
  /**
   * Takes the sender's next nonce, signs with it and stores the result, in one transaction. Returns the stored
   * transaction when the reference has one that is not reverted. Throws when the permission is no longer valid.
   */
  add(entry: NewTransaction, sign: (nonce: bigint) => Promise<Signature>): Promise<SignedTransaction>
  /**
   * Signs another transaction with the nonce of an older one, or with an unused one, and stores it, in one transaction.
   * Throws when the permission is no longer valid.
   */
  addAt(use: NonceUse, leave: Leave, sign: () => Promise<Signature>): Promise<SignedTransaction>
  /** Nonces from `from` up to the sender's next for which there is no transaction. */
  missing(sender: string, from: bigint, limit: number): Promise<bigint[]>
  markSent(hash: string): Promise<void>
  /** Notes that a transaction is in a block. Others with its nonce can never be mined then. */
  markMined(hash: string, isReverted: boolean): Promise<void>
  /** Clears the blocks of transactions from a nonce on that the chain does not have. Returns their number. */
  forget(sender: string, from: bigint, olderThanMs: number): Promise<number>
  /** Transactions that are in no block, by nonce, oldest first. */
  listUnmined(sender: string, olderThanMs: number, limit: number): Promise<SignedTransaction[]>
}
