import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { migrate, readMigrations } from '#control-plane/db/migrate.ts'
import type { TestDatabase } from '#test/support/run/database.ts'
import { createTestDatabase } from '#test/support/run/database.ts'

const DIRECTORY = fileURLToPath(new URL('../../migrations', import.meta.url))

describe('migration files', () => {
  it('are frozen: each has the checksum that was recorded with it', async () => {
    const files = await readMigrations(DIRECTORY)
    const lines = files.map(({ checksum, name }) => `${checksum}  ${name}\n`)
    await expect(lines.join('')).toMatchFileSnapshot(`${DIRECTORY}/checksums.txt`)
  })
})

describe('the migrator', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database.drop())

  /** Runs the migrator after the record of earlier migrations was changed. */
  async function migrateAfter(change: string): Promise<string> {
    await sql.raw('create table kept as select * from migration').execute(database.db)
    await sql.raw(change).execute(database.db)
    const outcome = await migrate(database.db, DIRECTORY).then(
      (ran) => `ran ${ran.length}`,
      (error: unknown) => (error instanceof Error ? error.message : 'no error'),
    )
    await sql.raw('delete from migration').execute(database.db)
    await sql.raw('insert into migration select * from kept').execute(database.db)
    await sql.raw('drop table kept').execute(database.db)
    return outcome
  }

  it('does nothing in an up-to-date database', async () => {
    expect(await migrate(database.db, DIRECTORY)).toEqual([])
  })

  it('tells the owner of a database from before the baseline to begin anew, and how', async () => {
    const outcome = await migrateAfter(
      "update migration set checksum = 'x', name = replace(name, '0002_organizations', '0002_ledger')",
    )
    expect(outcome).toContain('before the baseline')
    expect(outcome).toContain('npm start -- --reset')
  })

  it('refuses a file that was changed after it ran, and one that is missing', async () => {
    expect(await migrateAfter("update migration set checksum = 'x' where name = '0001_accounts.sql'")).toBe(
      'migration 0001_accounts.sql was changed after it ran',
    )
    expect(await migrateAfter("insert into migration (name, checksum) values ('0999_gone.sql', 'x')")).toBe(
      'migration 0999_gone.sql ran before and is missing now',
    )
  })
})
