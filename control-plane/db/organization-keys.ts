import { sql } from 'kysely'
import type { KeyId, OrganizationId, UserId, WorkspaceId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { boolean, id, integer, nullable } from './tables/column.ts'
import { KEY_TABLES } from './tables/keys.ts'

/** A management key of an organisation, or a member's key for one of its workspaces. */
const ORGANIZATION_KEY_ROW = {
  id: id('key'),
  type: KEY_TABLES.api_key.type,
  keyPrefix: KEY_TABLES.api_key.key_prefix,
  label: KEY_TABLES.api_key.label,
  /** Set for a management key. */
  role: KEY_TABLES.api_key.organization_role,
  /** The member who made it; null for an operator. */
  madeBy: nullable(id('usr')),
  workspace: KEY_TABLES.api_key.workspace_id,
  createdAt: KEY_TABLES.api_key.created_at,
  lastUsedAt: KEY_TABLES.api_key.last_used_at,
  expiresAt: KEY_TABLES.api_key.expires_at,
  revokedAt: KEY_TABLES.api_key.revoked_at,
}
export type OrganizationKeyRow = RowOf<typeof ORGANIZATION_KEY_ROW>

const COLUMNS = sql`k.id, k.type, k.key_prefix as "keyPrefix", k.label, k.organization_role as role,
  coalesce(k.user_id, k.made_by) as "madeBy", k.workspace_id as workspace, k.created_at as "createdAt",
  k.last_used_at as "lastUsedAt", k.expires_at as "expiresAt", k.revoked_at as "revokedAt"`

/** The keys to read: the management keys of an organisation, or the members' keys for a workspace. */
export type KeyHolder = { readonly organization: OrganizationId } | { readonly workspace: WorkspaceId }

function heldBy(holder: KeyHolder) {
  return 'workspace' in holder
    ? sql`k.workspace_id = ${holder.workspace}`
    : sql`k.organization_id = ${holder.organization}`
}

/** Keys of a holder, newest first, before an id. */
export async function listOrganizationKeys(
  db: Database | Trx,
  holder: KeyHolder,
  { before, limit }: { readonly before: string | undefined; readonly limit: number },
): Promise<OrganizationKeyRow[]> {
  const older = before === undefined ? sql`` : sql`and k.id < ${before}`
  const rows = await readRows(
    db,
    ORGANIZATION_KEY_ROW,
    sql`select ${COLUMNS} from api_key k where ${heldBy(holder)} ${older}
    order by k.id desc limit ${limit}`,
  )
  return rows
}

export async function findOrganizationKey(
  db: Database | Trx,
  holder: KeyHolder,
  id: string,
): Promise<OrganizationKeyRow | undefined> {
  const rows = await readRows(
    db,
    ORGANIZATION_KEY_ROW,
    sql`select ${COLUMNS} from api_key k
    where ${heldBy(holder)} and k.id = ${id}`,
  )
  return rows[0]
}

/** Counts management keys that are neither revoked nor expired. `now` is Unix milliseconds. */
export async function countManagementKeys(trx: Trx, organization: OrganizationId, now: number): Promise<number> {
  const rows = await readRows(
    trx,
    { count: integer() },
    sql`select count(*)::int as count from api_key
    where organization_id = ${organization} and revoked_at is null
      and (expires_at is null or expires_at > ${new Date(now)})`,
  )
  return rows[0]?.count ?? 0
}

type Made = {
  readonly organization: OrganizationId
  readonly user: UserId
  /** The kinds of the member's keys to revoke. */
  readonly kinds: readonly ('management' | 'workspace')[]
  readonly at: number
}

/**
 * Revokes the keys of these kinds that a member made in an organisation. Returns the wallet keys among them, whose
 * records have to be published.
 */
export async function updateMadeKeysRevoked(trx: Trx, { organization, user, kinds, at }: Made): Promise<KeyId[]> {
  const management = kinds.includes('management')
    ? sql`(k.organization_id = ${organization} and k.made_by = ${user})`
    : sql`false`
  const workspace = kinds.includes('workspace')
    ? sql`(k.user_id = ${user} and k.workspace_id in (select id from workspace where organization_id = ${organization}))`
    : sql`false`
  const rows = await readRows(
    trx,
    { id: KEY_TABLES.api_key.id, isPublished: boolean() },
    sql`update api_key k set revoked_at = ${new Date(at)}
    where k.revoked_at is null and (${management} or ${workspace})
    returning k.id, k.user_id is not null as "isPublished"`,
  )
  return rows.filter(({ isPublished }) => isPublished).map(({ id }) => id)
}
