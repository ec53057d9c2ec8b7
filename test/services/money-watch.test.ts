import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { machineOperator } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { createServer } from '#control-plane/server.ts'
import { postBatch } from '#control-plane/services/booking/ingest.ts'
import { watchBalances, watchCounters } from '#control-plane/services/booking/watch-balances.ts'
import {
  clearHold,
  explainShortfall,
  readInvariants,
  readShortfall,
  runInvariants,
  runInvariantsNow,
} from '#control-plane/services/gate/money-watch.ts'
import { drainAccountChanges } from '#control-plane/services/ledger/ledger.ts'
import { parseMoneyEpoch } from '#shared/contract/money-scripts.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import type { AccountId } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'
import type { Node } from '#test/support/books/gate.ts'
import { ids, reserveRequest, untilOpen } from '#test/support/books/gate.ts'
import { newAccount } from '#test/support/books/ledger.ts'
import { eventText } from '#test/support/books/usage-events.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'
import { until } from '#test/support/run/until.ts'

let market: TestMarket
let node: Node
const operator = machineOperator('test')

beforeAll(async () => {
  market = await startMarket()
  node = await market.world.node('node-1')
  await untilOpen(node)
})
afterAll(() => market.stop())

async function buyer(micro = 100_000): Promise<AccountId> {
  const account = await newAccount(market.plane.db, 'buyer_credit', micro)
  await drainAccountChanges(market.plane)
  return account
}
const read = () => invoke(market.plane, operator, readInvariants, {})
const gateKey = (account: string) => `{m00}:a:${account}`
async function metrics(): Promise<string> {
  const server = await createServer(market.plane)
  const { payload } = await server.inject({ url: '/metrics' })
  await server.close()
  return payload
}

