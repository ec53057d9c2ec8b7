import { sql } from 'kysely'
import type { PasskeyId, SessionId, UserId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'

/** A passkey without its key. */
export type PasskeyRow = {
  readonly id: PasskeyId
  readonly label: string
  readonly credentialId: string
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
}

/** The parts of a passkey that a check of its proof needs. */
export type PasskeyKey = {
  readonly id: PasskeyId
  readonly user: UserId
  readonly credentialId: string
  /** The public key as COSE writes it. */
  readonly publicKey: Buffer
  readonly counter: bigint
}

type NewPasskey = PasskeyKey & { readonly label: string; readonly createdAt: number }

/** Adds a passkey. Returns false when its credential is known already. `createdAt` is Unix milliseconds. */
export async function insertPasskey(trx: Trx, passkey: NewPasskey): Promise<boolean> {
  const { id, user: user_id, credentialId: credential_id, publicKey: public_key, counter, label } = passkey
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('passkey')
    .values({ id, user_id, credential_id, public_key, counter, label, created_at: new Date(passkey.createdAt) })
    .onConflict((conflict) => conflict.column('credential_id').doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

/** The passkeys of a user, oldest first. */
export async function listPasskeys(db: Database | Trx, user: UserId, limit: number): Promise<PasskeyRow[]> {
  return db
    .selectFrom('passkey')
    .select(['id', 'label', 'credential_id as credentialId', 'created_at as createdAt', 'last_used_at as lastUsedAt'])
    .where('user_id', '=', user)
    .orderBy('id')
    .limit(limit)
    .execute()
}

export async function findPasskeyByCredential(db: Database, credentialId: string): Promise<PasskeyKey | undefined> {
  return db
    .selectFrom('passkey')
    .select(['id', 'user_id as user', 'credential_id as credentialId', 'public_key as publicKey', 'counter'])
    .where('credential_id', '=', credentialId)
    .executeTakeFirst()
}

/**
 * Records a use. Returns false when the counter does not advance, as after the use of a copy of the passkey. An
 * authenticator without a counter keeps 0. `at` is Unix milliseconds.
 */
export async function updatePasskeyUsed(trx: Trx, id: PasskeyId, counter: bigint, at: number): Promise<boolean> {
  const { numAffectedRows } = await sql`update passkey set counter = ${counter}, last_used_at = ${new Date(at)}
    where id = ${id} and (counter < ${counter} or (counter = 0 and ${counter}::bigint = 0))`.execute(trx)
  return numAffectedRows === 1n
}

export async function deletePasskey(trx: Trx, user: UserId, id: PasskeyId): Promise<void> {
  await trx.deleteFrom('passkey').where('id', '=', id).where('user_id', '=', user).execute()
}

/** Ends all sessions of a user except one. */
export async function deleteOtherSessions(trx: Trx, user: UserId, but: SessionId): Promise<void> {
  await trx.deleteFrom('web_session').where('user_id', '=', user).where('id', '<>', but).execute()
}

/** Replaces the recovery code of a user. `createdAt` is Unix milliseconds. */
export async function putRecoveryCode(trx: Trx, user: UserId, hash: string, createdAt: number): Promise<void> {
  const row = { user_id: user, hash, created_at: new Date(createdAt) }
  await trx
    .insertInto('recovery_code')
    .values(row)
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ hash, created_at: row.created_at }))
    .execute()
}

/** Deletes a recovery code and returns its user; of concurrent calls, one gets the user. */
export async function deleteRecoveryCode(trx: Trx, hash: string): Promise<UserId | undefined> {
  const usedCode = await trx
    .deleteFrom('recovery_code')
    .where('hash', '=', hash)
    .returning('user_id')
    .executeTakeFirst()
  return usedCode?.user_id
}

/** The instant at which the recovery code of a user was made; undefined without a code. */
export async function findRecoveryCode(db: Database | Trx, user: UserId): Promise<Date | undefined> {
  const found = await db
    .selectFrom('recovery_code')
    .select('created_at as createdAt')
    .where('user_id', '=', user)
    .executeTakeFirst()
  return found?.createdAt
}
