import { sql } from 'kysely'
import type { KeyId } from '#shared/ids.ts'
import type { Trx } from './database.ts'
import type { KeyTerms } from './key-terms.ts'
import { termColumns } from './key-terms.ts'
import { readRows } from './rows.ts'
import { text } from './tables/column.ts'

/** The fields of a key that its owner may change. Instants are Unix milliseconds. */
export type ChangedKey = {
  readonly label: string
  readonly expiresAt: number | null
  /** When the owner froze the key, Unix milliseconds. Null for a key that works. */
  readonly frozenAt: number | null
  readonly terms: KeyTerms
}

/** Writes the fields of a key that its owner may change. */
export async function updateKey(trx: Trx, id: KeyId, changedKey: ChangedKey): Promise<void> {
  const { label, expiresAt, frozenAt, terms } = changedKey
  await trx
    .updateTable('api_key')
    .set({
      label,
      expires_at: expiresAt === null ? null : new Date(expiresAt),
      frozen_at: frozenAt === null ? null : new Date(frozenAt),
      ...termColumns(terms),
    })
    .where('id', '=', id)
    .execute()
}

/** Counts the former secrets of a key that still work at `now` (Unix milliseconds). */
export async function countLiveFormerSecrets(trx: Trx, id: KeyId, now: number): Promise<number> {
  const rows = await trx
    .selectFrom('key_former_secret')
    .select('hash')
    .where('key_id', '=', id)
    .where('expires_at', '>', new Date(now))
    .execute()
  return rows.length
}

/** The hashes of former secrets and of those of sessions that have ended at `now` (Unix milliseconds). */
export async function listEndedSecrets(trx: Trx, now: number, limit: number): Promise<string[]> {
  const rows = await readRows(
    trx,
    { hash: text() },
    sql`select hash from (
      select hash, expires_at from key_former_secret where expires_at <= ${new Date(now)}
      union all select hash, expires_at from key_session_secret where expires_at <= ${new Date(now)}
    ) ended order by expires_at limit ${limit}`,
  )
  return rows.map(({ hash }) => hash)
}

export async function deleteEndedSecrets(trx: Trx, hashes: readonly string[]): Promise<void> {
  await trx.deleteFrom('key_former_secret').where('hash', 'in', hashes).execute()
  await trx.deleteFrom('key_session_secret').where('hash', 'in', hashes).execute()
}

type Rotation = {
  readonly hash: string
  readonly keyPrefix: string
  /** Unix milliseconds: the time of the change, and the end of the replaced secret's window. */
  readonly at: number
  readonly formerUntil: number
}

/** Gives a key a new secret. The present one works until its window ends. */
export async function replaceSecret(
  trx: Trx,
  id: KeyId,
  { hash, keyPrefix, at, formerUntil }: Rotation,
): Promise<void> {
  const former = await trx
    .selectFrom('api_key')
    .select(['hash', 'key_prefix'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  await trx
    .insertInto('key_former_secret')
    .values({ ...former, key_id: id, replaced_at: new Date(at), expires_at: new Date(formerUntil) })
    .execute()
  await trx.updateTable('api_key').set({ hash, key_prefix: keyPrefix }).where('id', '=', id).execute()
}
