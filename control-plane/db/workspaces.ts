import { sql } from 'kysely'
import type { AccountId, OrganizationId, UserId, WorkspaceId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { Role } from './organizations.ts'

/** A workspace with its account on each side of the market. */
export type WorkspaceRow = {
  readonly id: WorkspaceId
  readonly organization: OrganizationId
  readonly name: string
  readonly buyerAccount: AccountId
  readonly sellerAccount: AccountId
  readonly createdAt: Date
}

const COLUMNS = [
  'w.id',
  'w.organization_id as organization',
  'w.name',
  'w.buyer_account as buyerAccount',
  'w.seller_account as sellerAccount',
  'w.created_at as createdAt',
] as const

/** Adds a workspace; its accounts exist already. */
export async function insertWorkspace(trx: Trx, workspace: WorkspaceRow): Promise<void> {
  await trx
    .insertInto('workspace')
    .values({
      id: workspace.id,
      organization_id: workspace.organization,
      name: workspace.name,
      buyer_account: workspace.buyerAccount,
      seller_account: workspace.sellerAccount,
      created_at: workspace.createdAt,
    })
    .execute()
}

export async function updateWorkspaceName(trx: Trx, id: WorkspaceId, name: string): Promise<void> {
  await trx.updateTable('workspace').set({ name }).where('id', '=', id).execute()
}

export async function listWorkspaces(
  db: Database | Trx,
  organization: OrganizationId,
  limit: number,
): Promise<WorkspaceRow[]> {
  return db
    .selectFrom('workspace as w')
    .select(COLUMNS)
    .where('w.organization_id', '=', organization)
    .orderBy('w.id')
    .limit(limit)
    .execute()
}

export async function findWorkspace(
  db: Database | Trx,
  organization: OrganizationId,
  id: string,
): Promise<WorkspaceRow | undefined> {
  return db
    .selectFrom('workspace as w')
    .select(COLUMNS)
    .where('w.organization_id', '=', organization)
    .where(sql<string>`w.id`, '=', id)
    .executeTakeFirst()
}

/** A workspace that a user reaches as a member of its organisation, with his role there. */
export async function findWorkspaceOf(
  db: Database | Trx,
  user: UserId,
  id: string,
): Promise<(WorkspaceRow & { readonly role: Role }) | undefined> {
  return db
    .selectFrom('workspace as w')
    .innerJoin('organization_member as m', 'm.organization_id', 'w.organization_id')
    .select([...COLUMNS, 'm.role'])
    .where('m.user_id', '=', user)
    .where(sql<string>`w.id`, '=', id)
    .executeTakeFirst()
}

export async function countWorkspaces(trx: Trx, organization: OrganizationId): Promise<number> {
  const found = await trx
    .selectFrom('workspace')
    .select(sql<number>`count(*)::int`.as('count'))
    .where('organization_id', '=', organization)
    .executeTakeFirst()
  return found?.count ?? 0
}
