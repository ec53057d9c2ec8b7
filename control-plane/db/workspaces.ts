import { sql } from 'kysely'
import type { AccountId, OrganizationId, UserId, WorkspaceId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { bigint, integer } from './tables/column.ts'
import type { Role } from './tables/organizations.ts'

/** A workspace with its account on each side of the market. */
export type WorkspaceRow = {
  readonly id: WorkspaceId
  readonly organization: OrganizationId
  readonly name: string
  readonly buyerAccount: AccountId
  readonly sellerAccount: AccountId
  readonly createdAt: Date
  readonly closedAt: Date | null
}

const COLUMNS = [
  'w.id',
  'w.organization_id as organization',
  'w.name',
  'w.buyer_account as buyerAccount',
  'w.seller_account as sellerAccount',
  'w.created_at as createdAt',
  'w.closed_at as closedAt',
] as const

/** Adds a workspace. Its accounts exist already. */
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
      closed_at: workspace.closedAt,
    })
    .execute()
}

export async function updateWorkspaceName(trx: Trx, id: WorkspaceId, name: string): Promise<void> {
  await trx.updateTable('workspace').set({ name }).where('id', '=', id).execute()
}

/** Workspaces of an organisation: open ones first, then by age, oldest first. */
export async function listWorkspaces(
  db: Database | Trx,
  organization: OrganizationId,
  limit: number,
): Promise<WorkspaceRow[]> {
  return db
    .selectFrom('workspace as w')
    .select(COLUMNS)
    .where('w.organization_id', '=', organization)
    .orderBy(sql`w.closed_at is not null`)
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

/** Finds a workspace that a user may use as a member of its organisation, with the user's role there. */
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

/** The open workspaces of the organisations that a user belongs to, by the names of both. */
export async function listWorkspacesOf(
  db: Database,
  user: UserId,
  limit: number,
): Promise<(WorkspaceRow & { readonly role: Role; readonly organizationName: string })[]> {
  return db
    .selectFrom('workspace as w')
    .innerJoin('organization_member as m', 'm.organization_id', 'w.organization_id')
    .innerJoin('organization as o', 'o.id', 'w.organization_id')
    .select([...COLUMNS, 'm.role', 'o.name as organizationName'])
    .where('m.user_id', '=', user)
    .where('w.closed_at', 'is', null)
    .orderBy('o.name')
    .orderBy('w.name')
    .limit(limit)
    .execute()
}

/** Counts the open workspaces of an organisation. */
export async function countWorkspaces(trx: Trx, organization: OrganizationId): Promise<number> {
  const rows = await readRows(
    trx,
    { count: integer() },
    sql`select count(*)::int as count from workspace where organization_id = ${organization} and closed_at is null`,
  )
  return rows[0]?.count ?? 0
}

/**
 * The records that block the closing of a workspace: offers that are not inactive, working keys, and money in
 * micro-USD.
 */
const WORKSPACE_USE_ROW = {
  offers: integer(),
  keys: integer(),
  balanceMicro: bigint(),
}
export type WorkspaceUse = RowOf<typeof WORKSPACE_USE_ROW>

/** Locks a workspace, so that no activity begins in it until the transaction ends. Returns its present use. */
export async function lockWorkspaceUse(trx: Trx, workspace: WorkspaceRow, now: number): Promise<WorkspaceUse> {
  await trx.selectFrom('workspace').select('id').where('id', '=', workspace.id).forUpdate().executeTakeFirst()
  const { id, buyerAccount, sellerAccount } = workspace
  const rows = await readRows(
    trx,
    WORKSPACE_USE_ROW,
    sql`select
    (select count(*)::int from every_offer where seller_account = ${sellerAccount} and is_listed) as offers,
    (select count(*)::int from api_key where workspace_id = ${id} and revoked_at is null
      and (expires_at is null or expires_at > ${new Date(now)})) as keys,
    (select coalesce(sum(balance), 0)::bigint from account where id in (${buyerAccount}, ${sellerAccount}))
      as "balanceMicro"`,
  )
  const [use] = rows
  if (use === undefined) throw new Error('a query without a table gave no row')
  return use
}

export async function updateWorkspaceClosed(trx: Trx, id: WorkspaceId, at: Date): Promise<void> {
  await trx.updateTable('workspace').set({ closed_at: at }).where('id', '=', id).execute()
}
