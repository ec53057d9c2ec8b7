import type { RawBuilder } from 'kysely'
import { sql } from 'kysely'
import type { Model } from '#shared/catalog/model.ts'
import type { Provider } from '#shared/catalog/providers.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { CATALOG_TABLES } from './tables/catalog.ts'
import { nullable, text } from './tables/column.ts'

const PROVIDER_COLUMNS = [
  'id',
  'name',
  'base_url as baseUrl',
  'host',
  'is_trusted as isTrusted',
  'cost_reference_url as costReferenceUrl',
  'endpoints',
  'base_paths as basePaths',
  'file_hosts as fileHosts',
  'hosts',
] as const

/** The providers of the allow-list, by id. */
export async function listProviders(db: Database | Trx): Promise<Provider[]> {
  return db.selectFrom('provider').select(PROVIDER_COLUMNS).orderBy('id').execute()
}

export async function findProvider(db: Database | Trx, id: string): Promise<Provider | undefined> {
  return db.selectFrom('provider').select(PROVIDER_COLUMNS).where('id', '=', id).executeTakeFirst()
}

/**
 * Blocks all other changes of the allow-list until the end of the transaction, so that no two providers share a host.
 */
export async function lockProviders(trx: Trx): Promise<void> {
  await sql`lock table provider in share row exclusive mode`.execute(trx)
}

/** Adds or replaces a provider of the allow-list. `at` is Unix milliseconds. */
export async function upsertProvider(db: Database | Trx, provider: Provider, at: number): Promise<void> {
  const row = {
    name: provider.name,
    base_url: provider.baseUrl,
    host: provider.host,
    is_trusted: provider.isTrusted,
    cost_reference_url: provider.costReferenceUrl,
    endpoints: provider.endpoints,
    base_paths: provider.basePaths,
    file_hosts: provider.fileHosts,
    hosts: provider.hosts,
    updated_at: new Date(at),
  }
  await db
    .insertInto('provider')
    .values({ id: provider.id, ...row })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
    .execute()
}

/** Adds or replaces models. `at` is Unix milliseconds. */
export async function upsertModels(trx: Trx, models: readonly Model[], at: number): Promise<void> {
  await sql`insert into model (id, is_sandbox, body, updated_at)
    select body ->> 'id', (body ->> 'isSandbox')::boolean, body, ${new Date(at)}
    from jsonb_array_elements(${JSON.stringify(models)}::jsonb) as body
    on conflict (id) do update
      set is_sandbox = excluded.is_sandbox, body = excluded.body, updated_at = excluded.updated_at
      where model.body is distinct from excluded.body`.execute(trx)
}

/** The JSON bodies of all models, by id. The caller parses them with the schema of a model. */
export async function listModelBodies(db: Database | Trx): Promise<unknown[]> {
  const rows = await db.selectFrom('model').select('body').orderBy('id').execute()
  return rows.map((row) => row.body)
}

const ALIAS_ROW = {
  alias: CATALOG_TABLES.model_alias.alias,
  model: CATALOG_TABLES.model_alias.model,
}
export type Alias = RowOf<typeof ALIAS_ROW>

/** Removes the aliases that imports gave to models, before the import gives new ones. Manual aliases stay. */
export async function deleteAliases(trx: Trx, models: readonly string[]): Promise<void> {
  await sql`delete from model_alias where model = any(${[...models]}::text[]) and not is_manual`.execute(trx)
}

/** The aliases of one model or of all, in order, each with whether it is manual. */
export async function listAliases(
  db: Database | Trx,
  { model, limit }: { model: string | undefined; limit: number },
): Promise<(Alias & { readonly isManual: boolean })[]> {
  const all = db.selectFrom('model_alias').select(['alias', 'model', 'is_manual as isManual'])
  const chosen = model === undefined ? all : all.where('model', '=', model)
  return chosen.orderBy('alias').limit(limit).execute()
}

/** The manual aliases of the given models. */
export async function listManualAliases(db: Database | Trx, models: readonly string[]): Promise<Alias[]> {
  const rows = await readRows(
    db,
    ALIAS_ROW,
    sql`select alias, model from model_alias
    where is_manual and model = any(${[...models]}::text[]) order by alias`,
  )
  return rows
}

/** Adds a manual alias. The table's key refuses an alias of another model. */
export async function insertManualAlias(trx: Trx, { alias, model }: Alias): Promise<void> {
  await trx.insertInto('model_alias').values({ alias, model, is_manual: true }).execute()
}

/** Removes an alias. Returns the model that had it. */
export async function deleteAlias(trx: Trx, alias: string): Promise<string | undefined> {
  const removed = await trx.deleteFrom('model_alias').where('alias', '=', alias).returning('model').executeTakeFirst()
  return removed?.model
}

