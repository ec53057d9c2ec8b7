import type { ManagementRole } from '#control-plane/db/tables/organizations.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId, KeyId, OrganizationId, SessionId, UserId, WorkspaceId } from '#shared/ids.ts'

/** A user that acts on one side of the market, through a key of that side or a session. */
type UserActor<Kind extends 'buyer' | 'seller'> = {
  readonly kind: Kind
  /** Null for a session. */
  readonly keyId: KeyId | null
  readonly user: UserId
  /** The user's buyer_credit account for a buyer, its seller_available account for a seller. */
  readonly account: AccountId
  /** Lower-case `0x…`. Null until a wallet is linked. */
  readonly wallet: string | null
  /** The workspace whose account replaces the user's own. */
  readonly workspace?: ActorWorkspace | undefined
  /** True for a key with a cap or a list of models. Such a key may spend, but may not change its own limits. */
  readonly isBounded?: boolean
  readonly keySession?: KeySession
  /** The session of a browser that is signed in as the user. */
  readonly session?: SessionId
}

/** The session of a browser that is signed in with the actor's key. Absent when the call carries the key itself. */
type KeySession = SessionId | undefined

/** A workspace of an organisation in which a member acts. */
export type ActorWorkspace = {
  readonly id: WorkspaceId
  readonly organization: OrganizationId
  /** True in a closed workspace, and for a member whose role only allows reading. */
  readonly isReadOnly: boolean
}
export type BuyerActor = UserActor<'buyer'>
export type SellerActor = UserActor<'seller'>

/** A user signed in with a browser. It may act on both sides of the market and for its organisations. */
export type SessionActor = {
  readonly kind: 'session'
  readonly sessionId: SessionId
  /** Unix milliseconds. */
  readonly signedInAt: number
  readonly user: UserId
  readonly wallet: string | null
  readonly buyerAccount: AccountId
  readonly sellerAccount: AccountId
  readonly workspace?: ActorWorkspace | undefined
}

/** A management key of an organisation. */
export type OrgActor = {
  readonly kind: 'org'
  readonly keyId: KeyId
  readonly organization: OrganizationId
  readonly role: ManagementRole
  readonly keySession?: KeySession
}

/** An operator: a management key made on the machine, or the machine's own command line and workers. */
export type OperatorActor = {
  readonly kind: 'operator'
  readonly keyId: KeyId | null
  readonly source: string
  readonly keySession?: KeySession
}

/** A caller without a credential. */
export type Nobody = { readonly kind: 'nobody' }

/** The caller of an operation. */
export type Actor = Nobody | BuyerActor | SellerActor | SessionActor | OrgActor | OperatorActor

export const NOBODY: Nobody = { kind: 'nobody' }

/** The operator on the machine itself: commands, seeds and workers. `source` names which one for the audit. */
export function machineOperator(source: string): OperatorActor {
  return { kind: 'operator', keyId: null, source }
}

/** The wallet of an actor. Throws `wallet_required` for a user without one. */
export function walletOfActor({ wallet }: { readonly wallet: string | null }): string {
  if (wallet === null) throw new AppError('wallet_required')
  return wallet
}

/** Narrows a session to one side of the market. */
export function sideOf<Kind extends 'buyer' | 'seller'>(session: SessionActor, kind: Kind): UserActor<Kind> {
  const { user, wallet, buyerAccount, sellerAccount, workspace, sessionId } = session
  const account = kind === 'buyer' ? buyerAccount : sellerAccount
  return { kind, keyId: null, user, wallet, account, workspace, session: sessionId }
}

/**
 * The owner of the keys that an actor may see and change: its user, its side, and its workspace if it acts in one.
 */
export function keyOwnerOf<Kind extends 'buyer' | 'seller'>({ user, kind, workspace }: UserActor<Kind>) {
  return { user, type: kind, workspace: workspace?.id ?? null }
}

/** The actor's name in audit rows: the user behind it, never a secret. */
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

/** The scope of an idempotency key. One key has one meaning in each workspace. */
export function scopeOf(actor: Actor): string {
  const workspace = 'workspace' in actor ? actor.workspace : undefined
  return workspace === undefined ? tenantOf(actor) : `${tenantOf(actor)}:${workspace.id}`
}

/** The credential that the actor used, as the rate limits count it. */
export function credentialOf(actor: Actor): string {
  if (actor.kind === 'session') return actor.sessionId
  return 'keyId' in actor ? (actor.keyId ?? tenantOf(actor)) : 'nobody'
}
