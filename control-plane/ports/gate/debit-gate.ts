import type { AccountId } from '#shared/ids.ts'
import type { MicroUsd } from '#shared/money.ts'

/** The result of setting money aside for a debit. */
export type DebitHold =
  /** The money is set aside in this epoch of the gate, by this try or an earlier one. */
  | { readonly kind: 'held'; readonly epoch: number }
  | { readonly kind: 'insufficient'; readonly availableMicro: MicroUsd }
  /** A hold with this id existed and has ended. The next try needs another id. */
  | { readonly kind: 'ended' }
  /** The gate does not know the account yet. */
  | { readonly kind: 'unseeded' }

/**
 * Holds in the gate for debits that no call made. Both methods throw `service_unavailable` while the gate is shut or
 * away.
 */
export type DebitGate = {
  hold(debit: {
    readonly id: string
    readonly account: AccountId
    readonly amountMicro: MicroUsd
    readonly ttlMs: number
  }): Promise<DebitHold>
  /** Releases a hold. Does nothing for one that has ended. */
  free(hold: { readonly id: string; readonly account: AccountId }): Promise<void>
}
