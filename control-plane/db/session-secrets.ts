import { sql } from 'kysely'
import type { KeyId, SessionId } from '#shared/ids.ts'
import type { Trx } from './database.ts'

/** Locks a session, so that it ends before or after the caller's change. Undefined for one that has ended. */
export async function lockSession(trx: Trx, id: SessionId): Promise<{ readonly expiresAt: Date } | undefined> {
  return trx
    .selectFrom('web_session')
    .select('expires_at as expiresAt')
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
}

type NewSecret = {
  readonly hash: string
  readonly key: KeyId
  readonly session: SessionId
  readonly createdAt: number
  readonly expiresAt: number
}

/** Adds a secret that a session opened. Times are Unix milliseconds. */
export async function insertSessionSecret(trx: Trx, secret: NewSecret): Promise<void> {
  await trx
    .insertInto('key_session_secret')
    .values({
      hash: secret.hash,
      key_id: secret.key,
      session_id: secret.session,
      created_at: new Date(secret.createdAt),
      expires_at: new Date(secret.expiresAt),
    })
    .execute()
}

/** Ends the oldest secrets of a session beyond `keep`. */
export async function endOldSessionSecrets(trx: Trx, session: SessionId, keep: number): Promise<void> {
  await sql`update key_session_secret set expires_at = created_at
    where session_id = ${session} and expires_at > created_at and hash not in (
      select hash from key_session_secret where session_id = ${session} and expires_at > created_at
      order by created_at desc, hash limit ${keep})`.execute(trx)
}
