import { sql } from 'kysely'
import type { AccountId, CredentialId, OwnProviderId } from '#shared/ids.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'
import type { Database, Trx } from './database.ts'
import { readRows } from './rows.ts'
import { OFFER_TABLES } from './tables/offers.ts'

/** A buyer's own provider. `sealed` holds its key as JSON; the caller parses it with its schema. */
export type OwnProviderRow = {
  readonly id: OwnProviderId
  readonly provider: string
  readonly model: string | null
  readonly providerModel: string | null
  readonly baseUrl: string
  readonly apiFormat: ProtocolName
  readonly priority: number
  readonly label: string | null
  readonly createdAt: Date
  readonly credentialId: CredentialId
  readonly fingerprint: string
  readonly sealed: unknown
  /** True for a key that is an account, whose calls use its token alone. */
  readonly isAccount: boolean
  readonly token: unknown
  readonly tokenEndsAt: Date | null
}

export type NewOwnProvider = Omit<
  OwnProviderRow,
  'createdAt' | 'fingerprint' | 'sealed' | 'isAccount' | 'token' | 'tokenEndsAt'
> & {
  readonly account: AccountId
  /** Unix milliseconds. */
  readonly at: number
}

/** A buyer's preferences for every call. */
export type Preferences = {
  readonly allowsUntrusted: boolean
  readonly providersBlocked: string[]
  readonly minDiscountPct: number | null
}

/** An account's own providers, in the order in which calls try them. */
export async function listOwnProviders(db: Database | Trx, account: AccountId): Promise<OwnProviderRow[]> {
  return db
    .selectFrom('own_provider as o')
    .innerJoin('credential as c', 'c.id', 'o.credential_id')
    .leftJoin('credential_token as t', 't.credential_id', 'c.id')
    .select((row) => [
      'o.id',
      'o.provider',
      'o.model',
      'o.provider_model as providerModel',
      'o.base_url as baseUrl',
      'o.api_format as apiFormat',
      'o.priority',
      'o.label',
      'o.created_at as createdAt',
      'o.credential_id as credentialId',
      'c.fingerprint',
      'c.sealed',
      row('t.credential_id', 'is not', null).$castTo<boolean>().as('isAccount'),
      't.sealed as token',
      't.expires_at as tokenEndsAt',
    ])
    .where('o.account', '=', account)
    .orderBy('o.priority')
    .orderBy('o.id')
    .execute()
}

export async function insertOwnProvider(trx: Trx, row: NewOwnProvider): Promise<void> {
  await trx
    .insertInto('own_provider')
    .values({
      id: row.id,
      account: row.account,
      provider: row.provider,
      credential_id: row.credentialId,
      model: row.model,
      provider_model: row.providerModel,
      base_url: row.baseUrl,
      api_format: row.apiFormat,
      priority: row.priority,
      label: row.label,
      created_at: new Date(row.at),
    })
    .execute()
}

/** Removes a row, and its key when no other row uses the key. Returns false when there was no row. */
export async function deleteOwnProvider(trx: Trx, account: AccountId, id: string): Promise<boolean> {
  const rows = await readRows(
    trx,
    { credential_id: OFFER_TABLES.own_provider.credential_id },
    sql`delete from own_provider
    where id = ${id} and account = ${account} returning credential_id`,
  )
  const credential = rows[0]?.credential_id
  if (credential === undefined) return false
  await sql`delete from credential where id = ${credential}
    and not exists (select from own_provider where credential_id = ${credential})`.execute(trx)
  return true
}

/** Lets one change of an account's policy run at a time. The lock ends with the transaction. */
export async function lockPolicy(trx: Trx, account: AccountId): Promise<void> {
  await sql`select pg_advisory_xact_lock(${sql.lit(POLICY_LOCKS)}, hashtext(${account}))`.execute(trx)
}
const POLICY_LOCKS = 7_306

export async function findPreferences(db: Database | Trx, account: string): Promise<Preferences | undefined> {
  return db
    .selectFrom('buyer_preference')
    .select([
      'allows_untrusted as allowsUntrusted',
      'providers_blocked as providersBlocked',
      'min_discount_pct as minDiscountPct',
    ])
    .where(sql<boolean>`account = ${account}`)
    .executeTakeFirst()
}

/** Replaces an account's preferences. `at` is Unix milliseconds. */
export async function upsertPreferences(
  trx: Trx,
  account: AccountId,
  preferences: Preferences,
  at: number,
): Promise<void> {
  const row = {
    allows_untrusted: preferences.allowsUntrusted,
    providers_blocked: preferences.providersBlocked,
    min_discount_pct: preferences.minDiscountPct,
    updated_at: new Date(at),
  }
  await trx
    .insertInto('buyer_preference')
    .values({ account, ...row })
    .onConflict((conflict) => conflict.column('account').doUpdateSet(row))
    .execute()
}
