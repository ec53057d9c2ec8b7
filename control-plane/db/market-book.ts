import { sql } from 'kysely'
import type { Database } from './database.ts'
import { readRows } from './rows.ts'
import { UNPUBLISHED } from './snapshot.ts'
import { CATALOG_TABLES } from './tables/catalog.ts'
import { OPERATION_TABLES } from './tables/operations.ts'

/** Versions of published documents by name. A document that waits for publication is left out. */
export async function listDocumentVersions(
  db: Database,
  names: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await readRows(
    db,
    { name: OPERATION_TABLES.snapshot_document.name, version: OPERATION_TABLES.snapshot_document.version },
    sql`select name, version from snapshot_document
    where name = any(${[...names]}::text[]) and body_hash <> ${UNPUBLISHED}`,
  )
  return new Map(rows.map(({ name, version }) => [name, Number(version)]))
}

/** The JSON body of a model by any of its names. The caller parses it with the schema of a model. */
export async function findModelBody(db: Database, name: string): Promise<unknown> {
  const [row] = await listNamedBodies(db, [name])
  return row?.body
}

/**
 * The JSON bodies of models by some of their names, each under the requested name. A name without a model is left out.
 */
export async function listNamedBodies(
  db: Database,
  names: readonly string[],
): Promise<{ readonly alias: string; readonly body: unknown }[]> {
  return readRows(
    db,
    { alias: CATALOG_TABLES.model_alias.alias, body: CATALOG_TABLES.model.body },
    sql`select a.alias, m.body from model_alias a join model m on m.id = a.model
    where a.alias = any(${names.map((name) => name.toLowerCase())}::text[])`,
  )
}

/** Filters of a list of models. `search` matches any part of a name or id without case. */
export type ModelChoice = {
  readonly after?: string | undefined
  readonly search?: string | undefined
  readonly modality?: string | undefined
  readonly feature?: string | undefined
  readonly minContext?: number | undefined
  readonly limit: number
}

/** JSON bodies of the models on the market, by id. The caller parses them with the schema of a model. */
export async function listMarketModels(db: Database, choice: ModelChoice): Promise<unknown[]> {
  const { after, search, modality, feature, minContext, limit } = choice
  const pattern = search === undefined ? undefined : `%${search.replace(/[\\%_]/g, '\\$&')}%`
  const conditions = [
    sql`not is_sandbox`,
    ...(after === undefined ? [] : [sql`id > ${after}`]),
    ...(pattern === undefined ? [] : [sql`(id ilike ${pattern} or body ->> 'name' ilike ${pattern})`]),
    ...(modality === undefined
      ? []
      : [sql`(body -> 'inputModalities' ? ${modality} or body -> 'outputModalities' ? ${modality})`]),
    ...(feature === undefined ? [] : [sql`body -> 'features' ? ${feature}`]),
    ...(minContext === undefined ? [] : [sql`(body ->> 'contextLength')::int >= ${minContext}`]),
  ]
  const rows = await readRows(
    db,
    { body: CATALOG_TABLES.model.body },
    sql`select body from model
    where ${sql.join(conditions, sql` and `)} order by id limit ${limit}`,
  )
  return rows.map((row) => row.body)
}
