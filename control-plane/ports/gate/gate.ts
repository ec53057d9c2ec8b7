import type { CapUse, UseMark, UseSeed } from '#shared/contract/money-scripts/uses.ts'
import type { CapturedCall } from '#shared/contract/usage-event.ts'
import type { AccountId } from '#shared/ids.ts'
import type { MicroUsd } from '#shared/money.ts'

/** A balance as the ledger has it now, and the call whose posting made it so, if one did. */
export type PostedChange = {
  readonly account: AccountId
  readonly balanceMicro: MicroUsd
  /** Rises with every ledger change of the account; an older one never replaces a newer one. */
  readonly version: bigint
  /** The call, or the end of a job, that was posted: its capture stops counting as unposted. */
  readonly rid?: string
  /** Unix milliseconds of its posting; absent where another event than the gate's was booked. */
  readonly postedAt?: number
  /** The key that made it, for what its caps have used. */
  readonly keyId?: string | null
}

/** The request ids of calls that had been posted before the gate heard of their capture in this epoch. */
export type PostedBefore = ReadonlySet<string>

/** A key whose spending is counted, and the account it spends of. */
export type CountedKey = { readonly keyId: string; readonly account: AccountId }

/** An account as the gate has it; spendable is posted − held − unposted. */
export type GateBalance = {
  readonly postedMicro: MicroUsd
  readonly heldMicro: MicroUsd
  readonly unpostedMicro: MicroUsd
  /** Of the posted balance. */
  readonly version: bigint
}

/**
 * What the control plane asks of the spending gate in Redis. Everything throws AppError `service_unavailable` while
 * Redis is away or being rebuilt; all writes may be repeated, so callers try again from their own rows.
 */
export type Gate = {
  /** Whether paid calls may be admitted: false while the gate is being rebuilt or out of reach. Never throws. */
  isOpen(): Promise<boolean>
  /** Tells the gate of posted changes. Repeated and out-of-order calls are harmless. */
  ack(changes: readonly PostedChange[]): Promise<PostedBefore>
  /** Takes off the caps of offers what was counted for calls that the ledger's figures had already. */
  uncount(uses: readonly CapUse[]): Promise<void>
  /** Tells the gate of balances that no call changed: the same without a request id. */
  seed(balances: readonly Omit<PostedChange, 'rid' | 'postedAt'>[]): Promise<unknown>
  /** The account's figures, or undefined while it is not seeded. */
  spendable(account: AccountId): Promise<GateBalance | undefined>
  /** Usage events of captures that have waited longer than `olderThanMs` for their posting, oldest first. */
  unposted(olderThanMs: number, limit: number): Promise<string[]>
  /** Usage events of those of these calls that are captured and not posted. */
  captured(calls: readonly CapturedCall[]): Promise<string[]>
  /** Gives back holds past their deadline, at most `limit`; answers how many. */
  expireHolds(limit: number): Promise<number>
  /**
   * Says that the seed of a key's counter will have what is posted before an instant to come; answers the instant that
   * counts, which may be an earlier one. Undefined when the counter has its seed in this epoch.
   */
  markKeyUse(key: CountedKey, postedBefore: number): Promise<UseMark | undefined>
  /** Adds the ledger's figures to a marked counter; again changes nothing. */
  seedKeyUse(key: CountedKey, use: Omit<UseSeed, 'counter'>): Promise<void>
}
