import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkMoney } from '#control-plane/check-ledger/check.ts'
import { transact } from '#control-plane/db/database.ts'
import { createMoneyLedger, moneyTransaction } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { drainAccountChanges, postTransaction, requireSameEntries } from '#control-plane/services/ledger/ledger.ts'
import { archiveMonths, keepPartitions } from '#control-plane/services/retention/partitions.ts'
import type { Time } from '#shared/clock.ts'
import { systemClock } from '#shared/clock.ts'
import type { AccountId } from '#shared/ids.ts'
import { createIds } from '#shared/ids.ts'
import type { GateWorld } from '#test/support/books/gate.ts'
import { ids, log, startGateWorld } from '#test/support/books/gate.ts'
import { balanceOf, newAccount } from '#test/support/books/ledger.ts'
import { eventText } from '#test/support/books/usage-events.ts'

/** Months ago, in the middle of the month. */
function monthsAgo(months: number): number {
  const now = new Date()
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 15)
}
const monthName = (months: number) => new Date(monthsAgo(months)).toISOString().slice(0, 7)
const clockAt = (at: number): Time => ({ ...systemClock, now: () => at })

let world: GateWorld
let buyer: AccountId
let seller: AccountId
let events: string[]
let deposit: { account: AccountId; amount: bigint }[]

/** Calls and a deposit in each of five months, new for each test, because a detached month stays detached. */
beforeEach(async () => {
  world = await startGateWorld()
  buyer = await newAccount(world.db, 'buyer_credit', 1_000_000)
  seller = await newAccount(world.db, 'seller_available')
  events = []
  deposit = [
    { account: buyer, amount: 5n },
    { account: 'acc_promo', amount: -5n },
  ]
  for (const months of [4, 3, 2, 1, 0]) {
    const ids = createIds(clockAt(monthsAgo(months)))
    await keepPartitions({ db: world.db, clock: clockAt(monthsAgo(months)), log })
    const rids = [ids.ulid(), ids.ulid()]
    const texts = rids.map((rid) => eventText({ rid, account: buyer, sellerAccount: seller, charge: 1_000 + months }))
    events.push(...texts)
    await postBatch(ctx(), { events: texts, source: 'test' })
    await transact(world.db, (trx) =>
      postTransaction(moneyTransaction(trx), {
        id: ids.ulid(),
        key: `grant:m${months}`,
        kind: 'grant',
        entries: deposit,
      }),
    )
  }
  await drainAccountChanges(ctx())
})
afterEach(() => world.stop())

const ctx = () => ({
  db: world.db,
  ledger: createMoneyLedger(world.db),
  gate: world.gate,
  clock: systemClock,
  ids,
  log,
})
const archive = (months: number) => archiveMonths(ctx(), months)
async function breaches(): Promise<string[]> {
  const config = { databaseUrl: world.databaseUrl, redisUrl: world.redisUrl, journalDir: undefined }
  const { findings } = await checkMoney(config, { isQuiesced: false, maxLooks: 1 })
  return findings.filter(({ state }) => state === 'breach').map(({ id, detail }) => `${id}: ${detail}`)
}
const one = async (query: ReturnType<typeof sql<{ value: string }>>) => (await query.execute(world.db)).rows[0]?.value

describe('a month past its retention', () => {
  it('stays while no retention is set, and while it is younger than two months', async () => {
    expect(await archive(0)).toEqual([])
    expect(await breaches()).toEqual([])
    await sql`insert into usage_poison (payload_hash, rid, reason, detail, event, source)
      values (${'0'.repeat(64)}, ${createIds(clockAt(monthsAgo(4))).ulid()}, 'a', 'b', 'c', 'd')`.execute(world.db)
    // A case of the second oldest month waits for a person. The oldest month is empty and was made with the database.
    expect(await archive(2)).toEqual([monthName(5)])
    await sql`delete from usage_poison`.execute(world.db)
    expect(await archive(2)).toEqual([monthName(4), monthName(3)])
  })

  it('is detached with its entries carried as sums, and the checker still agrees', async () => {
    const balance = await balanceOf(world.db, buyer)
    expect(await archive(2)).toEqual([monthName(5), monthName(4), monthName(3)])
    expect(await archive(2)).toEqual([])
    expect(await balanceOf(world.db, buyer)).toBe(balance)
    expect(await breaches()).toEqual([])
    expect(await one(sql`select count(*)::text as value from settlement`)).toBe('6')
    expect(await one(sql`select count(*)::text as value from every_settlement`)).toBe('10')
    const carried = sql<{
      value: string
    }>`select sum(amount)::text as value from carried_total where account = ${buyer}`
    expect(await one(carried)).toBe(String(-2 * 1_004 - 2 * 1_003 + 10))
  })

  it('keeps its tables, which accept no rows', async () => {
    await archive(2)
    const part = `settlement_${monthName(4).replace('-', '_')}`
    expect(await one(sql`select count(*)::text as value from ${sql.table(part)}`)).toBe('2')
    await expect(sql`delete from ${sql.table(part)}`.execute(world.db)).rejects.toThrow(/never changed/)
    await expect(sql`update ${sql.table(part)} set model = 'x'`.execute(world.db)).rejects.toThrow(/never changed/)
    await expect(sql`truncate ${sql.table(part)}`.execute(world.db)).rejects.toThrow(/never changed/)
    const copy = sql`insert into ${sql.table(part)} select * from settlement limit 1`
    await expect(copy.execute(world.db)).rejects.toThrow()
    await sql`alter table ${sql.table(part)} disable trigger all`.execute(world.db)
    expect((await breaches())[0]).toMatch(/^I2: .*lets/)
    await sql`alter table ${sql.table(part)} enable trigger all`.execute(world.db)
  })

  it('is not booked again: neither its calls, nor new calls with its time, nor its keys', async () => {
    await archive(2)
    const before = await balanceOf(world.db, buyer)
    const late = eventText({
      rid: createIds(clockAt(monthsAgo(3))).ulid(),
      account: buyer,
      sellerAccount: seller,
      charge: 50,
    })
    const report = await postBatch(ctx(), { events: [...events, late], source: 'test' })
    expect(report).toEqual({ posted: 0, repeats: 6, conflicts: 0, poisoned: 5 })
    expect(await balanceOf(world.db, buyer)).toBe(before)
    const { rows } = await sql<{ detail: string }>`select distinct detail from usage_poison`.execute(world.db)
    expect(rows).toEqual([{ detail: '23514 settlement_archived' }])
    const again = (entries: typeof deposit) =>
      transact(world.db, async (trx) => {
        const ledger = moneyTransaction(trx)
        const input = { id: createIds(systemClock).ulid(), key: 'grant:m4', kind: 'grant' as const, entries }
        expect(await postTransaction(ledger, input)).toBeUndefined()
        await requireSameEntries(ledger, 'grant:m4', entries)
      })
    await again(deposit)
    const other = deposit.map((line) => ({ ...line, amount: line.amount * 2n }))
    await expect(again(other)).rejects.toMatchObject({ code: 'conflict' })
    expect(await breaches()).toEqual([])
  })
})
