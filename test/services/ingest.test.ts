import { randomBytes } from 'node:crypto'
import { Queue } from 'bullmq'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '#control-plane/db/database.ts'
import { findSettledCall } from '#control-plane/db/settlements.ts'
import { createRedisGate } from '#control-plane/ports/gate/redis-gate.ts'
import { splitCharges } from '#control-plane/services/booking/charge-entries.ts'
import type { IngestCtx } from '#control-plane/services/booking/ingest.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { compareBalances, sweepHolds } from '#control-plane/services/booking/sweep.ts'
import { drainAccountChanges } from '#control-plane/services/ledger/ledger.ts'
import { startPostUsage } from '#control-plane/workers/post-usage.ts'
import { systemClock } from '#shared/clock.ts'
import { QUEUES } from '#shared/contract/redis-keys.ts'
import type { UsageBatch } from '#shared/contract/usage-event.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'
import type { AccountId, RequestId } from '#shared/ids.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import { keptBps, microUsd, splitCharge } from '#shared/money.ts'
import { Secret } from '#shared/secret.ts'
import type { GateWorld, Node } from '#test/support/books/gate.ts'
import { figures, ids, log, reserveRequest, startGateWorld, untilOpen } from '#test/support/books/gate.ts'
import { balanceOf, grant, newAccount } from '#test/support/books/ledger.ts'
import type { EventFields } from '#test/support/books/usage-events.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import { until } from '#test/support/run/until.ts'

let world: GateWorld
let db: Database
let ctx: IngestCtx
let node: Node
let seller: AccountId

beforeAll(async () => {
  world = await startGateWorld()
  db = world.db
  ctx = { ledger: world.ledger, gate: world.gate, clock: systemClock, ids, log }
  node = await world.node('node-1')
  await untilOpen(node)
  seller = await newAccount(db, 'seller_available')
})
afterAll(() => world.stop())

const post = (...events: string[]) => postBatch(ctx, { events, source: 'test' })
const rowsOf = async (table: 'settlement' | 'usage_conflict', rid: string) =>
  (await sql<Record<string, unknown>>`select * from ${sql.table(table)} where rid = ${rid}`.execute(db)).rows
const entriesOf = async (tx: string) => {
  const { rows } = await sql<{ account: string; amount: bigint }>`select account, amount from ledger_entry
    where tx = ${tx}`.execute(db)
  return new Map(rows.map((row) => [row.account, Number(row.amount)]))
}
const poisonOf = async (text: string) =>
  (await db.selectFrom('usage_poison').selectAll().where('event', '=', text).execute()).at(0)

/** A funded buyer with a call that was captured in the gate. */
async function capture(account: AccountId, charge: number): Promise<{ rid: RequestId; text: string }> {
  const hold = await node.funds.reserve(reserveRequest(account, { want: 5_000, min: 1_000 }))
  const text = eventText({ rid: hold.rid, account, sellerAccount: seller, charge })
  expect(await node.funds.capture(hold, microUsd(charge), text)).toBe('accepted')
  return { rid: hold.rid, text }
}

async function buyer(grantMicro = 100_000): Promise<AccountId> {
  const account = await newAccount(db, 'buyer_credit', grantMicro)
  await drainAccountChanges(ctx)
  return account
}

