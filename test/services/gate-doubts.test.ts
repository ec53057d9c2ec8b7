import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { rebuildGate } from '#control-plane/services/gate/gate-rebuild.ts'
import { advanceCursor } from '#data-plane/store/funds-recovery.ts'
import { systemClock } from '#shared/clock.ts'
import { moneyScripts } from '#shared/contract/money-scripts.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { microUsd } from '#shared/money.ts'
import type { GateWorld, Node } from '#test/support/books/gate.ts'
import { eventText, figures, ids, log, reserveRequest, startGateWorld, untilOpen } from '#test/support/books/gate.ts'
import { buildOffer } from '#test/support/bytes/build-market.ts'
import { until } from '#test/support/run/until.ts'

let world: GateWorld
beforeEach(async () => {
  world = await startGateWorld()
})
afterEach(() => world.stop())

const epochNow = async () => Number((await world.redis.get(moneyKeys.epoch))?.split(':')[0])
const parts = () => ({ ledger: world.ledger, keeper: world.keeper, clock: systemClock, log })
const holdOf = async (node: Node) => node.funds.reserve(reserveRequest(await world.account(1_000), { want: 100 }))

describe('a process that calls a script that the server lacks', () => {
  it('closes at once, for any script, and is open again after a rebuild', async () => {
    const node = await world.node('n1')
    const offer = { ...buildOffer({ capDailyMicro: microUsd(1_000) }), id: ids.make('ofr') }
    const caps = node.funds.offerCaps
    await untilOpen(node)
    const account = await world.account(1_000)
    const asks: Record<string, () => Promise<() => Promise<unknown>>> = {
      reserve: async () => () => node.funds.reserve(reserveRequest(account)).catch((error: unknown) => error),
      async settle() {
        const hold = await node.funds.reserve(reserveRequest(account, { want: 50 }))
        return () => node.funds.capture(hold, microUsd(50), eventText(hold, 50, node.id))
      },
      take: async () => () => caps.take(offer, `${ids.requestId()}.0`, microUsd(10), 60_000),
      async settleTake() {
        const attempt = `${ids.requestId()}.0`
        expect(await caps.take(offer, attempt, microUsd(10), 60_000)).toBe(true)
        return () => caps.settle(offer, attempt, microUsd(10))
      },
    }
    for (const [name, prepare] of Object.entries(asks)) {
      const ask = await prepare()
      const before = await epochNow()
      await world.stopRebuilder()
      await world.redis.script('FLUSH')
      await ask()
      await until(`${name} has closed the gate`, 1_000, () => !node.funds.isOpen())
      world.startRebuilder()
      await until('a newer epoch', 10_000, async () => (await epochNow()) > before)
      await untilOpen(node)
    }
    expect(await node.funds.drain(2_000)).toBe(true)
    expect(await figures(world.gate, account)).toEqual({ p: 1_000, h: 0, u: 50, free: 950 })
  })

  it('ends a rebuild when it registers during that rebuild, so that the next one begins without waiting', async () => {
    const node = await world.node('n1')
    await untilOpen(node)
    await holdOf(node)
    await world.stopRebuilder()
    await world.redis.flushall()
    const forgets = {
      ...world.keeper,
      async startRegistering(epoch: number) {
        await world.redis.script('FLUSH')
        await world.keeper.startRegistering(epoch)
      },
    }
    const rebuilding = rebuildGate({ ...parts(), keeper: forgets }, await world.keeper.view())
    await expect(rebuilding).rejects.toMatchObject({ code: 'conflict' })
  })
})

describe('an epoch that goes back, as on a server that lost its last writes', () => {
  it('is joined by no process, although its record says open', async () => {
    const node = await world.node('n1')
    await untilOpen(node)
    const older = await epochNow()
    await world.redis.set(moneyKeys.doubt, older)
    await until('a newer epoch', 10_000, async () => (await epochNow()) > older)
    await untilOpen(node)
    await world.stopRebuilder()
    for (const { text } of Object.values(moneyScripts(older))) await world.redis.script('LOAD', text)
    await world.redis.set(moneyKeys.epoch, `${older}:open`)
    await until('the gate is closed', 3_000, () => !node.funds.isOpen())
    // The node reads the epoch ten times a second.
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(node.funds.isOpen()).toBe(false)
    world.startRebuilder()
    await untilOpen(node, 10_000)
  })
})

describe('the posted cursor', () => {
  it('passes no capture that the gate lacks', async () => {
    const node = await world.node('n1')
    await untilOpen(node)
    const hold = await holdOf(node)
    const event = eventText(hold, 70, node.id)
    const { connection } = node.funds.gate
    const { run } = connection
    Object.assign(connection, { run: () => Promise.reject(new Error('OOM')) })
    node.journal.capture(hold, event)
    expect(await node.funds.capture(hold, microUsd(70), event)).toBe('queued')
    // The cursor moves once a second.
    await new Promise((resolve) => setTimeout(resolve, 1_300))
    expect([node.journal.unpostedCount(), node.funds.isOpen()]).toEqual([1, true])
    Object.assign(connection, { run })
    expect(await node.funds.drain(2_000)).toBe(true)
    expect(await figures(world.gate, hold.account)).toMatchObject({ u: 70 })
  })

  it('stops on a server that was emptied, which has no unposted captures either', async () => {
    const node = await world.node('n1')
    await untilOpen(node)
    const hold = await holdOf(node)
    const event = eventText(hold, 70, node.id)
    node.journal.capture(hold, event)
    expect(await node.funds.capture(hold, microUsd(70), event)).toBe('accepted')
    await world.stopRebuilder()
    await world.redis.flushall()
    await advanceCursor({ ...node.funds.gate, settles: { holds: () => false }, buckets: 1 }, node.journal)
    expect(node.journal.unpostedCount()).toBe(1)
  })
})

describe('a process that leaves', () => {
  it('stays on the list of processes that a rebuild waits for, while one of its calls runs or is not posted', async () => {
    const [captured, running] = [await world.node('captured'), await world.node('running')]
    await Promise.all([untilOpen(captured), untilOpen(running)])
    const hold = await holdOf(captured)
    const event = eventText(hold, 70, captured.id)
    captured.journal.capture(hold, event)
    expect(await captured.funds.capture(hold, microUsd(70), event)).toBe('accepted')
    await holdOf(running)
    await Promise.all([captured.funds.leave(100), running.funds.leave(100)])
    for (const node of [captured, running]) {
      expect(Number(await world.redis.hget(moneyKeys.nodes, node.journal.member))).toBeGreaterThan(0)
    }
  })
})
