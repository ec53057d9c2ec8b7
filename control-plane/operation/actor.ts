import type { ManagementRole } from '#control-plane/db/tables/organizations.ts'
import type { AccountId, KeyId, OrganizationId, SessionId, UserId, WorkspaceId } from '#shared/ids.ts'

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
  /** The workspace whose account takes the place of the wallet's own. */
  readonly workspace?: ActorWorkspace | undefined
  /** True for a key with a cap or a list of models: it spends, and changes nothing that outlasts its bounds. */
  readonly isBounded?: boolean
}

/** A workspace that a member of its organisation acts in. */
export type ActorWorkspace = {
  readonly id: WorkspaceId
  readonly organization: OrganizationId
  /** True for a member whose role lets him look only, and in a closed workspace. */
  readonly isReadOnly: boolean
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
  readonly workspace?: ActorWorkspace | undefined
}

/** A management key of an organisation. */
export type OrgActor = {
  readonly kind: 'org'
  readonly keyId: KeyId
  readonly organization: OrganizationId
  readonly role: ManagementRole
}

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
  const { user, wallet, buyerAccount, sellerAccount, workspace } = session
  return { kind, keyId: null, user, wallet, account: kind === 'buyer' ? buyerAccount : sellerAccount, workspace }
}

/** Whose keys an actor may see and change: those of his wallet on his side, in the workspace that he acts in. */
export function keyOwnerOf<Kind extends 'buyer' | 'seller'>({ user, kind, workspace }: WalletActor<Kind>) {
  return { user, type: kind, workspace: workspace?.id ?? null }
}

/** What an actor is called in audit rows: the user behind it, never a secret. */
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

/** Whose an idempotency key is: one key means one thing in each workspace. */
export function scopeOf(actor: Actor): string {
  const workspace = 'workspace' in actor ? actor.workspace : undefined
  return workspace === undefined ? tenantOf(actor) : `${tenantOf(actor)}:${workspace.id}`
}

/** The credential that an actor came with, as limits count it. */
export function credentialOf(actor: Actor): string {
  if (actor.kind === 'session') return actor.sessionId
  return 'keyId' in actor ? (actor.keyId ?? tenantOf(actor)) : 'nobody'
}
