import type { AccountId, KeyId, SessionId, UserId } from '#shared/ids.ts'

/** A wallet acting on one side of the market, through a key of that side or a session. */
type WalletActor<Kind extends 'buyer' | 'seller'> = {
  readonly kind: Kind
  /** Null for a session. */
  readonly keyId: KeyId | null
  readonly user: UserId
  /** The wallet's buyer_credit account for a buyer, its seller_available account for a seller. */
  readonly account: AccountId
  /** Lower-case `0x…`. */
  readonly wallet: string
}
export type BuyerActor = WalletActor<'buyer'>
export type SellerActor = WalletActor<'seller'>

/** A wallet signed in with a browser: both sides of the market, and its organisations. */
export type SessionActor = {
  readonly kind: 'session'
  readonly sessionId: SessionId
  readonly user: UserId
  readonly wallet: string
  readonly buyerAccount: AccountId
  readonly sellerAccount: AccountId
}

/** A management key of an organisation. */
export type OrgActor = { readonly kind: 'org'; readonly keyId: KeyId }

/** An operator: a management key made on the machine, or the machine's own command line and workers. */
export type OperatorActor = { readonly kind: 'operator'; readonly keyId: KeyId | null; readonly source: string }

/** A caller without a credential. */
export type Nobody = { readonly kind: 'nobody' }

/** Who calls an operation. */
export type Actor = Nobody | BuyerActor | SellerActor | SessionActor | OrgActor | OperatorActor

export const NOBODY: Nobody = { kind: 'nobody' }

/** The operator on the machine itself: commands, seeds and workers. `source` says which, for the audit. */
export function machineOperator(source: string): OperatorActor {
  return { kind: 'operator', keyId: null, source }
}

/** A session on one side of the market. */
export function sideOf<Kind extends 'buyer' | 'seller'>(session: SessionActor, kind: Kind): WalletActor<Kind> {
  const { user, wallet, buyerAccount, sellerAccount } = session
  return { kind, keyId: null, user, wallet, account: kind === 'buyer' ? buyerAccount : sellerAccount }
}

/** What an actor is called in audit rows, rate limits and idempotency: the tenant, never a secret. */
export function tenantOf(actor: Actor): string {
  switch (actor.kind) {
    case 'nobody':
      return 'nobody'
    case 'buyer':
    case 'seller':
    case 'session':
      return actor.user
    case 'org':
      return actor.keyId
    case 'operator':
      return actor.keyId ?? `operator:${actor.source}`
  }
}

/** The credential that an actor came with, as limits count it. */
export function credentialOf(actor: Actor): string {
  if (actor.kind === 'session') return actor.sessionId
  return 'keyId' in actor ? (actor.keyId ?? tenantOf(actor)) : 'nobody'
}
