import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Kysely } from 'kysely'
import { sql } from 'kysely'
import type { Database } from './database.ts'
import { reachDatabase } from './database.ts'
import { readRows } from './rows.ts'
import { OPERATION_TABLES } from './tables/operations.ts'

/** A migration file, applied or not. */
export type Migration = { readonly name: string; readonly checksum: string; readonly text: string }

/** Number of the advisory lock that lets one migrator work at a time. */
const MIGRATION_LOCK = 7_305_001
const LOCK_WAIT_MS = 60_000
const FILE_NAME = /^\d{4}_[a-z0-9_]+\.sql$/
/** A file that exists only in databases older than the baseline, which replaced forty earlier files. */
const BEFORE_BASELINE = '0002_ledger.sql'

/**
 * Runs the files of `directory` that have not run yet, by name, each in a transaction. Returns their names. Several
 * migrators may start at once: one works, the others wait and then find nothing to do. Throws an Error when a file that
 * ran has changed or is missing, and when the database is older than the baseline.
 */
export async function migrate(db: Database, directory: string): Promise<string[]> {
  const files = await readMigrations(directory)
  await reachDatabase(db)
  return db.connection().execute(async (connection) => {
    await sql`select set_config('lock_timeout', ${`${LOCK_WAIT_MS}`}, false),
      set_config('statement_timeout', '0', false)`.execute(connection)
    await sql`select pg_advisory_lock(${sql.lit(MIGRATION_LOCK)})`.execute(connection)
    try {
      return await runNew(connection, files)
    } finally {
      await sql`select pg_advisory_unlock(${sql.lit(MIGRATION_LOCK)})`.execute(connection)
      await sql`reset lock_timeout`.execute(connection)
      await sql`reset statement_timeout`.execute(connection)
    }
  })
}

/** The migration files of a directory by name, each with its SHA-256. */
export async function readMigrations(directory: string): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort()
  return Promise.all(
    names.map(async (name) => {
      if (!FILE_NAME.test(name)) throw new Error(`${name} is not named like 0001_accounts.sql`)
      const text = await readFile(join(directory, name), 'utf8')
      return { name, text, checksum: createHash('sha256').update(text).digest('hex') }
    }),
  )
}

async function runNew<Schema>(connection: Kysely<Schema>, files: readonly Migration[]): Promise<string[]> {
  await sql`create table if not exists migration (
    name text primary key,
    checksum text not null,
    ran_at timestamptz not null default now()
  )`.execute(connection)
  const { name, checksum } = OPERATION_TABLES.migration
  const rows = await readRows(connection, { name, checksum }, sql`select name, checksum from migration`)
  const ran = new Map(rows.map((row) => [row.name, row.checksum]))
  refuseChanged(ran, files)
  const fresh = files.filter((file) => !ran.has(file.name))
  for (const file of fresh) {
    await connection.transaction().execute(async (trx) => {
      await sql.raw(file.text).execute(trx)
      await sql`insert into migration (name, checksum) values (${file.name}, ${file.checksum})`.execute(trx)
    })
  }
  return fresh.map((file) => file.name)
}

function refuseChanged(ran: ReadonlyMap<string, string>, files: readonly Migration[]): void {
  const present = new Map(files.map((file) => [file.name, file.checksum]))
  if (ran.has(BEFORE_BASELINE) && !present.has(BEFORE_BASELINE)) {
    throw new Error(
      'this database is from before the baseline: other files made its schema, which cannot be migrated to the present one. ' +
        'Begin with an empty database: `npm start -- --reset`, or another DATABASE_URL',
    )
  }
  for (const [name, checksum] of ran) {
    if (!present.has(name)) throw new Error(`migration ${name} ran before and is missing now`)
    if (present.get(name) !== checksum) throw new Error(`migration ${name} was changed after it ran`)
  }
}
