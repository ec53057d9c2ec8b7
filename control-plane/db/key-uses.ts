import { sql } from 'kysely'
import type { Database } from './database.ts'
import { readRows } from './rows.ts'
import { text } from './tables/column.ts'

/** The newest call of each key among calls posted from `since` (Unix milliseconds) on. */
export async function listKeyUses(db: Database, since: number): Promise<{ keyId: string; rid: string }[]> {
  const rows = await readRows(
    db,
    { keyId: text(), rid: text() },
    sql`select key_id as "keyId", max(rid) as rid from settlement
    where posted_at >= ${new Date(since)} and key_id is not null group by key_id`,
  )
  return rows
}

/**
 * Stores the last use of keys in one statement. A later stored use stays. `at` is Unix milliseconds. Returns the number
 * of keys that changed.
 */
export async function updateKeysUsed(
  db: Database,
  uses: readonly { readonly keyId: string; readonly at: number }[],
): Promise<number> {
  const ids = uses.map(({ keyId }) => keyId)
  const times = uses.map(({ at }) => new Date(at).toISOString())
  const { numAffectedRows } = await sql`update api_key k set last_used_at = used.at
    from unnest(${ids}::text[], ${times}::timestamptz[]) as used(id, at)
    where k.id = used.id and (k.last_used_at is null or k.last_used_at < used.at)`.execute(db)
  return Number(numAffectedRows ?? 0n)
}

/** The instant up to which uses are stored, in Unix milliseconds. */
export async function findKeyUseMark(db: Database): Promise<number> {
  const { noted_until } = await db.selectFrom('key_use_mark').select('noted_until').executeTakeFirstOrThrow()
  return noted_until.getTime()
}

export async function updateKeyUseMark(db: Database, notedUntil: number): Promise<void> {
  await db
    .updateTable('key_use_mark')
    .set({ noted_until: new Date(notedUntil) })
    .execute()
}
