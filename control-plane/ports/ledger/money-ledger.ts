import type { Balance } from '#control-plane/db/accounts.ts'
import type { ChainPaymentReads, ChainPaymentRows } from '#control-plane/db/chain-payments.ts'
import type { JobRows } from '#control-plane/db/jobs.ts'
import type { Entry, LedgerTransaction, Movement } from '#control-plane/db/ledger.ts'
import type {
  DatabaseIdentity,
  LedgerFooting,
  LedgerStanding,
  MoneyRecord,
  MoneySnapshot,
  OfferUses,
} from '#control-plane/db/money-epoch.ts'
import type { OfferEarning } from '#control-plane/db/offer-earnings.ts'
import type { Conflict, NewSettlement, Poison, SettledRow } from '#control-plane/db/settlements.ts'
import type { AccountKind } from '#shared/ledger/account-kinds.ts'

/** Reads that work inside a transaction and outside. */
export type MoneyReads = {
  /** The kinds of the existing accounts among the given ones. */
  findKinds(accounts: readonly string[]): Promise<Map<string, AccountKind>>
  /** The balances of the existing accounts among the given ones, in no order. */
  findBalances(accounts: readonly string[]): Promise<Balance[]>
  /** The settlements of the given request ids that have one. */
  findSettled(rids: readonly string[]): Promise<Map<string, SettledRow>>
  /** The budgets that count the calls of the given keys, by key. Keys without one are missing. */
  findBudgets(keys: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>
  /** The transaction booked under a ledger key. */
  findLedgerKey(key: string): Promise<string | undefined>
  /** The entries of one transaction, by account id. */
  findEntries(tx: string): Promise<Entry[]>
  /** Compares the ledger with an earlier beat in the gate. */
  readStanding(beatInGate: number | undefined): Promise<LedgerStanding>
  /** The same, with the instant at which the last restore was recorded. */
  readFooting(beatInGate: number | undefined): Promise<LedgerFooting>
}

/**
 * A READ COMMITTED transaction on the ledger: everything in it happens or nothing does. It waits for a row that another
 * running transaction has written.
 */
export type MoneyTransaction = MoneyReads & {
  /** Inserts settlements in the order of their request ids and skips those that exist. Returns the new ids. */
  insertSettlements(settlements: readonly NewSettlement[]): Promise<Map<string, Date>>
  insertConflicts(conflicts: readonly Conflict[]): Promise<void>
  /** Claims a key for a transaction. Returns false when another transaction has the key. */
  claimLedgerKey(key: string, tx: string): Promise<boolean>
  insertTransactions(transactions: readonly LedgerTransaction[]): Promise<void>
  insertEntries(entries: readonly Entry[]): Promise<void>
  /** Locks accounts in one order for all callers, and returns their balances. */
  lockAccounts(accounts: readonly string[]): Promise<Map<string, Balance>>
  /** Changes the balances of locked accounts and writes an outbox row for the gate for each buyer account. */
  moveBalances(movements: readonly Movement[]): Promise<Balance[]>
  /** Adds earnings to offers of sellers whose accounts are locked. Payouts consist of these earnings. */
  addOfferEarnings(earnings: readonly OfferEarning[]): Promise<void>
  /** Long jobs and their ends. */
  readonly jobs: JobRows
  /** Payments by wallet. */
  readonly payments: ChainPaymentRows
}

/** The ledger's reason for a permanent refusal: SQLSTATE and constraint. */
export type LedgerRefusal = { readonly code: string; readonly constraint: string | undefined }

/** The Postgres reads and writes of posting, sweeping and rebuilding. */
export type MoneyLedger = MoneyReads & {
  /** Runs `run` in one transaction. An error rolls back. Also throws when it is unknown whether the commit happened. */
  transact<Result>(run: (trx: MoneyTransaction) => Promise<Result>): Promise<Result>
  /** True for an error that says nothing about the work itself, so that work under a key of its own may be repeated. */
  isTransient(error: unknown): boolean
  /** The reason why a statement was refused; undefined for other errors. */
  refusalOf(error: unknown): LedgerRefusal | undefined

  /** Payments by wallet, outside of a transaction. */
  readonly payments: ChainPaymentReads

  /** Buyer accounts with a balance above zero and an id above `after`, by id. */
  listFundedAccounts(after: string, limit: number): Promise<Balance[]>
  /** Changes that the gate has not confirmed, oldest first. */
  listAccountChanges(limit: number): Promise<Balance[]>
  /** Deletes changes that the gate has confirmed, unless a newer one replaced them. */
  deleteAccountChanges(confirmed: readonly Balance[]): Promise<void>
  /**
   * Stores events that cannot be posted. A repeat of the same bytes raises a count. Returns the hashes of the discarded
   * events.
   */
  insertPoison(poison: readonly Poison[]): Promise<ReadonlySet<string>>

  readEpoch(): Promise<MoneyRecord>
  /** Raises the beat, and returns it. */
  raiseBeat(): Promise<number>
  /** The identity of the database that answers, and of the database on record; undefined before the first. */
  readIdentity(): Promise<{ here: DatabaseIdentity; known?: DatabaseIdentity }>
  noteIdentity(identity: DatabaseIdentity): Promise<void>
  /**
   * Records that the ledger went back to an instant, in Unix milliseconds. Its beat is above `atLeastBeat` afterwards.
   */
  markRestored(restoredTo: number, atLeastBeat?: number): Promise<void>
  /** Issues an epoch above all epochs in Postgres and Redis. */
  raiseEpoch(seenInRedis: number): Promise<number>
  /** Records that no captures are left in epochs up to this one. */
  markHarvested(epoch: number): Promise<void>
  /** Records new processes. A retired process stays retired until it is seen alive. */
  insertNewNodes(ids: readonly string[]): Promise<void>
  /** Records that processes were just seen alive, and makes them members. */
  markNodesSeen(ids: readonly string[]): Promise<void>
  /** Retires processes with nothing left to bring into an epoch. */
  retireNodes(ids: readonly string[]): Promise<void>
  /** The members that a rebuild waits for. */
  listMembers(): Promise<string[]>
  /**
   * Balances of the first funded accounts and the use of capped keys and budgets, in one database snapshot; `now` is
   * Unix milliseconds.
   */
  readSnapshot(now: number, accounts: number): Promise<MoneySnapshot>
  /**
   * The use of capped offers on the UTC day of `now`, in one database snapshot, with the calls among the given ones
   * that it includes and the offers that are capped.
   */
  readOfferUses(
    now: number,
    names: { readonly rids: readonly string[]; readonly offers: readonly string[] },
  ): Promise<OfferUses>
  /**
   * Runs `run` as the only leader in the deployment. It ends when the ledger that it passes to `run` stops answering.
   * Does nothing when another process leads.
   */
  lead(run: (ledger: MoneyLedger) => Promise<void>): Promise<void>
}