describe('the checker by the clock', () => {
  it('keeps its findings, shows them as metrics, and holds no payout while the books are sound', async () => {
    const run = await invoke(market.plane, operator, runInvariantsNow, {})
    expect(run).toMatchObject({ breaches: [], failure: null })
    expect(run.findings).toHaveLength(24)
    expect((await read()).runs[0]).toEqual(run)
    expect((await read()).payoutHolds).toEqual([])
    const shown = await metrics()
    expect(shown).toMatch(/^money_invariant_breach{id="I3"} 0$/m)
    expect(shown).toMatch(/^money_invariant_breach{id="I19"} 0$/m)
    expect(shown).toMatch(/^money_invariant_breach{id="I20"} -1$/m)
    expect(shown).toMatch(/^money_waiting{what="poisoned"} 0$/m)
    expect(shown).toMatch(/^# TYPE control_requests_total counter$/m)
  })

  it('holds payouts for a breach until a person clears it, even when the breach is gone, and reads go on', async () => {
    const broken = async () => ({
      findings: [{ id: 'I3', state: 'breach', detail: 'a test' } as const],
      poisoned: 0,
      conflicts: 0,
    })
    await runInvariants({ ...market.plane, checkMoney: broken })
    await runInvariants({ ...market.plane, checkMoney: broken })
    expect(await metrics()).toMatch(/^money_invariant_breach{id="I3"} 1$/m)
    await runInvariants(market.plane)
    const { payoutHolds } = await read()
    expect(payoutHolds).toMatchObject([{ reason: 'invariant:I3', clearedAt: null }])
    expect((await market.rest('GET', '/health/ready')).status).toBe(200)

    const clear = () =>
      invoke(market.plane, operator, clearHold, { id: payoutHolds[0]?.id, reason: 'a row repaired by T-1' })
    await expect(
      invoke(market.plane, operator, clearHold, { id: payoutHolds[0]?.id, reason: ' ' }),
    ).rejects.toMatchObject({ code: 'invalid_request' })
    await clear()
    expect((await read()).payoutHolds).toEqual([])
    await expect(clear()).rejects.toMatchObject({ code: 'not_found' })
    await runInvariants({ ...market.plane, checkMoney: broken })
    const [again] = (await read()).payoutHolds
    expect(again).toMatchObject({ reason: 'invariant:I3' })
    await invoke(market.plane, operator, clearHold, { id: again?.id, reason: 'a test' })
  })

  it('ignores a breach that is gone a moment later', async () => {
    let looks = 0
    const briefly = async () => ({
      findings: [{ id: 'I5', state: looks++ === 0 ? 'breach' : 'ok', detail: 'a test' } as const],
      poisoned: 0,
      conflicts: 0,
    })
    expect(await runInvariants({ ...market.plane, checkMoney: briefly }, 1)).toMatchObject({ breaches: [] })
    expect(looks).toBe(2)
    expect((await read()).payoutHolds).toEqual([])
  })

  it('fails, and reports no breach, when it cannot read a record', async () => {
    const run = await runInvariants({ ...market.plane, checkMoney: () => Promise.reject(new Error('away')) })
    expect(run).toMatchObject({ breaches: [], findings: [], failure: expect.any(String) })
    expect((await read()).payoutHolds).toEqual([])
  })
})

describe('comparisons', () => {
  it('finds a posted balance or version that differs, records it, and notes when it is gone', async () => {
    const account = await buyer()
    const { redis } = market.world
    expect(await watchBalances(market.plane)).toEqual([])
    await redis.hincrby(gateKey(account), 'p', 1)
    expect(await watchBalances(market.plane)).toMatchObject([{ subject: account }])
    expect((await read()).differences).toMatchObject([{ kind: 'balance', subject: account, timesSeen: 1 }])
    expect(await metrics()).toMatch(/^money_findings{kind="balance"} 1$/m)
    await redis.hincrby(gateKey(account), 'p', -1)
    await redis.hincrby(gateKey(account), 'ver', 1)
    expect(await watchBalances(market.plane)).toMatchObject([
      { subject: account, detail: expect.stringMatching(/at 2/) },
    ])
    // A gate that is ahead of the ledger shows that the ledger was restored. The gate is rebuilt.
    await until('the gate was rebuilt', 10_000, async () => {
      const epoch = parseMoneyEpoch(await redis.get(moneyKeys.epoch))
      return epoch?.restore !== undefined && epoch.phase === 'open'
    })
    await untilOpen(node)
    expect(await watchBalances(market.plane)).toEqual([])
    expect((await read()).differences).toEqual([])
  })

  it('finds counters that differ from their calls, and no difference while calls come and go', async () => {
    const account = await buyer()
    const seller = await newAccount(market.plane.db, 'seller_available')
    const held = await node.funds.reserve(reserveRequest(account, { want: 300 }))
    const captured = await node.funds.reserve(reserveRequest(account, { want: 300 }))
    // The seller is real, so a worker may post the event and no case waits for a person.
    const text = eventText({ rid: captured.rid, account, sellerAccount: seller, charge: 100 })
    await node.funds.capture(captured, microUsd(100), text)
    expect(await watchCounters(market.plane)).toEqual([])
    await market.world.redis.hincrby(gateKey(account), 'h', 7)
    expect(await watchCounters(market.plane)).toEqual([
      { subject: account, detail: 'held off by 7, unposted off by 0' },
    ])
    await market.world.redis.hincrby(gateKey(account), 'h', -7)
    await node.funds.release(held, 'test', '{}')
    await market.world.redis.hincrby(gateKey(account), 'u', -100)
    expect(await watchCounters(market.plane)).toMatchObject([{ detail: 'held off by 0, unposted off by -100' }])
    await market.world.redis.hincrby(gateKey(account), 'u', 100)
    expect(await watchCounters(market.plane)).toEqual([])
  })
})

describe('the sweeper', () => {
  it('finds a capture with a lost job within seconds while the queue is empty [F19]', async () => {
    const account = await buyer()
    const seller = await newAccount(market.plane.db, 'seller_available')
    const hold = await node.funds.reserve(reserveRequest(account, { want: 300 }))
    const text = eventText({ rid: hold.rid, account, sellerAccount: seller, charge: 100 })
    await node.funds.capture(hold, microUsd(100), text)
    const times = { ...market.plane.moneyTimes, sweepEveryMs: 100, unpostedWhenQuietMs: 500 }
    const { startSweepHolds } = await import('#control-plane/workers/sweep-holds.ts')
    const worker = startSweepHolds({ ...market.plane, moneyTimes: times })
    await until('the capture is settled', 5_000, async () => {
      const { rows } = await sql`select 1 from settlement where rid = ${hold.rid}`.execute(market.plane.db)
      return rows.length === 1
    })
    await worker.stop()
    expect(await metrics()).toMatch(/^money_swept_total{what="posted"} [1-9]/m)
  })
})

describe('the shortfall', () => {
  it('is shown posting by posting, and breaks I24 until its fault is named', async () => {
    const account = await buyer(100)
    const seller = await newAccount(market.plane.db, 'seller_available')
    const rid = ids.ulid()
    await postBatch(market.plane, {
      events: [eventText({ rid, account, sellerAccount: seller, charge: 150 })],
      source: 'test',
    })
    const i24 = async () => (await market.plane.checkMoney()).findings.find(({ id }) => id === 'I24')?.state
    expect(await invoke(market.plane, operator, readShortfall, {})).toMatchObject({
      owedMicro: '50',
      lines: [{ tx: rid, amountMicro: '-50', account, reason: null }],
    })
    expect(await i24()).toBe('breach')
    const explain = (tx: string) =>
      invoke(market.plane, operator, explainShortfall, { tx, reason: 'node lost with its journal during a rebuild' })
    await expect(explain(ids.ulid())).rejects.toMatchObject({ code: 'not_found' })
    await explain(rid)
    expect(await i24()).toBe('ok')
  })
})
