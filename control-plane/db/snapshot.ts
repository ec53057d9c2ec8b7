import { sql } from 'kysely'
import type { Database, Trx } from './database.ts'
import { readRows } from './rows.ts'
import { bigint, boolean } from './tables/column.ts'
import { OPERATION_TABLES } from './tables/operations.ts'

/** The published state of a document: its version and the SHA-256 of its body. */
export type PublishedState = {
  readonly name: string
  readonly version: bigint
  readonly bodyHash: string
  /** A fingerprint of the tables behind it, for documents for which it is cheaper than a new body. */
  readonly source?: string | null
}

/** Lets one publisher of a document work at a time. The lock ends with the transaction. */
export async function lockDocument(trx: Trx, name: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${sql.lit(DOCUMENT_LOCKS)}, hashtext(${name}))`.execute(trx)
}
const DOCUMENT_LOCKS = 7_305

/**
 * Locks the snapshot: shared for publishers of single documents, exclusive for a restore of all. It also tunes the
 * planner for this transaction. Page reads count as cheap, as if from memory, so a model's offers are found by index
 * and not by a scan of all offers. Groups by offer stay in memory.
 */
export async function lockSnapshot(trx: Trx, mode: 'shared' | 'exclusive'): Promise<void> {
  const lock = sql.lit(SNAPSHOT_LOCK)
  const settings = sql`set_config('random_page_cost', '1.1', true), set_config('work_mem', '32MB', true)`
  await (mode === 'shared'
    ? sql`select pg_advisory_xact_lock_shared(${lock}), ${settings}`
    : sql`select pg_advisory_xact_lock(${lock}), ${settings}`
  ).execute(trx)
}
const SNAPSHOT_LOCK = 7_305_025

export async function listPublished(db: Database | Trx): Promise<PublishedState[]> {
  return db
    .selectFrom('snapshot_document')
    .select(['name', 'version', 'body_hash as bodyHash', 'source'])
    .orderBy('name')
    .execute()
}

/** The published state without hashes, with the time of publication and whether the tables have changed since. */
export async function listPublishedTimes(
  db: Database | Trx,
): Promise<(Omit<PublishedState, 'bodyHash'> & { readonly publishedAt: Date; readonly isPublished: boolean })[]> {
  const rows = await readRows(
    db,
    {
      name: OPERATION_TABLES.snapshot_document.name,
      version: OPERATION_TABLES.snapshot_document.version,
      publishedAt: OPERATION_TABLES.snapshot_document.published_at,
      isPublished: boolean(),
    },
    sql`
    select name, version, published_at as "publishedAt", body_hash <> ${UNPUBLISHED} as "isPublished"
    from snapshot_document order by name`,
  )
  return rows
}

export async function findPublished(trx: Trx, name: string): Promise<PublishedState | undefined> {
  return trx
    .selectFrom('snapshot_document')
    .select(['name', 'version', 'body_hash as bodyHash', 'source'])
    .where('name', '=', name)
    .executeTakeFirst()
}

/** Issues the next version of any document. */
export async function nextVersion(db: Database | Trx): Promise<number> {
  const rows = await readRows(db, { version: bigint() }, sql`select nextval('snapshot_version') as version`)
  return Number(rows[0]?.version ?? 0n)
}

/** Records that a document must be published again, in the transaction of the change. `at` is Unix milliseconds. */
export async function markUnpublished(trx: Trx, name: string, at: number): Promise<void> {
  await trx
    .insertInto('snapshot_document')
    .values({ name, version: 0n, body_hash: UNPUBLISHED, published_at: new Date(at) })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ body_hash: UNPUBLISHED }))
    .execute()
}

/** Replaces the hash of a document whose published body no longer matches the tables. */
export const UNPUBLISHED = ''

/** Stores the state of a publication. `at` is Unix milliseconds. */
export async function upsertPublished(trx: Trx, state: PublishedState, at: number): Promise<void> {
  const { version, bodyHash, source = null } = state
  const row = { version, body_hash: bodyHash, published_at: new Date(at), source }
  await trx
    .insertInto('snapshot_document')
    .values({ name: state.name, ...row })
    .onConflict((conflict) => conflict.column('name').doUpdateSet(row))
    .execute()
}
