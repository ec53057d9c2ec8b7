import { sql } from 'kysely'
import type { EmailId, UserId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { EmailPurpose } from './tables/emails.ts'

/** An address that signs its user in. */
export type EmailRow = {
  readonly id: EmailId
  readonly address: string
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
}

/** A link that was not used yet. */
export type EmailLinkRow = {
  readonly address: string
  readonly purpose: EmailPurpose
  /** The user who adds the address; null for a link that signs in. */
  readonly user: UserId | null
  readonly browserHash: string
  readonly expiresAt: Date
}

type NewEmailLink = Omit<EmailLinkRow, 'expiresAt'> & {
  readonly hash: string
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly expiresAt: number
}

const LINK_COLUMNS = [
  'address',
  'purpose',
  'user_id as user',
  'browser_hash as browserHash',
  'expires_at as expiresAt',
] as const

/** Waits for other links of the address, so that their number is exact. */
export async function lockEmailAddress(trx: Trx, address: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`email ${address}`}, 0))`.execute(trx)
}

/** The number of open links of an address at an instant, in Unix milliseconds. */
export async function countEmailLinks(trx: Trx, address: string, now: number): Promise<number> {
  const { count } = await trx
    .selectFrom('email_link')
    .select((of) => of.fn.countAll<bigint>().as('count'))
    .where('address', '=', address)
    .where('expires_at', '>', new Date(now))
    .executeTakeFirstOrThrow()
  return Number(count)
}

export async function insertEmailLink(trx: Trx, link: NewEmailLink): Promise<void> {
  const { hash, address, purpose, user, browserHash, createdAt, expiresAt } = link
  await trx
    .insertInto('email_link')
    .values({
      hash,
      address,
      purpose,
      user_id: user,
      browser_hash: browserHash,
      created_at: new Date(createdAt),
      expires_at: new Date(expiresAt),
    })
    .execute()
}

/** An open link by its hash. `now` is Unix milliseconds. */
export async function findEmailLink(db: Database | Trx, hash: string, now: number): Promise<EmailLinkRow | undefined> {
  return db
    .selectFrom('email_link')
    .select(LINK_COLUMNS)
    .where('hash', '=', hash)
    .where('expires_at', '>', new Date(now))
    .executeTakeFirst()
}

/** Deletes an open link and returns it; of concurrent calls, one gets it. `now` is Unix milliseconds. */
export async function deleteEmailLink(trx: Trx, hash: string, now: number): Promise<EmailLinkRow | undefined> {
  return trx
    .deleteFrom('email_link')
    .where('hash', '=', hash)
    .where('expires_at', '>', new Date(now))
    .returning(LINK_COLUMNS)
    .executeTakeFirst()
}

/** Deletes all links of an address. */
export async function deleteEmailLinks(trx: Trx, address: string): Promise<void> {
  await trx.deleteFrom('email_link').where('address', '=', address).execute()
}

/** The user whom an address signs in. */
export async function findEmailUser(db: Database | Trx, address: string): Promise<UserId | undefined> {
  const found = await db
    .selectFrom('email_address')
    .select('user_id as user')
    .where('address', '=', address)
    .executeTakeFirst()
  return found?.user
}

type NewEmail = { readonly id: EmailId; readonly user: UserId; readonly address: string; readonly createdAt: number }

/** Adds an address. Returns false when it belongs to a user already. `createdAt` is Unix milliseconds. */
export async function insertEmail(trx: Trx, { id, user, address, createdAt }: NewEmail): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('email_address')
    .values({ id, user_id: user, address, created_at: new Date(createdAt) })
    .onConflict((conflict) => conflict.column('address').doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

/** The addresses of a user, oldest first. */
export async function listEmails(db: Database | Trx, user: UserId, limit: number): Promise<EmailRow[]> {
  return db
    .selectFrom('email_address')
    .select(['id', 'address', 'created_at as createdAt', 'last_used_at as lastUsedAt'])
    .where('user_id', '=', user)
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** Records a sign-in. `at` is Unix milliseconds. */
export async function updateEmailUsed(trx: Trx, address: string, at: number): Promise<void> {
  await trx
    .updateTable('email_address')
    .set({ last_used_at: new Date(at) })
    .where('address', '=', address)
    .execute()
}

export async function deleteEmail(trx: Trx, user: UserId, id: EmailId): Promise<void> {
  await trx.deleteFrom('email_address').where('id', '=', id).where('user_id', '=', user).execute()
}
