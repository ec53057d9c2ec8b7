import type { Database, Trx } from '#control-plane/db/database.ts'
import { findMember, lockOrganization } from '#control-plane/db/organizations.ts'
import type { Role } from '#control-plane/db/tables/organizations.ts'
import { ROLES } from '#control-plane/db/tables/organizations.ts'
import type { OrgActor, SessionActor } from '#control-plane/operation/actor.ts'
import { tenantOf } from '#control-plane/operation/actor.ts'
import { AppError } from '#shared/errors.ts'
import type { OrganizationId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'

/** The rights in an organisation. */
export type Right =
  | 'organization.read'
  | 'organization.change'
  | 'people.change'
  | 'workspace.change'
  | 'workspace.use'
  | 'management-key.change'
  | 'audit.read'

/** The roles that have each right. */
export const RIGHTS: { readonly [Key in Right]: readonly Role[] } = {
  'organization.read': ROLES,
  'organization.change': ['owner', 'admin'],
  'people.change': ['owner', 'admin'],
  'workspace.change': ['owner', 'admin'],
  // Covers keys of workspaces, and every change by sellers and buyers in a workspace. Every role may read.
  'workspace.use': ['owner', 'admin', 'developer'],
  'management-key.change': ['owner', 'admin'],
  'audit.read': ['owner', 'admin', 'billing'],
}

/** An actor's role in an organisation. */
export type OrganizationRole = {
  readonly organization: OrganizationId
  readonly role: Role
  /** The user, or the id of the management key. */
  readonly by: string
}

/**
 * Returns the actor's role in an organisation. Throws `not_found` for an organisation that does not exist or that the
 * actor does not belong to, and `forbidden` when the role lacks the right.
 */
export async function requireRight(
  db: Database | Trx,
  actor: SessionActor | OrgActor,
  id: string,
  right: Right,
): Promise<OrganizationRole> {
  if (!isId('org', id)) throw new AppError('not_found')
  const role = actor.kind === 'org' ? roleOfKey(actor, id) : (await findMember(db, id, actor.user))?.role
  if (role === undefined) throw new AppError('not_found')
  if (!RIGHTS[right].includes(role)) {
    throw new AppError('forbidden', {
      message: 'Your role in this organisation does not allow that.',
      detail: { role },
    })
  }
  return { organization: id, role, by: tenantOf(actor) }
}

/**
 * As {@link requireRight}, with the organisation locked: no other change takes the right away before this one commits.
 */
export async function lockWithRight(
  trx: Trx,
  actor: SessionActor | OrgActor,
  id: string,
  right: Right,
): Promise<OrganizationRole> {
  if (isId('org', id)) await lockOrganization(trx, id)
  return requireRight(trx, actor, id, right)
}

function roleOfKey(actor: OrgActor, id: OrganizationId): Role | undefined {
  return actor.organization === id ? actor.role : undefined
}

/** Throws `forbidden` when an actor without the role of owner grants or changes that role. */
export function requireOver(place: OrganizationRole, ...roles: readonly Role[]): void {
  if (place.role !== 'owner' && roles.includes('owner')) {
    throw new AppError('forbidden', { message: 'Only an owner can change owners.', detail: { role: place.role } })
  }
}