describe('posting', () => {
  it('books a captured call, moves the money once and releases the hold in the gate', async () => {
    const account = await buyer()
    const before = await balanceOf(db, seller)
    const { rid, text } = await capture(account, 1_001)
    expect(await figures(world.gate, account)).toEqual({ p: 100_000, h: 0, u: 1_001, free: 98_999 })

    expect(await post(text)).toEqual({ posted: 1, repeats: 0, conflicts: 0, poisoned: 0 })
    expect(await figures(world.gate, account)).toEqual({ p: 98_999, h: 0, u: 0, free: 98_999 })
    expect(await entriesOf(rid)).toEqual(
      new Map<string, number>([
        [account, -1_001],
        [seller, 950],
        [PLATFORM_ACCOUNTS.fee, 51],
      ]),
    )
    expect(await balanceOf(db, seller)).toBe(before + 950)
    expect(await rowsOf('settlement', rid)).toMatchObject([
      { account, charge: 1_001n, hold_amount: 5_000n, input_tokens: 120n, cache_read_tokens: 30n, ttft_ms: 210 },
    ])
    const booked = await findSettledCall(db, account, rid)
    const [event, postedAt] = await world.redis.hmget(`{m00}:h:${rid}`, 'ev', 'pa')
    expect(postedAt).toBe(String(booked?.posted_at.getTime()))
    expect(readUsageEvent(event ?? '')).toMatchObject({
      rid,
      chargeMicro: 1_001n,
      attempts: [{ provider: 'sandbox-a' }],
    })
    expect(await drainAccountChanges(ctx)).toBe(0)
  })

  it('books a call without a charge as a row without entries', async () => {
    const account = await buyer()
    const text = eventText({ account, sellerAccount: null, charge: 0 })
    const { rid } = JSON.parse(text)
    expect(await post(text)).toMatchObject({ posted: 1 })
    expect(await rowsOf('settlement', rid)).toHaveLength(1)
    expect(await entriesOf(rid)).toEqual(new Map())
  })

  it('pays the seller from the shortfall when the buyer has too little, and leaves the buyer at zero', async () => {
    const account = await buyer(300)
    const owed = await balanceOf(db, PLATFORM_ACCOUNTS.shortfall)
    const [first, second] = [ids.ulid(), ids.ulid()]
    const fields = { account, sellerAccount: seller }
    await post(eventText({ ...fields, rid: first, charge: 200 }), eventText({ ...fields, rid: second, charge: 200 }))
    expect(await balanceOf(db, account)).toBe(0)
    expect(await balanceOf(db, PLATFORM_ACCOUNTS.shortfall)).toBe(owed - 100)
    expect(await entriesOf(second)).toEqual(
      new Map<string, number>([
        [account, -100],
        [PLATFORM_ACCOUNTS.shortfall, -100],
        [seller, 190],
        [PLATFORM_ACCOUNTS.fee, 10],
      ]),
    )
  })
})

describe('repetition', () => {
  it('books three deliveries in any order, and two at once, as one', async () => {
    const account = await buyer()
    const calls = []
    for (let index = 0; index < 20; index++) calls.push(await capture(account, 100 + index))
    const texts = calls.map((call) => call.text)
    const reports = await Promise.all([post(...texts), post(...texts.toReversed()), post(...texts.slice(5, 12))])
    expect(reports.reduce((sum, report) => sum + report.posted, 0)).toBe(20)
    expect(reports.reduce((sum, report) => sum + report.repeats, 0)).toBe(27)
    expect(await post(...texts, ...texts)).toEqual({ posted: 0, repeats: 40, conflicts: 0, poisoned: 0 })
    const spent = texts.reduce((sum, _, index) => sum + 100 + index, 0)
    expect(await balanceOf(db, account)).toBe(100_000 - spent)
    expect(await figures(world.gate, account)).toEqual({ p: 100_000 - spent, h: 0, u: 0, free: 100_000 - spent })
  })

  it('keeps the first of two events with one request id and sets the other aside', async () => {
    const account = await buyer()
    const { rid, text } = await capture(account, 700)
    const other = eventText({ rid, account, sellerAccount: seller, charge: 900 })
    expect(await post(text)).toMatchObject({ posted: 1 })
    expect(await post(other)).toEqual({ posted: 0, repeats: 0, conflicts: 1, poisoned: 0 })
    expect(await post(other)).toMatchObject({ conflicts: 1 })
    expect(await balanceOf(db, account)).toBe(99_300)
    expect(await rowsOf('usage_conflict', rid)).toMatchObject([{ event: other, source: 'test' }])
  })

  it('books a call once that is in its batch twice', async () => {
    const account = await buyer()
    const { text } = await capture(account, 700)
    const free = eventText({ account, sellerAccount: null, charge: 0 })
    expect(await post(text, free, text, free)).toEqual({ posted: 2, repeats: 2, conflicts: 0, poisoned: 0 })
    expect(await figures(world.gate, account)).toEqual({ p: 99_300, h: 0, u: 0, free: 99_300 })
  })

  it('keeps one of two that contradict each other within a batch', async () => {
    const account = await buyer()
    const rid = ids.ulid()
    const fields = { rid, account, sellerAccount: seller }
    const report = await post(eventText({ ...fields, charge: 10 }), eventText({ ...fields, charge: 20 }))
    expect(report).toEqual({ posted: 1, repeats: 0, conflicts: 1, poisoned: 0 })
  })
})

