import type { AccountId, KeyId, UserId } from '#shared/ids.ts'

/** A wallet acting through one of its keys, on the side that the key is for. */
type WalletActor<Kind extends 'buyer' | 'seller'> = {
  readonly kind: Kind
  readonly keyId: KeyId
  readonly user: UserId
  /** The wallet's buyer_credit account for a buyer, its seller_available account for a seller. */
  readonly account: AccountId
  /** Lower-case `0x…`. */
  readonly wallet: string
}
export type BuyerActor = WalletActor<'buyer'>
export type SellerActor = WalletActor<'seller'>

/** A management key of an organisation. */
export type OrgActor = { readonly kind: 'org'; readonly keyId: KeyId }

/** An operator: a management key made on the machine, or the machine's own command line and workers. */
export type OperatorActor = { readonly kind: 'operator'; readonly keyId: KeyId | null; readonly source: string }

/** A caller without a credential. */
export type Nobody = { readonly kind: 'nobody' }

/** Who calls an operation. */
export type Actor = Nobody | BuyerActor | SellerActor | OrgActor | OperatorActor

export const NOBODY: Nobody = { kind: 'nobody' }

/** The operator on the machine itself: commands, seeds and workers. `source` says which, for the audit. */
export function machineOperator(source: string): OperatorActor {
  return { kind: 'operator', keyId: null, source }
}

/** What an actor is called in audit rows, rate limits and idempotency: the tenant, never a secret. */
export function tenantOf(actor: Actor): string {
  switch (actor.kind) {
    case 'nobody':
      return 'nobody'
    case 'buyer':
    case 'seller':
      return actor.user
    case 'org':
      return actor.keyId
    case 'operator':
      return actor.keyId ?? `operator:${actor.source}`
  }
}
