import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { moneyBucket, moneyKeys } from '#shared/contract/redis-keys.ts'
import { microUsd } from '#shared/money.ts'
import type { GateWorld, Node } from '#test/support/books/gate.ts'
import { eventText, figures, reserveRequest, startGateWorld, untilOpen } from '#test/support/books/gate.ts'
import type { Relay } from '#test/support/chain/relay.ts'
import { startRelay } from '#test/support/chain/relay.ts'
import { until } from '#test/support/run/until.ts'

/** With four buckets, the accounts of one batch lie in several scripts. */
const BUCKETS = 4
/** Turns of the event loop in which a refusal comes that waits for nothing. A busy machine needs no more of them. */
const AT_ONCE_TURNS = 100
let world: GateWorld
let relay: Relay
let node: Node

beforeAll(async () => {
  world = await startGateWorld({ buckets: BUCKETS })
  relay = await startRelay(world.redisUrl)
  node = await world.node('n1', { redisUrl: relay.url })
  await untilOpen(node)
})
afterAll(async () => {
  await world.stop()
  await relay.close()
})

const code = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => (error instanceof Error && 'code' in error ? error.code : error),
  )
const textOf = (used: number, hold: Parameters<typeof eventText>[0]) => eventText(hold, used, 'n1')

describe('lost answers', () => {
  it('a reserve is released by its request id [F17]', async () => {
    const account = await world.account(1_000)
    const first = await node.funds.reserve(reserveRequest(account, { want: 10 }))
    relay.dropAnswers(true)
    const lost = code(node.funds.reserve(reserveRequest(account, { want: 500 })))
    await until(
      'the reserve was executed nevertheless',
      2_000,
      async () => (await figures(world.gate, account))?.h === 510,
    )
    relay.cut()
    relay.dropAnswers(false)
    expect(await lost).toBe('service_unavailable')
    await untilOpen(node)
    expect(await node.funds.drain(2_000)).toBe(true)
    expect(await figures(world.gate, account)).toMatchObject({ h: 10, u: 0 })
    await node.funds.release(first, 'x', '')
  })

  it('a capture and a release are sent again and count once [F17]', async () => {
    const account = await world.account(1_000)
    const [captured, released] = [
      await node.funds.reserve(reserveRequest(account, { want: 300 })),
      await node.funds.reserve(reserveRequest(account, { want: 200 })),
    ]
    relay.dropAnswers(true)
    const outcomes = Promise.all([
      node.funds.capture(captured, microUsd(120), textOf(120, captured)),
      node.funds.release(released, 'x', ''),
    ])
    await until('both were executed nevertheless', 2_000, async () => (await figures(world.gate, account))?.h === 0)
    expect((await outcomes)[0]).toBe('queued')
    relay.cut()
    relay.dropAnswers(false)
    await untilOpen(node)
    expect(await node.funds.drain(2_000)).toBe(true)
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 0, u: 120, free: 880 })
    expect(node.funds.pending()).toEqual({ openCalls: 0, unsettled: 0 })
  })
})

describe('a stopped server', () => {
  it('refuses new calls in time, keeps its unsettled ends, and finishes with the right figures', async () => {
    const account = await world.account(1_000)
    const hold = await node.funds.reserve(reserveRequest(account, { want: 300 }))
    world.freezeRedis(true)
    try {
      const outcome = node.funds.capture(hold, microUsd(100), textOf(100, hold))
      expect(await code(node.funds.reserve(reserveRequest(account, { want: 50 })))).toBe('service_unavailable')
      expect(await outcome).toBe('queued')
    } finally {
      world.freezeRedis(false)
    }
    await untilOpen(node)
    expect(await node.funds.drain(3_000)).toBe(true)
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 0, u: 100, free: 900 })
  })

  it('is noticed after a while, and calls are refused at once', async () => {
    world.freezeRedis(true)
    try {
      await until('the node has noticed', 8_000, async () => {
        void code(node.funds.reserve(reserveRequest(await fresh())))
        return !node.funds.isOpen()
      })
      const request = reserveRequest(await fresh())
      let answer: unknown
      void code(node.funds.reserve(request)).then((refusal) => {
        answer = refusal
      })
      for (let turn = 0; turn < AT_ONCE_TURNS && answer === undefined; turn++) {
        await new Promise((resolve) => setImmediate(resolve))
      }
      expect(answer).toBe('service_unavailable')
    } finally {
      world.freezeRedis(false)
    }
    await untilOpen(node)
  })
})

describe('several buckets', () => {
  it('keep accounts apart and settle a mixed tick', async () => {
    const accounts = await Promise.all(Array.from({ length: 12 }, () => world.account(500)))
    expect(new Set(accounts.map((account) => moneyBucket(account, BUCKETS))).size).toBeGreaterThan(1)
    const holds = await Promise.all(
      accounts.map((account) => node.funds.reserve(reserveRequest(account, { want: 100 }))),
    )
    await Promise.all(holds.map((hold) => node.funds.capture(hold, microUsd(40), textOf(40, hold))))
    for (const account of accounts)
      expect(await figures(world.gate, account)).toEqual({ p: 500, h: 0, u: 40, free: 460 })
    for (const { account, rid } of holds) {
      const key = moneyKeys.hold(moneyBucket(account, BUCKETS), rid)
      expect(await world.redis.hget(key, 'st')).toBe('captured')
    }
    await world.gate.ack(holds.map(({ account, rid }) => ({ account, rid, balanceMicro: microUsd(460), version: 2n })))
    for (const account of accounts)
      expect(await figures(world.gate, account)).toEqual({ p: 460, h: 0, u: 0, free: 460 })
  })
})

let spare: Awaited<ReturnType<GateWorld['account']>> | undefined
/** An account for calls without expectations. */
async function fresh() {
  spare ??= await world.account(1_000_000)
  return spare
}