describe('poison', () => {
  const cases: [string, string, EventFields, Record<string, unknown>][] = [
    ['a field that is missing', 'schema', {}, { usage: undefined }],
    ['an amount below zero', 'schema', {}, { chargeMicro: '-5' }],
    ['a request id that is no ULID', 'schema', {}, { rid: 'u'.repeat(26) }],
    ['an instant beyond all time', 'schema', { startedAt: 9e15 }, {}],
    ['an unknown account', 'unknown_account', { account: 'acc_nobody' }, {}],
    ['an unknown seller', 'unknown_seller', { sellerAccount: 'acc_nobody' }, {}],
    ['a platform account as the seller', 'unknown_seller', { sellerAccount: 'acc_platform_fee' }, {}],
    ['a charge without a seller', 'no_seller', { sellerAccount: null }, {}],
    ['a split that does not add up', 'sum_mismatch', {}, { feeMicro: '51' }],
    ['a split that is not floored', 'sum_mismatch', { charge: 1_001 }, { sellerNetMicro: '951', feeMicro: '50' }],
    ['a charge above its hold', 'over_hold', { charge: 6_000, hold: 5_000 }, {}],
    ['a rail that is booked elsewhere', 'rail', {}, { rail: 'x402-exact' }],
    ['text that Postgres cannot hold', 'refused', {}, { requestedModel: 'a\u0000b' }],
    ['an endless model name', 'schema', { model: 'm'.repeat(5_000) }, {}],
    ['an endless word of a provider', 'schema', {}, { finishReason: 's'.repeat(5_000) }],
    ['an endless record of a rail', 'schema', {}, { payment: { proof: 'p'.repeat(50_000) } }],
  ]
  it.each(cases)('sets %s aside and posts the rest of the batch', async (_, reason, fields, changes) => {
    const account = await buyer()
    const good = [1, 2, 3].map((charge) => eventText({ account, sellerAccount: seller, charge }))
    const bad = eventText({ account, sellerAccount: seller, ...fields }, changes)
    const [first = '', ...rest] = good
    expect(await post(first, bad, ...rest)).toEqual({ posted: 3, repeats: 0, conflicts: 0, poisoned: 1 })
    expect(await poisonOf(bad)).toMatchObject({ reason, source: 'test', times_seen: 1 })
    await post(bad, bad)
    expect(await poisonOf(bad)).toMatchObject({ times_seen: 2 })
    expect(await balanceOf(db, account)).toBe(99_994)
  })

  it('sets malformed JSON aside', async () => {
    expect(await post('{', '\0')).toMatchObject({ posted: 0, poisoned: 2 })
    expect(await poisonOf('\\0')).toMatchObject({ rid: null, reason: 'schema' })
  })

  it('leaves the money of such a call reserved', async () => {
    const account = await buyer()
    const hold = await node.funds.reserve(reserveRequest(account, { want: 5_000 }))
    const text = eventText({ rid: hold.rid, account, sellerAccount: 'acc_nobody', charge: 40 })
    await node.funds.capture(hold, microUsd(40), text)
    expect(await post(text)).toMatchObject({ poisoned: 1 })
    expect(await figures(world.gate, account)).toMatchObject({ p: 100_000, u: 40 })
  })
})

