import type { KeyId } from '#shared/ids.ts'
import type { Trx } from './database.ts'
import type { KeyTerms } from './key-terms.ts'
import { termColumns } from './key-terms.ts'

/** What an owner may change about a key. `expiresAt` is Unix milliseconds. */
export type ChangedKey = {
  readonly label: string
  readonly expiresAt: number | null
  readonly terms: KeyTerms
}

/** Replaces what an owner may change about a key. */
export async function updateKey(trx: Trx, id: KeyId, changed: ChangedKey): Promise<void> {
  const { label, expiresAt, terms } = changed
  await trx
    .updateTable('api_key')
    .set({
      label,
      expires_at: expiresAt === null ? null : new Date(expiresAt),
      ...termColumns(terms),
    })
    .where('id', '=', id)
    .execute()
}

/** Former secrets of a key that still work at an instant in Unix milliseconds. */
export async function countLiveFormerSecrets(trx: Trx, id: KeyId, now: number): Promise<number> {
  const rows = await trx
    .selectFrom('key_former_secret')
    .select('hash')
    .where('key_id', '=', id)
    .where('expires_at', '>', new Date(now))
    .execute()
  return rows.length
}

/** Former secrets whose window was over at an instant in Unix milliseconds, by their hashes. */
export async function listEndedSecrets(trx: Trx, now: number, limit: number): Promise<string[]> {
  const rows = await trx
    .selectFrom('key_former_secret')
    .select('hash')
    .where('expires_at', '<=', new Date(now))
    .orderBy('expires_at')
    .limit(limit)
    .execute()
  return rows.map(({ hash }) => hash)
}

export async function deleteFormerSecrets(trx: Trx, hashes: readonly string[]): Promise<void> {
  await trx.deleteFrom('key_former_secret').where('hash', 'in', hashes).execute()
}

type Rotation = {
  readonly hash: string
  readonly keyPrefix: string
  /** Unix milliseconds: now, and until when the secret that is replaced goes on. */
  readonly at: number
  readonly formerUntil: number
}

/** Gives a key another secret and keeps the present one until its window is over. */
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
