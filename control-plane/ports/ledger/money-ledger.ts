import type { Balance } from '#control-plane/db/accounts.ts'
import type { JobRows } from '#control-plane/db/jobs.ts'
import type { Entry, LedgerTransaction, Movement } from '#control-plane/db/ledger.ts'
import type { MoneySnapshot, OfferUses } from '#control-plane/db/money-epoch.ts'
import type { Conflict, NewSettlement, Poison, Settled } from '#control-plane/db/settlements.ts'
import type { AccountKind } from '#shared/ledger/account-kinds.ts'

/** What may be read at any time, inside a transaction or not. */
export type MoneyReads = {
  /** The kinds of the accounts that exist. */
  findKinds(accounts: readonly string[]): Promise<Map<string, AccountKind>>
  /** The balances of the accounts that exist, in no order. */
  findBalances(accounts: readonly string[]): Promise<Balance[]>
  /** The settlements that exist among the request ids. */
  findSettled(rids: readonly string[]): Promise<Map<string, Settled>>
  /** The transaction that holds a key. */
  findLedgerKey(key: string): Promise<string | undefined>
  /** The entries of one transaction in the order of their accounts. */
  findEntries(tx: string): Promise<Entry[]>
}

/**
 * One transaction on the ledger, READ COMMITTED: all of it happens or nothing. A row of another transaction that is not
 * over yet is waited for.
 */
export type MoneyTransaction = MoneyReads & {
  /** Inserts settlements in the order of their request ids, passing over those that exist: answers the new ids. */
  insertSettlements(settlements: readonly NewSettlement[]): Promise<Map<string, Date>>
  insertConflicts(conflicts: readonly Conflict[]): Promise<void>
  /** Takes a key for a transaction; false when the key has one already. */
  claimLedgerKey(key: string, tx: string): Promise<boolean>
  insertTransactions(transactions: readonly LedgerTransaction[]): Promise<void>
  insertEntries(entries: readonly Entry[]): Promise<void>
  /** Locks accounts in one order for all, and answers their balances. */
  lockAccounts(accounts: readonly string[]): Promise<Map<string, Balance>>
  /** Moves the balances of locked accounts and leaves a row for the gate for each buyer account. */
  moveBalances(movements: readonly Movement[]): Promise<Balance[]>
  /** Long jobs and their ends. */
  readonly jobs: JobRows
}

/** Why the ledger refused something for good: SQLSTATE and constraint. */
export type Refusal = { readonly code: string; readonly constraint: string | undefined }

/** What posting, sweeping and rebuilding ask of Postgres. */
export type MoneyLedger = MoneyReads & {
  /** Runs `run` in one transaction; what it throws rolls back. Its end may be unknown: then it throws as well. */
  transact<Result>(run: (trx: MoneyTransaction) => Promise<Result>): Promise<Result>
  /** True when an error says nothing about the work itself, so that work with a key of its own may be repeated. */
  isTransient(error: unknown): boolean
  /** Why a statement was refused; undefined for another error. */
  refusalOf(error: unknown): Refusal | undefined

  /** Buyer accounts with a balance above zero, in order of id from after `after`. */
  listFundedAccounts(after: string, limit: number): Promise<Balance[]>
  /** Changes not yet confirmed by the gate, oldest first. */
  listAccountChanges(limit: number): Promise<Balance[]>
  /** Forgets changes that the gate has confirmed, unless a newer one took their place. */
  deleteAccountChanges(confirmed: readonly Balance[]): Promise<void>
  /** Keeps events that cannot be posted; a repeat of the same bytes is counted. Answers the hashes of discarded ones. */
  insertPoison(poison: readonly Poison[]): Promise<ReadonlySet<string>>

  /** The newest epoch given out, 0 before the first, and the one up to which older captures were taken over. */
  readEpoch(): Promise<{ epoch: number; harvested: number }>
  /** Gives out an epoch above all that Postgres and Redis have seen. */
  raiseEpoch(seenInRedis: number): Promise<number>
  /** Notes that nothing is left of epochs up to this one. */
  markHarvested(epoch: number): Promise<void>
  /** Puts processes on record that have never been: one that was retired stays so until it is seen to live. */
  insertNewNodes(ids: readonly string[]): Promise<void>
  /** Notes that processes were just seen to live, and puts them on record as members. */
  markNodesSeen(ids: readonly string[]): Promise<void>
  /** Takes processes off record that have nothing left to bring into an epoch. */
  retireNodes(ids: readonly string[]): Promise<void>
  /** The members that a rebuild waits for. */
  listMembers(): Promise<string[]>
  /** Balances of the first funded accounts and the use of capped keys, in one snapshot; `now` in Unix milliseconds. */
  readSnapshot(now: number, accounts: number): Promise<MoneySnapshot>
  /** The use of capped offers on the UTC day of `now`, and what of some calls and offers is in it, in one snapshot. */
  readOfferUses(
    now: number,
    asked: { readonly rids: readonly string[]; readonly offers: readonly string[] },
  ): Promise<OfferUses>
  /**
   * Runs `run` as the only one in the deployment, for as long as the ledger it is handed answers. Does nothing when
   * somebody else leads.
   */
  lead(run: (ledger: MoneyLedger) => Promise<void>): Promise<void>
}
