import { sql } from 'kysely'
import type { AccountId, SessionId, UserId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'

/** A session with its wallet. */
export type SessionRow = {
  readonly id: SessionId
  readonly user: UserId
  readonly wallet: string
  readonly buyerAccount: AccountId
  readonly sellerAccount: AccountId
  readonly createdAt: Date
  readonly lastUsedAt: Date
  readonly expiresAt: Date
}

/** Marks a nonce as used. Returns false when it was used before. `expiresAt` is Unix milliseconds. */
export async function insertUsedNonce(db: Database, nonce: string, expiresAt: number): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('used_nonce')
    .values({ nonce, expires_at: new Date(expiresAt) })
    .onConflict((conflict) => conflict.column('nonce').doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

type NewSession = {
  readonly id: SessionId
  readonly hash: string
  readonly user: UserId
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
      user_id: session.user,
      created_at: createdAt,
      last_used_at: createdAt,
      expires_at: new Date(session.expiresAt),
    })
    .execute()
}

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

/** Stores the last use of a session. `at` is Unix milliseconds. */
export async function updateSessionUsed(db: Database, id: SessionId, at: number): Promise<void> {
  await db
    .updateTable('web_session')
    .set({ last_used_at: new Date(at) })
    .where('id', '=', id)
    .execute()
}

export async function deleteSession(db: Database | Trx, user: UserId, id: SessionId): Promise<void> {
  await db.deleteFrom('web_session').where('id', '=', id).where('user_id', '=', user).execute()
}

/** Ends the oldest sessions of a user beyond `keep`. */
export async function deleteOldSessions(trx: Trx, user: UserId, keep: number): Promise<void> {
  await sql`delete from web_session where user_id = ${user} and id not in (
    select id from web_session where user_id = ${user} order by id desc limit ${keep})`.execute(trx)
}

/** Removes expired nonces and sessions. Returns their number. `now` is Unix milliseconds. */
export async function deleteExpiredSignIns(db: Database, now: number): Promise<number> {
  const at = new Date(now)
  const nonces = await db.deleteFrom('used_nonce').where('expires_at', '<=', at).executeTakeFirst()
  const sessions = await db.deleteFrom('web_session').where('expires_at', '<=', at).executeTakeFirst()
  return Number(nonces.numDeletedRows + sessions.numDeletedRows)
}
