import type { CapUse, UseMark, UseSeed } from '#shared/contract/money-scripts/uses.ts'
import type { CapturedCall } from '#shared/contract/usage-event.ts'
import type { AccountId } from '#shared/ids.ts'
import type { MicroUsd } from '#shared/money.ts'

/** A balance of the ledger, and the call whose posting changed it, if one did. */
export type PostedChange = {
  readonly account: AccountId
  readonly balanceMicro: MicroUsd
  /** Rises with every ledger change of the account. An older version never replaces a newer one. */
  readonly version: bigint
  /** The posted call or job end. Its capture stops counting as unposted. */
  readonly rid?: string
  /** Unix milliseconds of the posting. Absent when the booked event differs from the gate's. */
  readonly postedAt?: number
  /** The key that made the call. The gate then knows which key's cap to settle. */
  readonly keyId?: string | null
  /** The budgets that count the call. Absent without one. */
  readonly budgets?: readonly string[]
}

/** The reason why a wallet can pay no more. */
export type WalletBound = 'balance' | 'allowance'

/** The request ids of calls that were posted before the gate learned of their capture in this epoch. */
export type PostedBefore = ReadonlySet<string>

/** A key whose spending is counted, and the account that it spends from. */
export type CountedKey = { readonly keyId: string; readonly account: AccountId }

/** The subject of a counter: a key, or a budget by its id. */
export type CounterSubject = CountedKey | { readonly budgetId: string }

/** An account in the gate. Spendable is posted − held − unposted. */
export type GateBalance = {
  readonly postedMicro: MicroUsd
  readonly heldMicro: MicroUsd
  readonly unpostedMicro: MicroUsd
  /** The version of the posted balance. */
  readonly version: bigint
}

/**
 * The control plane's view of the spending gate in Redis. Everything throws AppError `service_unavailable` while Redis
 * is away or being rebuilt. Every write may be repeated, so callers try again from their own rows.
 */
export type Gate = {
  /** True when paid calls may be admitted: the gate is reachable and not being rebuilt. Never throws. */
  isOpen(): Promise<boolean>
  /** The newest beat of the ledger in the gate; undefined without one. A restored ledger has a lower beat. */
  ledgerBeat(): Promise<number | undefined>
  /** Tells the gate of posted changes. They may be repeated and arrive in any order. */
  ack(changes: readonly PostedChange[]): Promise<PostedBefore>
  /** Subtracts from the caps of offers the amounts of calls that the ledger's figures already included. */
  uncount(uses: readonly CapUse[]): Promise<void>
  /** Tells the gate of balances that no call changed. */
  seed(balances: readonly Omit<PostedChange, 'rid' | 'postedAt'>[]): Promise<unknown>
  /** The account's figures; undefined while it is not seeded. */
  spendable(account: AccountId): Promise<GateBalance | undefined>
  /**
   * Sets the bound that keeps an account's wallet from paying more, for a while. Only the text of refusals depends on
   * it. Null for an account without an allowance line.
   */
  tellBound(account: AccountId, bound: WalletBound | null): Promise<void>
  /** Usage events of captures that have waited longer than `olderThanMs` to be posted, oldest first. */
  unposted(olderThanMs: number, limit: number): Promise<string[]>
  /** Usage events of the given calls that are captured and not posted. */
  captured(calls: readonly CapturedCall[]): Promise<string[]>
  /** Gives back the money of at most `limit` expired holds. Returns their number. */
  expireHolds(limit: number): Promise<number>
  /**
   * Announces that a counter will be seeded with everything posted before a future instant. Returns the instant
   * that applies, which may be an earlier one. Undefined when the counter was already seeded in this epoch.
   */
  markUse(counted: CounterSubject, postedBefore: number): Promise<UseMark | undefined>
  /** Adds the ledger's figures to a marked counter. A repeat changes nothing. */
  seedUse(counted: CounterSubject, use: Omit<UseSeed, 'counter'>): Promise<void>
}
