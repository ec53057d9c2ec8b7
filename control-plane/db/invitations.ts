import { sql } from 'kysely'
import type { InvitationId, OrganizationId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import type { Role } from './tables/organizations.ts'
import { ORGANIZATION_TABLES } from './tables/organizations.ts'

/** An invitation that its wallet has not answered. */
const INVITATION_ROW = {
  id: ORGANIZATION_TABLES.organization_invitation.id,
  organization: ORGANIZATION_TABLES.organization_invitation.organization_id,
  organizationName: ORGANIZATION_TABLES.organization.name,
  wallet: ORGANIZATION_TABLES.organization_invitation.wallet,
  role: ORGANIZATION_TABLES.organization_invitation.role,
  invitedBy: ORGANIZATION_TABLES.organization_invitation.invited_by,
  createdAt: ORGANIZATION_TABLES.organization_invitation.created_at,
  expiresAt: ORGANIZATION_TABLES.organization_invitation.expires_at,
}
export type InvitationRow = RowOf<typeof INVITATION_ROW>

export type NewInvitation = {
  readonly id: InvitationId
  readonly organization: OrganizationId
  readonly wallet: string
  readonly role: Role
  readonly invitedBy: string
  readonly createdAt: number
  readonly expiresAt: number
}

/** Adds an invitation. Times are Unix milliseconds. */
export async function insertInvitation(trx: Trx, invitation: NewInvitation): Promise<void> {
  await trx
    .insertInto('organization_invitation')
    .values({
      id: invitation.id,
      organization_id: invitation.organization,
      wallet: invitation.wallet,
      role: invitation.role,
      invited_by: invitation.invitedBy,
      created_at: new Date(invitation.createdAt),
      expires_at: new Date(invitation.expiresAt),
      answered_at: null,
      answer: null,
    })
    .execute()
}

type Whose = { readonly organization: OrganizationId } | { readonly wallet: string }

/**
 * Open invitations of an organisation or for a wallet, newest first, without expired ones. `now` is Unix milliseconds.
 */
export async function listInvitations(
  db: Database | Trx,
  whose: Whose,
  { now, limit }: { readonly now: number; readonly limit: number },
): Promise<InvitationRow[]> {
  const mine = 'wallet' in whose ? sql`i.wallet = ${whose.wallet}` : sql`i.organization_id = ${whose.organization}`
  const rows = await readRows(
    db,
    INVITATION_ROW,
    sql`select i.id, i.organization_id as organization,
      o.name as "organizationName", i.wallet, i.role, i.invited_by as "invitedBy", i.created_at as "createdAt",
      i.expires_at as "expiresAt"
    from organization_invitation i join organization o on o.id = i.organization_id
    where ${mine} and i.answered_at is null and i.expires_at > ${new Date(now)}
    order by i.id desc limit ${limit}`,
  )
  return rows
}

type Answered = { readonly answer: 'accepted' | 'declined' | 'withdrawn'; readonly at: number }

/**
 * Records an answer to an open invitation, found by its id or by organisation and wallet. `at` is Unix milliseconds.
 */
export async function updateInvitationAnswered(
  trx: Trx,
  which: { readonly id: InvitationId } | { readonly organization: OrganizationId; readonly wallet: string },
  { answer, at }: Answered,
): Promise<boolean> {
  const open = trx
    .updateTable('organization_invitation')
    .set({ answer, answered_at: new Date(at) })
    .where('answered_at', 'is', null)
  const chosen =
    'id' in which
      ? open.where('id', '=', which.id)
      : open.where('organization_id', '=', which.organization).where('wallet', '=', which.wallet)
  const { numUpdatedRows } = await chosen.executeTakeFirst()
  return numUpdatedRows > 0n
}
