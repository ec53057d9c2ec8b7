import type { Database, Trx } from './database.ts'

/** A record as it is stored. Its reader parses it with the schema of a record. */
export type StoredResource = { readonly id: string; readonly version: number; readonly record: unknown }

/** The versions that count, by id. */
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
