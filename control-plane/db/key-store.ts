import { sql } from 'kysely'
import type { KeyId, UserId } from '#shared/ids.ts'
import type { Trx } from './database.ts'
import { SELECT_TERMS, STORED_TERMS_ROW } from './key-terms.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { ACCOUNT_TABLES } from './tables/accounts.ts'
import { boolean, id, nullable, text, timestamp } from './tables/column.ts'
import { KEY_TABLES } from './tables/keys.ts'

/** The columns from which a record of the key store is made. */
const STORED_KEY_ROW = {
  ...STORED_TERMS_ROW,
  id: id('key'),
  type: KEY_TABLES.api_key.type,
  label: KEY_TABLES.api_key.label,
  hash: KEY_TABLES.api_key.hash,
  account: id('acc'),
  wallet: ACCOUNT_TABLES.app_user.wallet,
  isRevoked: boolean(),
  isFrozen: boolean(),
  expiresAt: nullable(timestamp()),
  /** The budgets of its member and its workspace, as JSON. Null without one. */
  budgets: nullable(text()),
}
export type StoredKey = RowOf<typeof STORED_KEY_ROW>

const STORED = sql`k.id, k.type, k.label, s.hash,
  case k.type when 'buyer' then coalesce(w.buyer_account, u.buyer_account)
    else coalesce(w.seller_account, u.seller_account) end as account, u.wallet,
  k.revoked_at is not null as "isRevoked", k.frozen_at is not null as "isFrozen",
  least(k.expires_at, s.expires_at) as "expiresAt", ${SELECT_TERMS},
  case when k.workspace_id is not null then (
    select json_agg(json_build_object('id', b.id, 'of', coalesce(b.workspace_id, b.user_id),
      'limitMicro', b.limit_micro::text) order by b.id)::text
    from budget b where k.type = 'buyer' and b.organization_id = w.organization_id
      and (b.workspace_id = w.id or b.user_id = k.user_id)) end as budgets`

/** The owner of a key. A key of a workspace uses the workspace's accounts. */
const OWNERS = sql`join app_user u on u.id = k.user_id left join workspace w on w.id = k.workspace_id`

/** Gives a row for every secret of a key: the present one, each former one and each of a session, until it is swept. */
const SECRETS = sql`cross join lateral (
  select k.hash, null::timestamptz as expires_at
  union all select f.hash, f.expires_at from key_former_secret f where f.key_id = k.id
  union all select p.hash, p.expires_at from key_session_secret p where p.key_id = k.id) s`

/** Records that a key must be published again. Runs in the transaction that changes the key. */
export async function insertKeyChange(trx: Trx, id: KeyId): Promise<void> {
  await trx.insertInto('key_change').values({ key_id: id }).execute()
}

/** Records that all keys of a user must be published again. */
export async function insertKeyChangesOf(trx: Trx, user: UserId): Promise<void> {
  await sql`insert into key_change (key_id) select id from api_key where user_id = ${user} and revoked_at is null`.execute(
    trx,
  )
}

/** Lets one publisher of the key store work at a time. The lock ends with the transaction. */
export async function lockKeyStore(trx: Trx): Promise<void> {
  await sql`select pg_advisory_xact_lock(${sql.lit(KEY_STORE_LOCK)})`.execute(trx)
}
const KEY_STORE_LOCK = 7_305_020

/** Changes that wait to be published, oldest first. */
export async function listKeyChanges(trx: Trx, limit: number): Promise<{ seq: bigint; keyId: KeyId }[]> {
  return trx.selectFrom('key_change').select(['seq', 'key_id as keyId']).orderBy('seq').limit(limit).execute()
}

export async function deleteKeyChanges(trx: Trx, seqs: readonly bigint[]): Promise<void> {
  await sql`delete from key_change where seq = any(${seqs.map(String)}::bigint[])`.execute(trx)
}

/** The present state of the wallet keys among `ids`. */
export async function findStoredKeys(trx: Trx, ids: readonly string[]): Promise<StoredKey[]> {
  const rows = await readRows(
    trx,
    STORED_KEY_ROW,
    sql`select ${STORED} from api_key k ${OWNERS} ${SECRETS}
    where k.id = any(${[...ids]}::text[])`,
  )
  return rows
}

/** A page of all wallet keys by id, after `after`. */
export async function listStoredKeys(trx: Trx, after: string, limit: number): Promise<StoredKey[]> {
  const rows = await readRows(
    trx,
    STORED_KEY_ROW,
    sql`select ${STORED} from (
      select * from api_key where user_id is not null and id > ${after} order by id limit ${limit}
    ) k ${OWNERS} ${SECRETS} order by k.id`,
  )
  return rows
}
