import { fileURLToPath } from 'node:url'
import { readDatabaseUrl } from './config.ts'
import { createDatabase } from './db/database.ts'
import { migrate } from './db/migrate.ts'

/** Migrates the database of `DATABASE_URL` to the newest schema and prints the migrations that ran. */
const db = createDatabase(readDatabaseUrl().reveal(), { max: 2 })
try {
  const ran = await migrate(db, fileURLToPath(new URL('../migrations', import.meta.url)))
  process.stdout.write(ran.length === 0 ? 'nothing to migrate\n' : `${ran.map((name) => `ran ${name}`).join('\n')}\n`)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : 'the migration failed'}\n`)
  process.exitCode = 1
} finally {
  await db.destroy()
}