describe('an event that Postgres cannot store', () => {
  it('is recognised by its content, not as a temporary failure', async () => {
    // An index row has at most a third of a page.
    await sql`create table wide (name text primary key)`.execute(db)
    const name = randomBytes(12_000).toString('base64')
    const error = await sql`insert into wide values (${name})`.execute(db).catch((thrown: unknown) => thrown)
    expect(world.ledger.refusalOf(error)).toMatchObject({ code: '54000' })
    expect(world.ledger.isTransient(error)).toBe(false)
  })
})

describe('many posters', () => {
  it('book 5,000 events of three accounts from four sides at once without a deadlock', async () => {
    const accounts = await Promise.all([buyer(9e9), buyer(9e9), buyer(9e9)])
    const sellers = await Promise.all([1, 2, 3].map(() => newAccount(db, 'seller_available')))
    const texts: string[] = []
    const spent = new Map<string, number>()
    for (let index = 0; index < 5_000; index++) {
      const account = accounts[index % 3] ?? 'acc_none'
      const charge = 1 + ((index * 7_919) % 997)
      spent.set(account, (spent.get(account) ?? 0) + charge)
      const sellerAccount = sellers[(index * 31) % 3] ?? null
      texts.push(eventText({ account, sellerAccount, charge }))
    }
    // Every event comes twice, the second time among others.
    const batches: string[][] = []
    for (let start = 0; start < texts.length; start += 100) {
      batches.push(
        texts.slice(start, start + 100),
        texts.filter((_, index) => index % 50 === start / 100),
      )
    }
    const total = { posted: 0, repeats: 0, conflicts: 0, poisoned: 0 }
    await Promise.all(
      [1, 2, 3, 4].map(async () => {
        for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
          const report = await post(...batch)
          for (const key of ['posted', 'repeats', 'conflicts', 'poisoned'] as const) total[key] += report[key]
        }
      }),
    )
    expect(total).toEqual({ posted: 5_000, repeats: 5_000, conflicts: 0, poisoned: 0 })
    for (const account of accounts) {
      const left = 9e9 - (spent.get(account) ?? 0)
      expect(await balanceOf(db, account)).toBe(left)
      expect(await figures(world.gate, account)).toMatchObject({ p: left, u: 0 })
    }
    const { rows } = await sql<{ deadlocks: bigint }>`select pg_stat_force_next_flush(), deadlocks
      from pg_stat_database where datname = current_database()`.execute(db)
    expect(rows[0]?.deadlocks).toBe(0n)
  })
})

