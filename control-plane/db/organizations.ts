import { sql } from 'kysely'
import type { OrganizationId, UserId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import { readRows } from './rows.ts'
import { integer } from './tables/column.ts'
import type { Role } from './tables/organizations.ts'

export type OrganizationRow = { readonly id: OrganizationId; readonly name: string; readonly createdAt: Date }
export type MemberRow = {
  readonly user: UserId
  readonly wallet: string | null
  readonly role: Role
  readonly createdAt: Date
}

/** Adds an organisation. `at` is Unix milliseconds. */
export async function insertOrganization(
  trx: Database | Trx,
  { id, name, at }: { readonly id: OrganizationId; readonly name: string; readonly at: number },
): Promise<void> {
  await trx
    .insertInto('organization')
    .values({ id, name, created_at: new Date(at) })
    .execute()
}

/**
 * Locks an organisation, so that one change to its members and keys runs at a time. Returns undefined when it does not
 * exist.
 */
export async function lockOrganization(trx: Trx, id: OrganizationId): Promise<OrganizationRow | undefined> {
  return trx
    .selectFrom('organization')
    .select(['id', 'name', 'created_at as createdAt'])
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
}

export async function findOrganization(db: Database | Trx, id: OrganizationId): Promise<OrganizationRow | undefined> {
  return db
    .selectFrom('organization')
    .select(['id', 'name', 'created_at as createdAt'])
    .where('id', '=', id)
    .executeTakeFirst()
}

export async function updateOrganizationName(trx: Trx, id: OrganizationId, name: string): Promise<void> {
  await trx.updateTable('organization').set({ name }).where('id', '=', id).execute()
}

/** The organisations of a user with the user's role in each, by id. */
export async function listOrganizationsOf(
  db: Database | Trx,
  user: UserId,
  limit: number,
): Promise<(OrganizationRow & { readonly role: Role })[]> {
  return db
    .selectFrom('organization_member as m')
    .innerJoin('organization as o', 'o.id', 'm.organization_id')
    .select(['o.id', 'o.name', 'o.created_at as createdAt', 'm.role'])
    .where('m.user_id', '=', user)
    .orderBy('o.id')
    .limit(limit)
    .execute()
}

type NewMember = {
  readonly organization: OrganizationId
  readonly user: UserId
  readonly role: Role
  readonly at: number
}

/** Adds a member, or changes the role of an existing one. */
export async function upsertMember(trx: Trx, { organization, user, role, at }: NewMember): Promise<void> {
  await trx
    .insertInto('organization_member')
    .values({ organization_id: organization, user_id: user, role, created_at: new Date(at) })
    .onConflict((conflict) => conflict.columns(['organization_id', 'user_id']).doUpdateSet({ role }))
    .execute()
}

/** Members in the order in which they joined. */
export async function listMembers(
  db: Database | Trx,
  organization: OrganizationId,
  limit: number,
): Promise<MemberRow[]> {
  return db
    .selectFrom('organization_member as m')
    .innerJoin('app_user as u', 'u.id', 'm.user_id')
    .select(['u.id as user', 'u.wallet', 'm.role', 'm.created_at as createdAt'])
    .where('m.organization_id', '=', organization)
    .orderBy('m.created_at')
    .orderBy('m.user_id')
    .limit(limit)
    .execute()
}

export async function findMember(
  db: Database | Trx,
  organization: OrganizationId,
  user: string,
): Promise<MemberRow | undefined> {
  return db
    .selectFrom('organization_member as m')
    .innerJoin('app_user as u', 'u.id', 'm.user_id')
    .select(['u.id as user', 'u.wallet', 'm.role', 'm.created_at as createdAt'])
    .where('m.organization_id', '=', organization)
    .where(sql<string>`m.user_id`, '=', user)
    .executeTakeFirst()
}

export async function deleteMember(trx: Trx, organization: OrganizationId, user: UserId): Promise<void> {
  await trx
    .deleteFrom('organization_member')
    .where('organization_id', '=', organization)
    .where('user_id', '=', user)
    .execute()
}

/** Counts the members, or those with a role. */
export async function countMembers(trx: Trx, organization: OrganizationId, role?: Role): Promise<number> {
  const ofRole = role === undefined ? sql`` : sql`and role = ${role}`
  const rows = await readRows(
    trx,
    { count: integer() },
    sql`select count(*)::int as count from organization_member where organization_id = ${organization} ${ofRole}`,
  )
  return rows[0]?.count ?? 0
}
