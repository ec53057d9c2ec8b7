import type { RawBuilder } from 'kysely'
import { sql } from 'kysely'
import type { KeyType } from '#shared/api-key.ts'
import type { KeyId, OrganizationId, UserId, WorkspaceId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { KeyTerms } from './key-terms.ts'
import { SELECT_TERMS, STORED_TERMS_ROW, termColumns } from './key-terms.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { ACCOUNT_TABLES } from './tables/accounts.ts'
import { boolean, id, integer, nullable, timestamp } from './tables/column.ts'
import { KEY_TABLES } from './tables/keys.ts'
import type { ManagementRole } from './tables/organizations.ts'
import { ORGANIZATION_TABLES } from './tables/organizations.ts'

/** A key as its owner sees it. */
const KEY_ROW = {
  ...STORED_TERMS_ROW,
  id: id('key'),
  keyPrefix: KEY_TABLES.api_key.key_prefix,
  label: KEY_TABLES.api_key.label,
  createdAt: KEY_TABLES.api_key.created_at,
  lastUsedAt: KEY_TABLES.api_key.last_used_at,
  expiresAt: nullable(timestamp()),
  revokedAt: KEY_TABLES.api_key.revoked_at,
  frozenAt: KEY_TABLES.api_key.frozen_at,
  isPlayground: boolean(),
}
export type KeyRow = RowOf<typeof KEY_ROW>

const OWNER_COLUMNS = sql`id, key_prefix as "keyPrefix", label, created_at as "createdAt",
  last_used_at as "lastUsedAt", expires_at as "expiresAt", revoked_at as "revokedAt",
  frozen_at as "frozenAt", is_playground as "isPlayground", ${SELECT_TERMS}`

export type NewKey = {
  readonly id: KeyId
  readonly type: KeyType
  readonly scope: 'org' | 'operator' | null
  readonly user: UserId | null
  readonly hash: string
  readonly keyPrefix: string
  readonly label: string
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly terms: KeyTerms
  /** Set for a key that uses a workspace's accounts. */
  readonly workspace?: WorkspaceId | null
  /** True for the key that the playground of its user pays with. */
  readonly isPlayground?: boolean
  /** Set for a management key: its organisation, its role, and the member who made it. */
  readonly management?: {
    readonly organization: OrganizationId
    readonly role: ManagementRole
    readonly madeBy: UserId | null
  }
}

export async function insertKey(db: Database | Trx, key: NewKey): Promise<void> {
  await db
    .insertInto('api_key')
    .values({
      id: key.id,
      type: key.type,
      scope: key.scope,
      user_id: key.user,
      hash: key.hash,
      key_prefix: key.keyPrefix,
      label: key.label,
      ...termColumns(key.terms),
      created_at: new Date(key.createdAt),
      last_used_at: null,
      expires_at: key.expiresAt === null ? null : new Date(key.expiresAt),
      revoked_at: null,
      frozen_at: null,
      organization_id: key.management?.organization ?? null,
      organization_role: key.management?.role ?? null,
      made_by: key.management?.madeBy ?? null,
      workspace_id: key.workspace ?? null,
      is_playground: key.isPlayground ?? false,
    })
    .execute()
}

/** The owner of keys: one side of a user, in a workspace, or with null outside of workspaces. */
export type KeyOwner = {
  readonly user: UserId
  readonly type: KeyType
  readonly workspace: WorkspaceId | null
}

function heldBy({ user, type, workspace }: KeyOwner) {
  return sql`user_id = ${user} and type = ${type} and workspace_id is not distinct from ${workspace}`
}

/** Keys of an owner, newest first, before an id. */
export async function listKeys(
  db: Database | Trx,
  owner: KeyOwner,
  { before, limit }: { readonly before: string | undefined; readonly limit: number },
): Promise<KeyRow[]> {
  const older = before === undefined ? sql`` : sql`and id < ${before}`
  const rows = await readRows(
    db,
    KEY_ROW,
    sql`select ${OWNER_COLUMNS} from api_key where ${heldBy(owner)} ${older}
    order by id desc limit ${limit}`,
  )
  return rows
}

/** Keys of an owner that are neither revoked nor expired, newest first. `now` is Unix milliseconds. */
export async function listLivingKeys(db: Database, owner: KeyOwner, now: number): Promise<KeyRow[]> {
  const rows = await readRows(
    db,
    KEY_ROW,
    sql`select ${OWNER_COLUMNS} from api_key where ${heldBy(owner)}
    and revoked_at is null and (expires_at is null or expires_at > ${new Date(now)}) order by id desc`,
  )
  return rows
}

/** A key of an owner. */
export async function findKey(db: Database | Trx, owner: KeyOwner, id: string): Promise<KeyRow | undefined> {
  const rows = await readRows(
    db,
    KEY_ROW,
    sql`select ${OWNER_COLUMNS} from api_key
    where ${heldBy(owner)} and id = ${id}`,
  )
  return rows[0]
}

/** The key that the playground of an owner pays with. */
export async function findPlaygroundKey(trx: Trx, owner: KeyOwner): Promise<KeyRow | undefined> {
  const rows = await readRows(
    trx,
    KEY_ROW,
    sql`select ${OWNER_COLUMNS} from api_key
    where ${heldBy(owner)} and is_playground and revoked_at is null`,
  )
  return rows[0]
}

/**
 * Counts the keys of one side of a user that are neither revoked nor expired. The key of the playground does not count.
 * `now` is Unix milliseconds.
 */
export async function countActiveKeys(trx: Trx, user: UserId, type: KeyType, now: number): Promise<number> {
  const rows = await readRows(
    trx,
    { count: integer() },
    sql`select count(*)::int as count from api_key
    where user_id = ${user} and type = ${type} and revoked_at is null and not is_playground
      and (expires_at is null or expires_at > ${new Date(now)})`,
  )
  return rows[0]?.count ?? 0
}

/** Revokes a key. A revoked key keeps its date. `at` is Unix milliseconds. */
export async function updateKeyRevoked(trx: Trx, id: KeyId, at: number): Promise<void> {
  await trx
    .updateTable('api_key')
    .set({ revoked_at: new Date(at) })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .execute()
}

/** The columns of a key that a caller presents at a door. */
const PRESENTED_KEY_ROW = {
  id: id('key'),
  type: KEY_TABLES.api_key.type,
  scope: KEY_TABLES.api_key.scope,
  user: KEY_TABLES.api_key.user_id,
  wallet: nullable(ACCOUNT_TABLES.app_user.wallet),
  buyerAccount: nullable(id('acc')),
  sellerAccount: nullable(id('acc')),
  expiresAt: nullable(timestamp()),
  revokedAt: KEY_TABLES.api_key.revoked_at,
  isFrozen: boolean(),
  lastUsedAt: KEY_TABLES.api_key.last_used_at,
  capDailyMicro: KEY_TABLES.api_key.cap_daily_micro,
  capMonthlyMicro: KEY_TABLES.api_key.cap_monthly_micro,
  modelsAllowed: KEY_TABLES.api_key.models_allowed,
  workspace: nullable(ORGANIZATION_TABLES.workspace.id),
  /** The organisation of the workspace or of the management key. */
  organization: nullable(id('org')),
  role: KEY_TABLES.api_key.organization_role,
}
export type PresentedKey = RowOf<typeof PRESENTED_KEY_ROW>

/** Finds the key with this secret, now or before a rotation. The former secret's window may be open or over. */
export function findKeyByHash(db: Database, hash: string): Promise<PresentedKey | undefined> {
  return findPresented(
    db,
    sql`select id, null::timestamptz as expires_at from api_key where hash = ${hash}
      union all select key_id, expires_at from key_former_secret where hash = ${hash}`,
  )
}

/** Finds a key as a caller would present it. */
export function findPresentedKey(db: Database | Trx, id: KeyId): Promise<PresentedKey | undefined> {
  return findPresented(db, sql`select ${id} as id, null::timestamptz as expires_at`)
}

/** `sought` selects the id of the key, and the end of the presented secret. */
async function findPresented(db: Database | Trx, sought: RawBuilder<unknown>): Promise<PresentedKey | undefined> {
  const rows = await readRows(
    db,
    PRESENTED_KEY_ROW,
    sql`select k.id, k.type, k.scope, k.user_id as user, u.wallet,
      coalesce(w.buyer_account, u.buyer_account) as "buyerAccount",
      coalesce(w.seller_account, u.seller_account) as "sellerAccount", w.id as workspace,
      coalesce(w.organization_id, k.organization_id) as organization, k.organization_role as role,
      least(k.expires_at, s.expires_at) as "expiresAt", k.revoked_at as "revokedAt", k.last_used_at as "lastUsedAt",
      k.frozen_at is not null as "isFrozen", k.cap_daily_micro as "capDailyMicro", k.cap_monthly_micro as "capMonthlyMicro", k.models_allowed as "modelsAllowed"
    from (${sought}) s join api_key k on k.id = s.id left join app_user u on u.id = k.user_id
    left join workspace w on w.id = k.workspace_id limit 1`,
  )
  return rows[0]
}

/** Stores the last use of a key. `at` is Unix milliseconds. */
export async function updateKeyUsed(db: Database, id: KeyId, at: number): Promise<void> {
  await db
    .updateTable('api_key')
    .set({ last_used_at: new Date(at) })
    .where('id', '=', id)
    .execute()
}