/** The canonical ids of exact names. A name is matched in lower case. */
export async function listModelsByName(db: Database | Trx, names: readonly string[]): Promise<Alias[]> {
  const rows = await readRows(
    db,
    ALIAS_ROW,
    sql`select alias, model from model_alias
    where alias = any(${names.map((name) => name.toLowerCase())}::text[])`,
  )
  return rows
}

/** The JSON bodies of some models. The caller parses them with the schema of a model. */
export async function listBodiesOf(db: Database | Trx, models: readonly string[]): Promise<unknown[]> {
  const rows = await readRows(
    db,
    { body: CATALOG_TABLES.model.body },
    sql`select body from model
    where id = any(${[...models]}::text[]) order by id`,
  )
  return rows.map((row) => row.body)
}

/** The unit in words by which each of some models sells its media; null without a unit in the catalogue. */
export async function listMediaUnits(
  db: Database | Trx,
  models: readonly string[],
): Promise<ReadonlyMap<string, string | null>> {
  const rows = await readRows(
    db,
    { model: CATALOG_TABLES.model_alias.model, unit: nullable(text()) },
    sql`select id as model, body ->> 'mediaUnit' as unit from model where id = any(${[...models]}::text[])`,
  )
  return new Map(rows.map(({ model, unit }) => [model, unit]))
}

/** The unit of one model, as an SQL expression. */
export function mediaUnitOf(model: RawBuilder<unknown>): RawBuilder<string | null> {
  return sql`(select m.body ->> 'mediaUnit' from model m where m.id = ${model})`
}

/** Every version of a model's prices, the latest effective time first. */
export async function listPriceVersions(db: Database | Trx, model: string, limit: number): Promise<PriceRow[]> {
  const rows = await readRows(
    db,
    PRICE_ROW,
    sql`select version, model, effective_at as "effectiveAt", source,
      unit_prices as "unitPrices", overrides, minimums
    from model_price where model = ${model} order by effective_at desc, version desc limit ${limit}`,
  )
  return rows
}

/** Removes a provider of the allow-list. The table's references refuse the removal while offers or keys use it. */
export async function deleteProvider(trx: Trx, id: string): Promise<boolean> {
  const deletedRow = await trx.deleteFrom('provider').where('id', '=', id).executeTakeFirst()
  return deletedRow.numDeletedRows > 0n
}

/** Adds aliases. An alias of another model stays with that model and is returned. */
export async function insertAliases(trx: Trx, aliases: readonly Alias[]): Promise<string[]> {
  const rows = await readRows(
    trx,
    { alias: CATALOG_TABLES.model_alias.alias },
    sql`
    with wanted as (
      select * from unnest(${aliases.map((row) => row.alias)}::text[], ${aliases.map((row) => row.model)}::text[])
        as wanted(alias, model)
    ), given as (
      insert into model_alias (alias, model) select alias, model from wanted on conflict (alias) do nothing returning alias
    )
    select alias from wanted where alias not in (select alias from given)`,
  )
  return rows.map((row) => row.alias)
}

/** The canonical id of an exact name, matched without case. */
export async function findModelByName(db: Database | Trx, name: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('model_alias')
    .select('model')
    .where('alias', '=', name.toLowerCase())
    .executeTakeFirst()
  return row?.model
}

/**
 * A version of a model's reference prices. `unitPrices`, `overrides` and `minimums` are JSON as the contract carries
 * them.
 */
const PRICE_ROW = {
  version: CATALOG_TABLES.model_price.version,
  model: CATALOG_TABLES.model_alias.model,
  effectiveAt: CATALOG_TABLES.model_price.effective_at,
  source: CATALOG_TABLES.model_price.source,
  unitPrices: CATALOG_TABLES.model_price.unit_prices,
  overrides: CATALOG_TABLES.model_price.overrides,
  minimums: CATALOG_TABLES.model_price.minimums,
}
export type PriceRow = RowOf<typeof PRICE_ROW>

/** The prices in effect at `at` (Unix milliseconds): for each model the latest version that has begun. */
export async function listPricesAt(db: Database | Trx, at: number, models?: readonly string[]): Promise<PriceRow[]> {
  const chosen = models === undefined ? sql`` : sql`and model = any(${[...models]}::text[])`
  const rows = await readRows(
    db,
    PRICE_ROW,
    sql`select distinct on (model) version, model, effective_at as "effectiveAt", source,
      unit_prices as "unitPrices", overrides, minimums
    from model_price where effective_at <= ${new Date(at)} ${chosen}
    order by model, effective_at desc, version desc`,
  )
  return rows
}

export async function insertPrices(trx: Trx, prices: readonly PriceRow[]): Promise<void> {
  if (prices.length === 0) return
  await trx
    .insertInto('model_price')
    .values(
      prices.map((price) => ({
        version: price.version,
        model: price.model,
        effective_at: price.effectiveAt,
        source: price.source,
        unit_prices: JSON.stringify(price.unitPrices),
        overrides: JSON.stringify(price.overrides),
        minimums: JSON.stringify(price.minimums),
      })),
    )
    .execute()
}
