import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import type { Database } from '#control-plane/db/database.ts'
import { createDatabase } from '#control-plane/db/database.ts'
import { migrate, readMigrations } from '#control-plane/db/migrate.ts'
import { untilDayLasts } from './until-day-lasts.ts'

const MIGRATIONS = fileURLToPath(new URL('../../../migrations', import.meta.url))
/** Number of the advisory lock under which one test file makes the template while the others wait. */
const TEMPLATE_LOCK = 7_305_099
/** Limits for a busy machine. Waits for locks keep those of production, because tests wait for their end. */
export const PATIENT = { connectMs: 60_000, statementMs: 60_000, idleInTransactionMs: 60_000 }
let made = 0

export type TestDatabase = {
  readonly db: Database
  readonly url: string
  /** Copies all contents. The returned function restores them. Both end every connection to the database. */
  backUp(): Promise<() => Promise<void>>
  drop(): Promise<void>
}

/**
 * Creates a migrated database for one test file. It is cloned from a template that the first file makes. `url` is the
 * server of the run by default; a bench passes another.
 */
export async function createTestDatabase(server?: string, max = 10): Promise<TestDatabase> {
  await untilDayLasts()
  // The import is here, because a bench runs outside a test run and cannot load the module.
  const serverUrl = server ?? (await import('vitest')).inject('postgresUrl')
  const admin = createDatabase(serverUrl, { max: 1, limits: PATIENT })
  try {
    const name = `test_${process.pid}_${Date.now().toString(36)}_${made++}`
    await admin.connection().execute(async (connection) => {
      await sql`select set_config('lock_timeout', '60s', false), set_config('statement_timeout', '60s', false)`.execute(
        connection,
      )
      await sql`select pg_advisory_lock(${sql.lit(TEMPLATE_LOCK)})`.execute(connection)
      const template = await makeTemplate(connection, serverUrl)
      await sql`create database ${sql.id(name)} template ${sql.id(template)}`.execute(connection)
      await sql`select pg_advisory_unlock(${sql.lit(TEMPLATE_LOCK)})`.execute(connection)
    })
    const url = withDatabase(serverUrl, name)
    const db = createDatabase(url, { max, limits: PATIENT })
    return { db, url, backUp: () => backUp(serverUrl, name), drop: () => drop(db, serverUrl, name) }
  } finally {
    await admin.destroy()
  }
}

async function makeTemplate(admin: Database, serverUrl: string): Promise<string> {
  const migrations = await readMigrations(MIGRATIONS)
  const version = createHash('sha256')
    .update(migrations.map((file) => file.name + file.checksum).join())
    .digest('hex')
  const template = `template_${version.slice(0, 16)}`
  const { rows } = await sql`select 1 from pg_database where datname = ${template}`.execute(admin)
  if (rows.length > 0) return template
  const draft = `${template}_draft`
  await sql`drop database if exists ${sql.id(draft)} with (force)`.execute(admin)
  await sql`create database ${sql.id(draft)}`.execute(admin)
  const db = createDatabase(withDatabase(serverUrl, draft), { max: 1, limits: PATIENT })
  try {
    await migrate(db, MIGRATIONS)
  } finally {
    await db.destroy()
  }
  await sql`alter database ${sql.id(draft)} rename to ${sql.id(template)}`.execute(admin)
  return template
}

async function backUp(serverUrl: string, name: string): Promise<() => Promise<void>> {
  const copy = `${name}_copy_${made++}`
  const alone = async (from: string, to: string, isReplaced: boolean) => {
    const admin = createDatabase(serverUrl, { max: 1, limits: PATIENT })
    try {
      await sql`alter database ${sql.id(name)} allow_connections false`.execute(admin)
      await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`.execute(admin)
      if (isReplaced) await sql`drop database ${sql.id(to)} with (force)`.execute(admin)
      await sql`create database ${sql.id(to)} template ${sql.id(from)}`.execute(admin)
      if (!isReplaced) await sql`alter database ${sql.id(name)} allow_connections true`.execute(admin)
    } finally {
      await admin.destroy()
    }
  }
  await alone(name, copy, false)
  return () => alone(copy, name, true)
}

async function drop(db: Database, serverUrl: string, name: string): Promise<void> {
  await db.destroy()
  const admin = createDatabase(serverUrl, { max: 1, limits: PATIENT })
  // A checkpoint of a busy disk outlasts the usual limit of a statement.
  await sql`set statement_timeout = 0`.execute(admin)
  await sql`drop database if exists ${sql.id(name)} with (force)`.execute(admin)
  await admin.destroy()
}

function withDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return url.href
}
