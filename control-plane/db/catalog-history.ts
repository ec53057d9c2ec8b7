import { sql } from 'kysely'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { CATALOG_TABLES } from './tables/catalog.ts'

/** A changed field of a model. `before` and `after` are plain JSON, null for an absent value. */
const CATALOG_CHANGE_ROW = {
  id: CATALOG_TABLES.catalog_change.id,
  at: CATALOG_TABLES.catalog_change.at,
  effectiveAt: CATALOG_TABLES.catalog_change.effective_at,
  model: CATALOG_TABLES.catalog_change.model,
  field: CATALOG_TABLES.catalog_change.field,
  before: CATALOG_TABLES.catalog_change.before,
  after: CATALOG_TABLES.catalog_change.after,
  source: CATALOG_TABLES.catalog_change.source,
  actor: CATALOG_TABLES.catalog_change.actor,
}
export type CatalogChange = RowOf<typeof CATALOG_CHANGE_ROW>

/** Rows of one insert. This stays far below the limit of parameters in a statement. */
const INSERT_BATCH = 1_000

export async function insertCatalogChanges(trx: Trx, changes: readonly CatalogChange[]): Promise<void> {
  for (let from = 0; from < changes.length; from += INSERT_BATCH) {
    const rows = changes.slice(from, from + INSERT_BATCH).map((change) => ({
      id: change.id,
      at: change.at,
      effective_at: change.effectiveAt,
      model: change.model,
      field: change.field,
      before: jsonOrNull(change.before),
      after: jsonOrNull(change.after),
      source: change.source,
      actor: change.actor,
    }))
    await trx.insertInto('catalog_change').values(rows).execute()
  }
}

function jsonOrNull(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value)
}

/** Changes of one model or of all, newest first, below an id. */
export async function listCatalogChanges(
  db: Database | Trx,
  { model, below, limit }: { model: string | undefined; below: string | undefined; limit: number },
): Promise<CatalogChange[]> {
  const ofModel = model === undefined ? sql`` : sql`and model = ${model}`
  const older = below === undefined ? sql`` : sql`and id < ${below}`
  const rows = await readRows(
    db,
    CATALOG_CHANGE_ROW,
    sql`select id, at, effective_at as "effectiveAt", model, field, before, after,
      source, actor
    from catalog_change where true ${ofModel} ${older} order by id desc limit ${limit}`,
  )
  return rows
}

/** Lets one writer of the catalogue work at a time. The lock ends with the transaction. */
export async function lockCatalog(trx: Trx): Promise<void> {
  await sql`select pg_advisory_xact_lock(${sql.lit(CATALOG_LOCK)})`.execute(trx)
}
const CATALOG_LOCK = 7_305_090