describe('the worker', () => {
  it('posts the batches of the queue and sets a malformed batch aside', async () => {
    const account = await buyer()
    const queue = new Queue(QUEUES.usage, { connection: { url: world.redisUrl } })
    const calls = [await capture(account, 60), await capture(account, 70)]
    const named: UsageBatch = { v: 1, id: ids.make('btc'), node: 'node-1', captured: [], events: [] }
    await queue.add('batch', { ...named, events: calls.slice(0, 1).map((call) => call.text) })
    // The gate has the text of one event, which is delivered twice. Another event was never captured.
    const captured = [...calls.slice(1).map((call) => call.rid), ids.requestId()].map((rid) => [rid, account])
    await queue.add('batch', { ...named, captured })
    await queue.add('batch', { ...named, captured })
    await queue.add('batch', { v: 1, strange: account })
    const worker = startPostUsage({ ...ctx, redisUrl: new Secret(world.redisUrl) })
    await until('the batch is posted', 10_000, async () => (await balanceOf(db, account)) === 99_870)
    await until('the queue is empty', 5_000, async () => {
      const counts = await queue.getJobCounts('waiting', 'active', 'delayed', 'failed')
      return Object.values(counts).every((count) => count === 0)
    })
    await worker.stop()
    await queue.close()
    expect(await figures(world.gate, account)).toMatchObject({ p: 99_870, u: 0 })
    const { rows } = await sql`select 1 from usage_poison where reason = 'batch_schema'
      and event like ${`%${account}%`}`.execute(db)
    expect(rows).toHaveLength(1)
  })

  it('skips a batch whose data the queue has lost, and continues', async () => {
    const account = await buyer()
    const queue = new Queue(QUEUES.usage, { connection: { url: world.redisUrl } })
    await queue.pause()
    const poison = () => sql`select 1 from usage_poison`.execute(db)
    const before = (await poison()).rows.length
    const lost = await queue.add('batch', { v: 1, id: ids.make('btc'), node: 'node-1', captured: [], events: ['{}'] })
    await world.redis.del(`bull:${QUEUES.usage}:${lost.id}`)
    const { text } = await capture(account, 60)
    await queue.add('batch', { v: 1, id: ids.make('btc'), node: 'node-1', captured: [], events: [text] })
    await queue.resume()
    const worker = startPostUsage({ ...ctx, redisUrl: new Secret(world.redisUrl) })
    await until('the batch behind it is posted', 10_000, async () => (await balanceOf(db, account)) === 99_940)
    await until('the queue is empty', 10_000, async () => {
      const counts = await queue.getJobCounts('waiting', 'active', 'delayed', 'failed')
      return Object.values(counts).every((count) => count === 0)
    })
    await worker.stop()
    await queue.close()
    expect((await poison()).rows.length).toBe(before)
  })

  it('sets a batch aside after six deaths of its worker, and posts it alone after fewer [F20]', async () => {
    const account = await buyer()
    const queue = new Queue(QUEUES.usage, { connection: { url: world.redisUrl } })
    await queue.pause()
    const calls = [await capture(account, 60), await capture(account, 70)]
    for (const [index, { text }] of calls.entries()) {
      const job = await queue.add('batch', { v: 1, id: ids.make('btc'), node: 'node-1', events: [text] })
      await world.redis.hset(`bull:${QUEUES.usage}:${job.id}`, 'stc', String(5 + index))
    }
    await queue.resume()
    const worker = startPostUsage({ ...ctx, redisUrl: new Secret(world.redisUrl) })
    await until('the first batch is posted', 10_000, async () => (await balanceOf(db, account)) === 99_940)
    await until('the second batch is set aside', 5_000, async () => {
      return (await poisonOf(calls[1]?.text ?? ''))?.reason === 'crash_loop'
    })
    await worker.stop()
    await queue.close()
    expect(await figures(world.gate, account)).toMatchObject({ p: 99_940, u: 70 })
  })
})

