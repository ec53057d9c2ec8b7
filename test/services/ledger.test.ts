import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '#control-plane/config.ts'
import { sumOwed } from '#control-plane/db/accounts.ts'
import { sumUsage } from '#control-plane/db/buyer-usage.ts'
import type { Database } from '#control-plane/db/database.ts'
import { machineOperator, NOBODY } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import type { ControlPlane } from '#control-plane/plane.ts'
import { createControlPlane } from '#control-plane/plane.ts'
import { createMoneyLedger } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import type { LedgerLine } from '#control-plane/services/ledger/ledger.ts'
import { grantCredit, mergeLines, postTransaction } from '#control-plane/services/ledger/ledger.ts'
import { readPayoutsState } from '#control-plane/services/payouts/operator-payouts.ts'
import { getRequest, listRequests } from '#control-plane/services/usage/lookup.ts'
import { createUser } from '#control-plane/services/users/users.ts'
import type { AccountId } from '#shared/ids.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import type { GateWorld } from '#test/support/books/gate.ts'
import { figures, ids, startGateWorld } from '#test/support/books/gate.ts'
import { balanceOf, newAccount } from '#test/support/books/ledger.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import { until } from '#test/support/run/until.ts'

let world: GateWorld
let db: Database
let plane: ControlPlane
const operator = machineOperator('test')
const WALLET = `0x${'Ab'.repeat(20)}`
const secret = 'for tests only, 32 characters long'

beforeAll(async () => {
  world = await startGateWorld()
  db = world.db
  plane = createControlPlane(
    readConfig({
      NODE_ENV: 'test',
      DATABASE_URL: world.databaseUrl,
      REDIS_URL: world.redisUrl,
      KEY_PEPPER: secret,
      FINGERPRINT_PEPPER: secret,
      SESSION_SECRET: secret,
      CREDENTIAL_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
      LOG_LEVEL: 'silent',
    }),
  )
  await plane.connected(5_000)
  await until('the gate is open', 5_000, async () => (await world.redis.get('m:epoch'))?.endsWith(':open') ?? false)
})
afterAll(async () => {
  await plane.close()
  await world.stop()
})

const book = (key: string, entries: readonly LedgerLine[]) =>
  createMoneyLedger(db).transact((trx) => postTransaction(trx, { id: ids.ulid(), key, kind: 'adjust', entries }))

it('the money that is owed is that of buyers and of sellers, each with what is on its way', async () => {
  const before = await sumOwed(db)
  await newAccount(db, 'buyer_credit', 10)
  await newAccount(db, 'job_escrow', 3)
  await newAccount(db, 'seller_pending', 4)
  await newAccount(db, 'seller_available', 5)
  await newAccount(db, 'payout_in_flight', 6)
  const { buyer, seller } = await sumOwed(db)
  expect([buyer - before.buyer, seller - before.seller]).toEqual([13n, 15n])
  expect(await invoke(plane, operator, readPayoutsState, {})).toMatchObject({
    owedToBuyersMicro: buyer.toString(),
    owedToSellersMicro: seller.toString(),
  })
})

