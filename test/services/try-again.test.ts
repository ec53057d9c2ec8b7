import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import { tryAgain } from '#dev/seed/try-again.ts'
import { AppError } from '#shared/errors.ts'
import type { TestDatabase } from '#test/support/run/database.ts'
import { createTestDatabase } from '#test/support/run/database.ts'

let test: TestDatabase
let db: Database

beforeAll(async () => {
  test = await createTestDatabase()
  db = test.db
})
afterAll(() => test.drop())

/** Work that a slow server cancels this many times. Returns the number of its tries. */
function slowWork(cancelled: number) {
  let tries = 0
  return () =>
    transact(db, async (trx) => {
      tries += 1
      await sql`set local statement_timeout = 1`.execute(trx)
      if (tries <= cancelled) await sql`select pg_sleep(60)`.execute(trx)
      return tries
    })
}

describe('retried work', () => {
  it('ends although a busy server cancelled its statements', async () => {
    expect(await tryAgain(slowWork(4))).toBe(5)
  })

  it("ends after five tries with the server's error", async () => {
    await expect(tryAgain(slowWork(5))).rejects.toMatchObject({ code: '57014' })
  })

  it('retries only when the market is unavailable for the moment', async () => {
    const tried: string[] = []
    const fail = (code: 'service_unavailable' | 'conflict') => async () => {
      tried.push(code)
      throw new AppError(code)
    }
    await expect(tryAgain(fail('conflict'))).rejects.toMatchObject({ code: 'conflict' })
    await expect(tryAgain(fail('service_unavailable'))).rejects.toMatchObject({ code: 'service_unavailable' })
    expect(tried).toEqual(['conflict', ...Array.from({ length: 5 }, () => 'service_unavailable')])
  })
})