describe('the sweeper', () => {
  it('posts captures whose event was never delivered, and acknowledges booked captures', async () => {
    const account = await buyer()
    const { text } = await capture(account, 60)
    await capture(account, 70)
    // The call is booked without an ack to the gate, as when the worker dies in between.
    const redis = new Redis(world.redisUrl, { db: 9 })
    const away = createRedisGate({ redis, buckets: 1 })
    const posting = postBatch({ ...ctx, gate: away }, { events: [text], source: 'test' })
    await expect(posting).rejects.toMatchObject({ code: 'service_unavailable' })
    redis.disconnect()
    expect(await balanceOf(db, account)).toBe(99_940)
    // The ack of the balance is still due, whatever becomes of the event.
    expect(await ctx.ledger.listAccountChanges(100)).toMatchObject([{ account, balance: 99_940n }])
    expect(await figures(world.gate, account)).toMatchObject({ p: 100_000, u: 130 })
    expect(await sweepHolds(ctx, 0)).toMatchObject({ expired: 0, announced: 0 })
    expect(await figures(world.gate, account)).toEqual({ p: 99_870, h: 0, u: 0, free: 99_870 })
  })

  it('finishes the running postings when its process ends, and the next process does the rest', async () => {
    const account = await buyer(3_000_000)
    const calls = 300
    await Promise.all(Array.from({ length: calls }, () => capture(account, 10)))
    const ending = { aborted: false }
    const ledger: typeof ctx.ledger = {
      ...ctx.ledger,
      transact(run) {
        ending.aborted = true
        return ctx.ledger.transact(run)
      },
    }
    const { posted } = await sweepHolds({ ...ctx, ledger }, 0, ending)
    expect([posted > 0, posted < calls]).toEqual([true, true])
    expect(await figures(world.gate, account)).toMatchObject({ u: (calls - posted) * 10 })
    expect(await sweepHolds(ctx, 0, { aborted: true })).toMatchObject({ expired: 0, posted: 0 })
    expect(await sweepHolds(ctx, 0)).toMatchObject({ posted: calls - posted })
    expect(await figures(world.gate, account)).toMatchObject({ p: 2_997_000, h: 0, u: 0 })
  })

  it('releases the holds of dead processes', async () => {
    const account = await buyer()
    await node.funds.reserve(reserveRequest(account, { want: 500, ttlMs: 1 }))
    await until('the hold is past its deadline', 2_000, async () => (await sweepHolds(ctx)).expired > 0)
    expect(await figures(world.gate, account)).toMatchObject({ h: 0, free: 100_000 })
  })

  it('sends the gate the balances that it lacks, and finds those that differ', async () => {
    const account = await buyer()
    await grant(db, account, 23)
    expect(await figures(world.gate, account)).toMatchObject({ p: 100_000 })
    expect((await sweepHolds(ctx)).announced).toBe(1)
    expect(await figures(world.gate, account)).toMatchObject({ p: 100_023 })
    expect(await compareBalances(ctx)).toEqual([])
    await world.redis.hset(`{m00}:a:${account}`, 'p', '999')
    expect((await compareBalances(ctx)).map((row) => row.subject)).toEqual([account])
    await world.redis.hset(`{m00}:a:${account}`, 'p', '100023')
  })
})

describe('the split of charges', () => {
  it("sums to zero for each, never overdraws, and takes the buyer's whole balance before the shortfall", () => {
    const Charge = fc.record({ charge: fc.integer({ min: 1, max: 1e9 }), feeBps: fc.integer({ min: 0, max: 10_000 }) })
    fc.assert(
      fc.property(
        fc.array(Charge, { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 0, max: 2e9 }),
        (allFields, funds) => {
          const events = allFields.map(({ charge, feeBps }) => {
            const { sellerNet, fee } = splitCharge(microUsd(charge), keptBps(feeBps))
            const money = { chargeMicro: microUsd(charge), sellerNetMicro: sellerNet, feeMicro: fee }
            return { rid: ids.ulid(), payer: 'acc_b' as const, isBounded: true, sellerAccount: 'acc_s', ...money }
          })
          const { entries, movements } = splitCharges(events, new Map([['acc_b', { balance: BigInt(funds) }]]))
          for (const { rid } of events) {
            expect(entries.filter((entry) => entry.tx === rid).reduce((sum, entry) => sum + entry.amount, 0n)).toBe(0n)
          }
          const moved = new Map(movements.map((movement) => [movement.account, movement.amount]))
          const total = events.reduce((sum, event) => sum + event.chargeMicro, 0n)
          const paid = total < BigInt(funds) ? total : BigInt(funds)
          expect(-(moved.get('acc_b') ?? 0n)).toBe(paid)
          expect(-(moved.get(PLATFORM_ACCOUNTS.shortfall) ?? 0n)).toBe(total - paid)
          expect(movements.reduce((sum, movement) => sum + movement.amount, 0n)).toBe(0n)
          expect(movements.reduce((sum, movement) => sum + movement.entries, 0)).toBe(entries.length)
        },
      ),
    )
  })
})
