import type { AccountId } from '#shared/ids.ts'
import type { MicroUsd } from '#shared/money.ts'

/** What came of setting money aside for a debit. */
export type DebitHold =
  /** It is set aside in this epoch of the gate, now or since an earlier try. */
  | { readonly kind: 'held'; readonly epoch: number }
  | { readonly kind: 'insufficient'; readonly availableMicro: MicroUsd }
  /** A hold with this id was there and has ended: the next try needs another id. */
  | { readonly kind: 'ended' }
  /** The gate does not know the account yet. */
  | { readonly kind: 'unseeded' }

/** Holds in the gate for debits that no call made. Both throw `service_unavailable` while the gate is shut or away. */
export type DebitGate = {
  hold(wish: {
    readonly id: string
    readonly account: AccountId
    readonly amountMicro: MicroUsd
    readonly ttlMs: number
  }): Promise<DebitHold>
  /** Gives a hold back; one that has ended is left alone. */
  free(hold: { readonly id: string; readonly account: AccountId }): Promise<void>
}
