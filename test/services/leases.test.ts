import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createLease } from '#control-plane/services/leases.ts'
import { MINUTE, systemClock } from '#shared/clock.ts'
import type { TestDatabase } from '#test/support/run/database.ts'
import { createTestDatabase } from '#test/support/run/database.ts'

const TTL_MS = 30 * MINUTE
let database: TestDatabase
let elapsed = 0

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

function leaseOf(name: string, owner: string) {
  const clock = { ...systemClock, monotonic: () => elapsed }
  const lease = createLease({ db: database.db, clock }, { name, owner, ttlMs: TTL_MS })
  let turns = 0
  const turn = () =>
    lease.run(async () => {
      turns += 1
    })
  return { turn, end: lease.end, turns: () => turns }
}

const left = async (name: string) => {
  const { rows } = await sql<{ ms: number }>`select (extract(epoch from expires_at - now()) * 1000)::float8 as ms
    from worker_lease where name = ${name}`.execute(database.db)
  return rows[0]?.ms
}
const age = (name: string, ms: number) =>
  sql`update worker_lease set expires_at = expires_at - ${ms} * interval '1 millisecond' where name = ${name}`.execute(
    database.db,
  )

it('lets one owner work, and the next one after its end', async () => {
  const [one, two] = [leaseOf('work', 'one'), leaseOf('work', 'two')]
  expect([await one.turn(), await two.turn(), await one.turn(), await two.turn()]).toEqual([true, false, true, false])
  await one.end()
  expect([await two.turn(), await one.turn()]).toEqual([true, false])
  expect([one.turns(), two.turns()]).toEqual([2, 1])
})

it('is renewed after a third of its time, and not before each turn', async () => {
  const one = leaseOf('often', 'one')
  await one.turn()
  await age('often', TTL_MS / 4)
  elapsed += TTL_MS / 4
  await one.turn()
  expect(await left('often')).toBeLessThan(TTL_MS * 0.8)
  elapsed += TTL_MS / 10
  await one.turn()
  expect(await left('often')).toBeGreaterThan(TTL_MS * 0.9)
})

it('passes to another owner when its time is over, and its old owner notices at the renewal', async () => {
  const [one, two] = [leaseOf('late', 'one'), leaseOf('late', 'two')]
  await one.turn()
  await age('late', TTL_MS)
  elapsed += TTL_MS
  expect([await two.turn(), await one.turn(), await one.turn()]).toEqual([true, false, false])
})

it('is requested again after its database was away', async () => {
  const one = leaseOf('fails', 'one')
  await one.turn()
  elapsed += TTL_MS
  await sql`alter table worker_lease rename to gone`.execute(database.db)
  await expect(one.turn()).rejects.toThrow(/worker_lease/)
  await sql`alter table gone rename to worker_lease`.execute(database.db)
  expect([await one.turn(), one.turns()]).toEqual([true, 2])
})
