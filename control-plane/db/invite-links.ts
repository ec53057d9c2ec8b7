import { sql } from 'kysely'
import type { InviteLinkId, OrganizationId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import type { ManagementRole, Role } from './tables/organizations.ts'
import { ORGANIZATION_TABLES } from './tables/organizations.ts'

/** An invite link that still works. */
const INVITE_LINK_ROW = {
  id: ORGANIZATION_TABLES.invite_link.id,
  organization: ORGANIZATION_TABLES.invite_link.organization_id,
  organizationName: ORGANIZATION_TABLES.organization.name,
  role: ORGANIZATION_TABLES.invite_link.role,
  invitedBy: ORGANIZATION_TABLES.invite_link.created_by,
  createdAt: ORGANIZATION_TABLES.invite_link.created_at,
  expiresAt: ORGANIZATION_TABLES.invite_link.expires_at,
  maxUses: ORGANIZATION_TABLES.invite_link.max_uses,
  uses: ORGANIZATION_TABLES.invite_link.uses,
}
export type InviteLinkRow = RowOf<typeof INVITE_LINK_ROW>

export type NewInviteLink = {
  readonly id: InviteLinkId
  readonly organization: OrganizationId
  readonly hash: string
  readonly role: ManagementRole
  readonly invitedBy: string
  readonly maxUses: number
  readonly createdAt: number
  readonly expiresAt: number
}

/** Adds an invite link. Times are Unix milliseconds. */
export async function insertInviteLink(trx: Trx, link: NewInviteLink): Promise<void> {
  await trx
    .insertInto('invite_link')
    .values({
      id: link.id,
      organization_id: link.organization,
      hash: link.hash,
      role: link.role,
      created_by: link.invitedBy,
      created_at: new Date(link.createdAt),
      expires_at: new Date(link.expiresAt),
      max_uses: link.maxUses,
      uses: 0,
      revoked_at: null,
    })
    .execute()
}

type Which = { readonly organization: OrganizationId } | { readonly hash: string }

type OpenTerms = {
  /** Unix milliseconds. */
  readonly now: number
  /** The roles that may invite. A link ends when its maker has none of them any more. */
  readonly inviters: readonly Role[]
  readonly limit: number
}

/**
 * The links of an organisation or with a hash that still work, newest first: not revoked, expired or used up, and made
 * by a member or a management key that may still invite.
 */
export async function listOpenInviteLinks(
  db: Database | Trx,
  which: Which,
  { now, inviters, limit }: OpenTerms,
): Promise<InviteLinkRow[]> {
  const chosen = 'hash' in which ? sql`l.hash = ${which.hash}` : sql`l.organization_id = ${which.organization}`
  const at = new Date(now)
  const roles = sql.join(inviters)
  return readRows(
    db,
    INVITE_LINK_ROW,
    sql`select l.id, l.organization_id as organization, o.name as "organizationName", l.role,
      l.created_by as "invitedBy", l.created_at as "createdAt", l.expires_at as "expiresAt",
      l.max_uses as "maxUses", l.uses
    from invite_link l join organization o on o.id = l.organization_id
    where ${chosen} and l.revoked_at is null and l.uses < l.max_uses and l.expires_at > ${at}
      and (exists (select 1 from organization_member m where m.organization_id = l.organization_id
          and m.user_id = l.created_by and m.role in (${roles}))
        or exists (select 1 from api_key k where k.id = l.created_by and k.organization_id = l.organization_id
          and k.organization_role in (${roles}) and k.revoked_at is null
          and (k.expires_at is null or k.expires_at > ${at})))
    order by l.id desc limit ${limit}`,
  )
}

/** Counts a member who joined by a link. The table refuses a use beyond the last one. */
export async function updateInviteLinkUsed(trx: Trx, id: InviteLinkId): Promise<void> {
  await trx
    .updateTable('invite_link')
    .set((eb) => ({ uses: eb('uses', '+', 1) }))
    .where('id', '=', id)
    .execute()
}

/** Ends a link. `at` is Unix milliseconds. */
export async function updateInviteLinkRevoked(trx: Trx, id: InviteLinkId, at: number): Promise<void> {
  await trx
    .updateTable('invite_link')
    .set({ revoked_at: new Date(at) })
    .where('id', '=', id)
    .execute()
}
