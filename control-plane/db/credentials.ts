import { sql } from 'kysely'
import type { SealedCredential } from '#shared/contract/sealed-credential.ts'
import type { AccountId, CredentialId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'

export type CredentialsTables = {
  credential: {
    id: CredentialId
    tenant: AccountId
    host: string
    purpose: SealedCredential['purpose']
    base_url: string
    fingerprint: string
    label: string | null
    sealed: unknown
    created_at: Date
  }
}

/** A provider key at rest. `sealed` is JSON, to be read with its schema. */
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
}

const COLUMNS = ['id', 'host', 'base_url as baseUrl', 'fingerprint', 'sealed'] as const

/** The credential of an owner that a fingerprint, whole or its first characters, stands for; newest first. */
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
    .executeTakeFirst()
}

/** Adds a credential, or answers the id of the same key of the same owner. */
export async function upsertCredential(trx: Trx, credential: NewCredential): Promise<CredentialId> {
  const { sealed } = credential
  const { rows } = await sql<{ id: CredentialId }>`
    insert into credential (id, tenant, host, purpose, base_url, fingerprint, label, sealed, created_at)
    values (${credential.id}, ${credential.tenant}, ${sealed.host}, ${sealed.purpose}, ${credential.baseUrl},
      ${credential.fingerprint}, ${credential.label}, ${JSON.stringify(sealed)}::jsonb,
      ${new Date(credential.createdAt)})
    on conflict (tenant, purpose, fingerprint) do update set base_url = credential.base_url
    returning id`.execute(trx)
  const id = rows[0]?.id
  if (id === undefined) throw new Error('an upsert answered no row')
  return id
}
