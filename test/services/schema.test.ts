import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TABLES } from '#control-plane/db/tables.ts'
import { describeSchema } from '#test/support/facts/schema-text.ts'
import type { TestDatabase } from '#test/support/run/database.ts'
import { createTestDatabase } from '#test/support/run/database.ts'

const FILE = fileURLToPath(new URL('../../docs/schema.sql', import.meta.url))

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

describe('docs/schema.sql', () => {
  it('is the schema after all migrations', async () => {
    await expect(await describeSchema(database.db, Object.keys(TABLES))).toMatchFileSnapshot(FILE)
  })

  it('describes the purpose of each table and view', async () => {
    const text = await describeSchema(database.db, Object.keys(TABLES))
    const silent = text.split('\n\n').filter((part) => /^create (table|view)/.test(part))
    expect(silent.map((part) => part.split('\n', 1)[0])).toEqual([])
  })
})