describe('a transaction', () => {
  it('is booked once a key, and returns the balances that it changed', async () => {
    const account = await newAccount(db, 'buyer_credit')
    const entries = [
      { account, amount: 5n },
      { account: PLATFORM_ACCOUNTS.externalFiat, amount: -5n },
    ]
    const key = `adjust:${account}`
    expect(await book(key, entries)).toEqual([{ account, balance: 5n, version: 1n }])
    expect(await book(key, entries)).toBeUndefined()
    const again = await Promise.all([1, 2, 3, 4].map(() => book(`${key}:2`, entries)))
    expect(again.filter((changed) => changed !== undefined)).toEqual([[{ account, balance: 10n, version: 2n }]])
    expect(await balanceOf(db, account)).toBe(10)
  })

  it('refuses a sum other than zero, an unknown account, an overdraft and a balance above the limit', async () => {
    const account = await newAccount(db, 'buyer_credit', 10)
    const other = await newAccount(db, 'seller_available')
    const lines = (amount: bigint, to: AccountId = 'acc_promo'): LedgerLine[] => [
      { account, amount },
      { account: to, amount: -amount },
    ]
    await expect(book('bad:1', [{ account, amount: 1n }])).rejects.toMatchObject({ code: 'internal_error' })
    await expect(book('bad:2', [...lines(1n), { account: other, amount: 1n }])).rejects.toMatchObject({
      code: 'internal_error',
    })
    const strange: LedgerLine[] = [
      { account: 'acc_none', amount: 1n },
      { account, amount: -1n },
    ]
    await expect(book('bad:3', strange)).rejects.toMatchObject({ code: 'not_found' })
    await expect(book('bad:4', lines(-11n))).rejects.toMatchObject({ code: 'insufficient_balance' })
    await expect(book('bad:5', lines(100_000_000_000_000n))).rejects.toMatchObject({ code: 'conflict' })
    expect(await balanceOf(db, account)).toBe(10)
    // A refused booking leaves no row, not even its key.
    expect(await book('bad:4', lines(-10n))).toHaveLength(1)
  })

  it('merges lines of one account, without losing or making money', () => {
    const Line = fc.record({ account: fc.constantFrom('acc_a', 'acc_b', 'acc_c'), amount: fc.bigInt(-9n, 9n) })
    fc.assert(
      fc.property(fc.array(Line), (drawn) => {
        const lines: LedgerLine[] = drawn.map(({ account, amount }) => ({ account: account as 'acc_a', amount }))
        const merged = mergeLines(lines)
        const sum = (of: readonly LedgerLine[]) => of.reduce((total, line) => total + line.amount, 0n)
        expect(sum(merged)).toBe(sum(lines))
        expect(new Set(merged.map((line) => line.account)).size).toBe(merged.length)
        expect(merged.every((line) => line.amount !== 0n)).toBe(true)
      }),
    )
  })

  it('runs in parallel over shared accounts without losing a booking', async () => {
    const accounts = await Promise.all([1, 2, 3].map(() => newAccount(db, 'buyer_credit', 1_000)))
    await Promise.all(
      Array.from({ length: 60 }, (_, index) => {
        const [from, to] = [accounts[index % 3] ?? 'acc_none', accounts[(index + 1 + (index % 2)) % 3] ?? 'acc_none']
        return book(`move:${from}:${index}`, [
          { account: from, amount: -3n },
          { account: to, amount: 3n },
        ])
      }),
    )
    const balances = await Promise.all(accounts.map((account) => balanceOf(db, account)))
    expect(balances.reduce((sum, balance) => sum + balance, 0)).toBe(3_000)
    const { rows } = await sql<{ wrong: bigint }>`select count(*) as wrong from account a where not is_summed and
      (balance, version) <> (select coalesce(sum(amount), 0), count(*) from ledger_entry e where e.account = a.id)
    `.execute(db)
    expect(rows[0]?.wrong).toBe(0n)
  })
})

