import type { Leave } from './leave.ts'

/** A transaction as it was signed. */
export type SignedTransaction = {
  readonly hash: string
  readonly raw: string
  readonly nonce: bigint
  readonly ref: string
  readonly sender: string
  /** Milliseconds since it was signed, and since it was last sent; null while it never was. */
  readonly ageMs: number
  readonly sentMs: number | null
  readonly minedAt: Date | null
  /** True when it is in a block and did nothing, and when another transaction took its nonce. */
  readonly isReverted: boolean | null
}

export type Signature = { readonly hash: string; readonly raw: string }

export type NewTransaction = {
  readonly ref: string
  readonly sender: string
  /** The nonce to begin with where the sender is new, or where another program has used its key. */
  readonly first: bigint
  /** The most by which `first` may be ahead of our own count. */
  readonly maxJump: bigint
  readonly leave: Leave
}

/** The nonce of a sender, and the reference that it is for. */
export type NonceUse = Pick<SignedTransaction, 'sender' | 'nonce' | 'ref'>

/** The place where signed transactions are kept. It hands out the nonces of a sender to every process that uses its key. */
export type TransactionStore = {
  /** The transactions for a reference, newest first. */
  list(ref: string): Promise<SignedTransaction[]>
  /**
   * Takes the sender's next nonce, signs with it and stores the result, in one transaction. Answers the stored one when
   * the reference has one that is not reverted. Throws when the leave holds no more.
   */
  add(entry: NewTransaction, sign: (nonce: bigint) => Promise<Signature>): Promise<SignedTransaction>
  /**
   * Signs one more transaction with a nonce of an older one, or with one that none has, and stores it, in one transaction.
   * Throws when the leave holds no more.
   */
  addAt(use: NonceUse, leave: Leave, sign: () => Promise<Signature>): Promise<SignedTransaction>
  /** Nonces from `from` up to the sender's next for which there is no transaction. */
  missing(sender: string, from: bigint, limit: number): Promise<bigint[]>
  markSent(hash: string): Promise<void>
  /** Notes that a transaction is in a block. Others with its nonce can then never be. */
  markMined(hash: string, isReverted: boolean): Promise<void>
  /** Forgets the blocks of transactions from a nonce on, which the chain does not have. Answers their number. */
  forget(sender: string, from: bigint, olderThanMs: number): Promise<number>
  /** Transactions that are in no block, by nonce, oldest first. */
  listUnmined(sender: string, olderThanMs: number, limit: number): Promise<SignedTransaction[]>
}
