import type { RawBuilder } from 'kysely'
import { sql } from 'kysely'
import type { SealedCredential } from '#shared/contract/sealed-credential.ts'
import type { AccountId, CredentialId } from '#shared/ids.ts'
import { planToken } from './credential-tokens.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { bigint, id, text } from './tables/column.ts'
import { OFFER_TABLES } from './tables/offers.ts'

/** A stored provider key. `sealed` is JSON; the caller parses it with its schema. */
export type CredentialRow = {
  readonly id: CredentialId
  readonly host: string
  readonly baseUrl: string
  readonly fingerprint: string
  readonly sealed: unknown
}

export type NewCredential = {
  readonly sealed: SealedCredential
  readonly id: CredentialId
  readonly tenant: AccountId
  readonly baseUrl: string
  readonly fingerprint: string
  readonly label: string | null
  readonly createdAt: number
  /** True for an account, whose tokens the market makes. */
  readonly isAccount: boolean
}

const COLUMNS = ['id', 'host', 'base_url as baseUrl', 'fingerprint', 'sealed'] as const

/** A seller's saved provider key with this fingerprint, unless the seller has removed it. */
export async function findCredential(
  db: Database | Trx,
  tenant: AccountId,
  fingerprint: string,
): Promise<CredentialRow | undefined> {
  return db
    .selectFrom('credential')
    .select(COLUMNS)
    .where('tenant', '=', tenant)
    .where('purpose', '=', 'offer')
    .where('fingerprint', '=', fingerprint)
    .where('forgotten_at', 'is', null)
    .executeTakeFirst()
}

/**
 * Adds a credential and returns its id. When the owner has the same key already, it returns that id and makes the key
 * reusable again.
 */
export async function upsertCredential(trx: Trx, credential: NewCredential): Promise<CredentialId> {
  const rows = await readRows(trx, { id: OFFER_TABLES.credential.id }, credentialUpsert(credential))
  const id = rows[0]?.id
  if (id === undefined) throw new Error('an upsert answered no row')
  if (credential.isAccount) await planToken(trx, id, credential.createdAt)
  return id
}

/** The statement of {@link upsertCredential}, without the plan for a token. It returns one row with the `id`. */
export function credentialUpsert(credential: NewCredential): RawBuilder<unknown> {
  const { sealed } = credential
  return sql`insert into credential (id, tenant, host, purpose, base_url, fingerprint, label, sealed, created_at)
    values (${credential.id}, ${credential.tenant}, ${sealed.host}, ${sealed.purpose}, ${credential.baseUrl},
      ${credential.fingerprint}, ${credential.label}, ${JSON.stringify(sealed)}::jsonb,
      ${new Date(credential.createdAt)})
    on conflict (tenant, purpose, fingerprint) do update set forgotten_at = null
    returning id`
}

/** A saved provider key of a seller, and the number of offers that use it. */
const SAVED_KEY_ROW = {
  id: id('crd'),
  label: OFFER_TABLES.credential.label,
  baseUrl: OFFER_TABLES.credential.base_url,
  provider: text(),
  fingerprint: OFFER_TABLES.credential.fingerprint,
  createdAt: OFFER_TABLES.credential.created_at,
  offers: bigint(),
}
export type SavedKey = RowOf<typeof SAVED_KEY_ROW>

/** The saved provider keys of a seller, newest first. */
export async function listSavedKeys(
  db: Database,
  tenant: AccountId,
  { before, limit }: { readonly before: string | undefined; readonly limit: number },
): Promise<SavedKey[]> {
  const older = before === undefined ? sql`` : sql`and c.id < ${before}`
  const rows = await readRows(
    db,
    SAVED_KEY_ROW,
    sql`select c.id, c.label, c.base_url as "baseUrl", coalesce(p.name, c.host) as provider,
      c.fingerprint, c.created_at as "createdAt",
      (select count(*) from offer o where o.credential_id = c.id and o.status <> 'inactive') as offers
    from credential c left join lateral (
      select name from provider where exists (
        select from unnest(array_append(hosts, host)) as known where c.host like replace(known, '*', '%')
      ) order by id limit 1
    ) p on true
    where c.tenant = ${tenant} and c.purpose = 'offer' and c.forgotten_at is null ${older}
    order by c.id desc limit ${limit}`,
  )
  return rows
}

/** Marks a saved key as not reusable. Returns false when the seller has no key of that id. */
export async function forgetCredential(
  db: Database,
  tenant: AccountId,
  id: CredentialId,
  at: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('credential')
    .set({ forgotten_at: new Date(at) })
    .where('tenant', '=', tenant)
    .where('id', '=', id)
    .where('purpose', '=', 'offer')
    .where('forgotten_at', 'is', null)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}
