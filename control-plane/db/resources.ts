import type { Database, Trx } from './database.ts'

/** A stored record. Its reader parses it with the schema of a record. */
export type StoredResource = { readonly id: string; readonly version: number; readonly record: unknown }

/** The current versions, by id. */
export async function listResources(db: Database | Trx): Promise<StoredResource[]> {
  return db
    .selectFrom('resource')
    .innerJoin('resource_version as v', (join) =>
      join.onRef('v.resource', '=', 'resource.id').onRef('v.version', '=', 'resource.version'),
    )
    .select(['resource.id', 'resource.version', 'v.record'])
    .orderBy('resource.id')
    .execute()
}

/** The current version of a record. With `isLocked` no other transaction can change it until this one ends. */
export async function findResource(
  db: Database | Trx,
  id: string,
  isLocked = false,
): Promise<StoredResource | undefined> {
  const query = db
    .selectFrom('resource')
    .innerJoin('resource_version as v', (join) =>
      join.onRef('v.resource', '=', 'resource.id').onRef('v.version', '=', 'resource.version'),
    )
    .select(['resource.id', 'resource.version', 'v.record'])
    .where('resource.id', '=', id)
  return (isLocked ? query.forUpdate('resource') : query).executeTakeFirst()
}

export type NewResourceVersion = {
  readonly id: string
  readonly kind: 'resource' | 'family'
  readonly version: number
  readonly record: object
  readonly source: string
  readonly actor: string
  /** Unix milliseconds. */
  readonly at: number
}

/** Stores the next version of a record, or the first. Its key refuses a concurrent store of the same version. */
export async function insertResourceVersion(trx: Trx, next: NewResourceVersion): Promise<void> {
  const at = new Date(next.at)
  await trx
    .insertInto('resource')
    .values({ id: next.id, kind: next.kind, version: next.version, updated_at: at })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ version: next.version, updated_at: at }))
    .execute()
  await trx
    .insertInto('resource_version')
    .values({
      resource: next.id,
      version: next.version,
      record: JSON.stringify(next.record),
      source: next.source,
      actor: next.actor,
      created_at: at,
    })
    .execute()
}

/** The versions of a record, newest first. */
export async function listResourceVersions(db: Database, id: string, limit: number) {
  return db
    .selectFrom('resource_version')
    .select(['version', 'source', 'actor', 'created_at as createdAt', 'record'])
    .where('resource', '=', id)
    .orderBy('version', 'desc')
    .limit(limit)
    .execute()
}