describe('a grant of credit', () => {
  it('finds a wallet in upper or lower case, is booked once a ticket, and reaches the gate and the audit', async () => {
    const user = await invoke(plane, operator, createUser, { wallet: WALLET, keys: [] })
    const input = { wallet: WALLET, amountUsd: 5, ticket: 'T-1', note: 'welcome' }
    const granted = await invoke(plane, operator, grantCredit, input)
    expect(granted).toMatchObject({ amountMicro: '5000000', balanceMicro: '5000000', isRepeat: false })
    expect(await invoke(plane, operator, grantCredit, { ...input, wallet: WALLET.toLowerCase() })).toMatchObject({
      balanceMicro: '5000000',
      isRepeat: true,
    })
    expect(await figures(world.gate, granted.account)).toMatchObject({ p: 5_000_000, h: 0, u: 0 })
    const waiting = await db.selectFrom('account_change').select('account').execute()
    expect(waiting.map((row) => row.account)).not.toContain(granted.account)
    expect(granted.account).toBe(user.buyerAccount)
    const { rows } = await sql<{ n: bigint }>`select count(*) as n from audit_log where operation = 'credit.grant'
      and subject = ${granted.account}`.execute(db)
    expect(rows[0]?.n).toBe(1n)
  })

  it('refuses a ticket that was booked for another grant', async () => {
    const account = await newAccount(db, 'buyer_credit')
    const other = await newAccount(db, 'buyer_credit')
    await invoke(plane, operator, grantCredit, { account, amountUsd: 1, ticket: 'T-2', note: 'test' })
    for (const change of [{ amountUsd: 2 }, { account: other }, { source: 'fiat' }]) {
      const grant = invoke(plane, operator, grantCredit, {
        account,
        amountUsd: 1,
        ticket: 'T-2',
        note: 'test',
        ...change,
      })
      await expect(grant).rejects.toMatchObject({ code: 'conflict' })
    }
    expect(await balanceOf(db, account)).toBe(1_000_000)
    expect(await balanceOf(db, other)).toBe(0)
  })

  it.each([
    ['nobody', { amountUsd: 1, ticket: 'a' }],
    ['two recipients at once', { account: 'acc_a', wallet: WALLET, amountUsd: 1, ticket: 'a' }],
    ['nothing', { account: 'acc_a', amountUsd: 0, ticket: 'a' }],
    ['a negative amount', { account: 'acc_a', amountUsd: -1, ticket: 'a' }],
    ['a tenth of a micro-USD', { account: 'acc_a', amountUsd: 0.0000001, ticket: 'a' }],
    ['more than a balance may hold', { account: 'acc_a', amountUsd: 1e8, ticket: 'a' }],
    ['a blank ticket', { account: 'acc_a', amountUsd: 1, ticket: ' ' }],
  ])('refuses to grant %s', async (_, input) => {
    const refused = invoke(plane, operator, grantCredit, { note: 'test', ...input })
    await expect(refused).rejects.toMatchObject({ code: 'invalid_request' })
  })

  it('is for operators, and for accounts of buyers', async () => {
    const seller = await newAccount(db, 'seller_available')
    const input = { account: seller, amountUsd: 1, ticket: 'T-3', note: 'test' }
    await expect(invoke(plane, operator, grantCredit, input)).rejects.toMatchObject({ code: 'not_found' })
    await expect(invoke(plane, NOBODY, grantCredit, input)).rejects.toMatchObject({ code: 'authentication_required' })
    const unknown = { wallet: `0x${'0'.repeat(40)}`, amountUsd: 1, ticket: 'T-4', note: 'test' }
    await expect(invoke(plane, operator, grantCredit, unknown)).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe('the list of booked calls', () => {
  it("shows a buyer the buyer's own calls, newest first in pages, and no other buyer's", async () => {
    const account = await newAccount(db, 'buyer_credit', 1_000_000)
    const stranger = await newAccount(db, 'buyer_credit')
    const sellerAccount = await newAccount(db, 'seller_available')
    const rids = Array.from({ length: 5 }, () => ids.ulid())
    const events = rids.map((rid, index) =>
      eventText({ rid, account, sellerAccount, charge: index * 10, model: index % 2 ? 'odd' : 'even' }),
    )
    await postBatch(plane, { events, source: 'test' })
    const actor = { kind: 'buyer', keyId: 'key_t', user: 'usr_t', account, wallet: WALLET } as const
    const id = rids[3] ?? ''
    expect(await invoke(plane, actor, getRequest, { id })).toMatchObject({
      request_id: id,
      settlement_status: 'accrued',
      confirmed_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      buyer_cost_micro: 30,
      list_cost_micro: 60,
      attempts: [{ provider: 'sandbox-a', status: 200, ms: 1_390 }],
      duration_ms: 1_400,
    })
    expect(await invoke(plane, actor, getRequest, { id: rids[0] })).toMatchObject({
      settlement_status: 'failed',
      settlement_error: 'upstream_error',
      confirmed_at: null,
    })
    const foreign = invoke(plane, { ...actor, account: stranger, keyId: 'key_x' }, getRequest, { id })
    await expect(foreign).rejects.toMatchObject({ code: 'not_found' })
    await expect(invoke(plane, actor, getRequest, { id: 'x' })).rejects.toMatchObject({ code: 'not_found' })

    const first = await invoke(plane, actor, listRequests, { limit: 3 })
    expect(first.requests.map((row) => row.request_id)).toEqual([rids[4], rids[3], rids[2]])
    const rest = await invoke(plane, actor, listRequests, { limit: 3, before: first.next ?? '' })
    expect(rest).toMatchObject({ requests: [{ request_id: rids[1] }, { request_id: rids[0] }], next: null })

    const total = { charge: 100n, listCost: 200n, input: 600n, cacheRead: 150n, output: 200n, requests: 5n }
    const ever = { from: 0, to: Date.UTC(2200, 0, 1) }
    const used = await sumUsage(db, { account, ...ever }, 10)
    expect(used.total).toMatchObject(total)
    expect(used.byModel).toMatchObject([
      { model: 'even', charge: 60n, requests: 3n },
      { model: 'odd', charge: 40n, requests: 2n },
    ])
    expect(await sumUsage(db, { account, ...ever }, 1)).toMatchObject({ byModel: [{ model: 'even' }], models: 2 })
    const nothing = { charge: 0n, requests: 0n }
    expect((await sumUsage(db, { account: 'acc_nobody', ...ever }, 10)).total).toMatchObject(nothing)
  })
})
