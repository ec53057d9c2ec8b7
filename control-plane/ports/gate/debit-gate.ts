import type { AccountId } from '#shared/ids.ts'
import type { MicroUsd } from '#shared/money.ts'

/** The result of a hold for a debit. */
export type DebitHold =
  /** The money is set aside in this epoch of the gate, by this attempt or an earlier one. */
  | { readonly kind: 'held'; readonly epoch: number }
  | { readonly kind: 'insufficient'; readonly availableMicro: MicroUsd }
  /** A hold with this id has existed and ended. The next attempt needs another id. */
  | { readonly kind: 'ended' }
  /** The gate does not know the account yet. */
  | { readonly kind: 'unseeded' }

/**
 * Holds in the gate for debits without a call. Both methods throw `service_unavailable` while the gate is shut or away.
 */
export type DebitGate = {
  hold(debit: {
    readonly id: string
    readonly account: AccountId
    readonly amountMicro: MicroUsd
    readonly ttlMs: number
  }): Promise<DebitHold>
  /** Releases a hold. Does nothing for an ended hold. */
  free(hold: { readonly id: string; readonly account: AccountId }): Promise<void>
}
