import { sql } from 'kysely'
import { HOUR } from '#shared/clock.ts'
import type { AccountId, KeyId, SessionId, UserId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { PresentedKey } from './keys.ts'
import { findPresentedKey } from './keys.ts'

/** A session with its user. */
export type SessionRow = {
  readonly id: SessionId
  readonly user: UserId
  readonly wallet: string | null
  readonly buyerAccount: AccountId
  readonly sellerAccount: AccountId
  readonly createdAt: Date
  readonly lastUsedAt: Date
  readonly expiresAt: Date
}

/** Marks a nonce as used. Returns false for a used nonce. `expiresAt` is Unix milliseconds. */
export async function insertUsedNonce(db: Database, nonce: string, expiresAt: number): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('used_nonce')
    .values({ nonce, expires_at: new Date(expiresAt) })
    .onConflict((conflict) => conflict.column('nonce').doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

/** The owner of a session: a user, or a key. */
type SessionOf = { readonly user: UserId } | { readonly key: KeyId }

type NewSession = SessionOf & {
  readonly id: SessionId
  readonly hash: string
  readonly createdAt: number
  readonly expiresAt: number
}

/** Adds a session. Times are Unix milliseconds. */
export async function insertSession(trx: Trx, session: NewSession): Promise<void> {
  const createdAt = new Date(session.createdAt)
  await trx
    .insertInto('web_session')
    .values({
      id: session.id,
      hash: session.hash,
      user_id: 'user' in session ? session.user : null,
      key_id: 'key' in session ? session.key : null,
      created_at: createdAt,
      last_used_at: createdAt,
      expires_at: new Date(session.expiresAt),
    })
    .execute()
}

/** Finds the session of a user. */
export async function findSessionByHash(db: Database, hash: string): Promise<SessionRow | undefined> {
  return db
    .selectFrom('web_session as s')
    .innerJoin('app_user as u', 'u.id', 's.user_id')
    .select([
      's.id',
      'u.id as user',
      'u.wallet',
      'u.buyer_account as buyerAccount',
      'u.seller_account as sellerAccount',
      's.created_at as createdAt',
      's.last_used_at as lastUsedAt',
      's.expires_at as expiresAt',
    ])
    .where('s.hash', '=', hash)
    .executeTakeFirst()
}

/** A session with its key. */
export type KeySessionRow = Pick<SessionRow, 'id' | 'lastUsedAt' | 'expiresAt'> & { readonly key: PresentedKey }

/** Finds the session of a key, even of a revoked or expired key. */
export async function findKeySessionByHash(db: Database, hash: string): Promise<KeySessionRow | undefined> {
  const session = await db
    .selectFrom('web_session')
    .select(['id', 'key_id as keyId', 'last_used_at as lastUsedAt', 'expires_at as expiresAt'])
    .where('hash', '=', hash)
    .executeTakeFirst()
  if (session === undefined || session.keyId === null) return undefined
  const key = await findPresentedKey(db, session.keyId)
  return key && { ...session, key }
}

/** Stores the last use of a session. `at` is Unix milliseconds. */
export async function updateSessionUsed(db: Database, id: SessionId, at: number): Promise<void> {
  await db
    .updateTable('web_session')
    .set({ last_used_at: new Date(at) })
    .where('id', '=', id)
    .execute()
}

/** True for a session of a user that has not ended. */
export async function hasSession(trx: Trx, user: UserId, id: SessionId): Promise<boolean> {
  const session = await trx
    .selectFrom('web_session')
    .select('id')
    .where('id', '=', id)
    .where('user_id', '=', user)
    .executeTakeFirst()
  return session !== undefined
}

export async function deleteSession(db: Database | Trx, user: UserId, id: SessionId): Promise<void> {
  await db.deleteFrom('web_session').where('id', '=', id).where('user_id', '=', user).execute()
}

/** Ends the oldest sessions of a user beyond `keep`. */
export async function deleteOldSessions(trx: Trx, user: UserId, keep: number): Promise<void> {
  await sql`delete from web_session where user_id = ${user} and id not in (
    select id from web_session where user_id = ${user} order by id desc limit ${keep})`.execute(trx)
}

export async function deleteKeySession(db: Database | Trx, key: KeyId, id: SessionId): Promise<void> {
  await db.deleteFrom('web_session').where('id', '=', id).where('key_id', '=', key).execute()
}

/** Ends the oldest sessions of a key beyond `keep`. */
export async function deleteOldKeySessions(trx: Trx, key: KeyId, keep: number): Promise<void> {
  await sql`delete from web_session where key_id = ${key} and id not in (
    select id from web_session where key_id = ${key} order by id desc limit ${keep})`.execute(trx)
}

type NewSignInCode = {
  readonly hash: string
  readonly key: KeyId
  readonly createdAt: number
  readonly expiresAt: number
}

/** Adds a code. Times are Unix milliseconds. */
export async function insertSignInCode(trx: Trx, code: NewSignInCode): Promise<void> {
  const { hash, key: key_id, createdAt, expiresAt } = code
  const times = { created_at: new Date(createdAt), expires_at: new Date(expiresAt) }
  await trx
    .insertInto('sign_in_code')
    .values({ hash, key_id, ...times })
    .execute()
}

/** Removes the oldest codes of a key beyond `keep`. */
export async function deleteOldSignInCodes(trx: Trx, key: KeyId, keep: number): Promise<void> {
  await sql`delete from sign_in_code where key_id = ${key} and hash not in (
    select hash from sign_in_code where key_id = ${key} order by created_at desc, hash limit ${keep})`.execute(trx)
}

/** Deletes a code and returns its key; of concurrent calls, one gets the key. `now` is Unix milliseconds. */
export async function deleteSignInCode(trx: Trx, hash: string, now: number): Promise<KeyId | undefined> {
  const challenge = await trx
    .deleteFrom('sign_in_code')
    .where('hash', '=', hash)
    .where('expires_at', '>', new Date(now))
    .returning('key_id')
    .executeTakeFirst()
  return challenge?.key_id
}

/**
 * Used nonces are kept this long beyond their end: the clocks of processes differ, and a process whose clock is behind
 * still accepts them.
 */
const NONCE_MARGIN_MS = HOUR

/** Removes expired nonces, codes, links and sessions. Returns their number. `now` is Unix milliseconds. */
export async function deleteExpiredSignIns(db: Database, now: number): Promise<number> {
  const at = new Date(now)
  const nonces = await db
    .deleteFrom('used_nonce')
    .where('expires_at', '<=', new Date(now - NONCE_MARGIN_MS))
    .executeTakeFirst()
  const codes = await db.deleteFrom('sign_in_code').where('expires_at', '<=', at).executeTakeFirst()
  const links = await db.deleteFrom('email_link').where('expires_at', '<=', at).executeTakeFirst()
  const sessions = await db.deleteFrom('web_session').where('expires_at', '<=', at).executeTakeFirst()
  return Number(nonces.numDeletedRows + codes.numDeletedRows + links.numDeletedRows + sessions.numDeletedRows)
}
