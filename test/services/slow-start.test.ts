import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createControlPlane } from '#control-plane/plane.ts'
import { openBullQueues } from '#data-plane/store/bull-queues.ts'
import type { BatchQueue } from '#data-plane/store/events.ts'
import { createEventQueues } from '#data-plane/store/events.ts'
import { connectMoney } from '#data-plane/store/money-connection.ts'
import { connectReads } from '#data-plane/store/read-connection.ts'
import { systemClock } from '#shared/clock.ts'
import type { HealthEvent } from '#shared/contract/health-event.ts'
import { CHANNELS, QUEUES } from '#shared/contract/redis-keys.ts'
import { createIds } from '#shared/ids.ts'
import { createLogger } from '#shared/logger.ts'
import { Secret } from '#shared/secret.ts'
import type { Relay } from '#test/support/chain/relay.ts'
import { startRelay } from '#test/support/chain/relay.ts'
import type { TestMarket } from '#test/support/doors/control-plane.ts'
import { startMarket } from '#test/support/doors/control-plane.ts'
import { until } from '#test/support/run/until.ts'

/** Longer than a command waits for its answer. */
const HELD_MS = 2_500
const HEALED_MS = 30_000
/** Two connections of each worker of a queue, two of the gate's keeper, and one of commands. */
const CONNECTIONS = 11
const ids = createIds(systemClock)
const log = createLogger('test', 'silent')
let market: TestMarket
let relay: Relay
let closers: (() => unknown)[]

beforeAll(async () => {
  market = await startMarket()
})

afterAll(() => market.stop())

beforeEach(async () => {
  closers = []
  relay = await startRelay(market.world.redisUrl)
})

afterEach(async () => {
  for (const close of closers.reverse()) await close()
  await relay.close()
})

/** A process that connects while the answer to the `after`-th INFO of each connection is too late. */
const holdInfo = (after: number, times = 100) => relay.holdReplyTo('info', { ms: HELD_MS, after, times })

/** A change in the health of an offer. */
const failure = (): HealthEvent => ({
  v: 1,
  id: ids.make('hlt'),
  at: systemClock.now(),
  node: 'test',
  offer: ids.make('ofr'),
  model: 'gpt-test',
  rid: null,
  errorClass: 'timeout',
  statusCode: null,
  detail: '',
  action: 'counted',
  backedOffUntil: null,
})

function eventQueues() {
  const redis = connectReads(relay.url, log)
  closers.push(() => redis.disconnect())
  const events = createEventQueues({ queues: openBullQueues(redis, log), node: 'test', ids, clock: systemClock, log })
  closers.push(() => events.close())
  return events
}

describe('the queues of a data plane', () => {
  it.each([0, 1, 2])('accept events although the answer to INFO %i of their connection was too late', async (after) => {
    holdInfo(after, 1)
    const events = eventQueues()
    await events.start()
    events.health(failure())
    const key = `bull:${QUEUES.health}:wait`
    await until('the event is queued', HEALED_MS, async () => (await market.world.redis.llen(key)) > 0)
    expect(events.areQueuesOpen()).toBe(true)
    expect(events.dropped()).toEqual({ usage: 0, health: 0 })
    await market.world.redis.del(key)
  })

  it('count lost events, report the loss once, and are not ready while they accept nothing on a server that answers', async () => {
    const said: object[] = []
    const closed: BatchQueue = {
      add: () => Promise.reject(new Error('Command timed out')),
      waiting: () => Promise.reject(new Error('Command timed out')),
      close: async () => undefined,
    }
    const server: { isAway: boolean } = { isAway: false }
    const ping = () => (server.isAway ? Promise.reject(new Error('away')) : Promise.resolve())
    const queues = { usage: closed, health: closed, ping }
    const warn = (facts: object, text: string) => said.push({ ...facts, text })
    const events = createEventQueues({ queues, node: 'test', ids, clock: systemClock, log: { warn } })
    await events.start()
    expect(events.areQueuesOpen()).toBe(false)
    events.health(failure())
    events.health(failure())
    events.captured({ rid: ids.requestId(), account: ids.make('acc') })
    await events.close()
    expect(events.dropped()).toEqual({ usage: 1, health: 2 })
    expect(said).toMatchObject([
      { text: 'a queue is closed on a server that answers' },
      { text: 'usage events were left to the sweeper', count: 1 },
      { text: 'health events of offers were lost', count: 2 },
    ])
    // An absent server leaves a plane ready: it serves its copy.
    server.isAway = true
    const others = createEventQueues({ queues, node: 'test', ids, clock: systemClock, log: { warn } })
    await others.start()
    expect(others.areQueuesOpen()).toBe(true)
    await others.close()
  })
})

describe('the connections of a data plane to the gate', () => {
  it('receive epochs although Redis did not answer at first', async () => {
    relay.fault({ drops: 'answers' })
    let news = 0
    const connection = connectMoney(
      { url: relay.url, clock: systemClock, log },
      { onReady: () => undefined, onLost: () => undefined, onEpochNews: () => news++ },
    )
    closers.push(() => connection.close())
    await until('the connection has sent its request', HEALED_MS, () => relay.connections() === 3)
    relay.pass()
    await until('the connection receives an epoch', HEALED_MS, async () => {
      await market.world.redis.publish(CHANNELS.money, '[]')
      return news > 1
    })
  })
})

describe('a process of the control plane', () => {
  function planeBeside() {
    const plane = createControlPlane({ ...market.plane.config, redisUrl: new Secret(relay.url) }, { log })
    closers.push(() => plane.close())
    return plane
  }

  it.each([0, 1, 2])('wakes the workers although the answer to INFO %i was too late', async (after) => {
    holdInfo(after, 1)
    const plane = planeBeside()
    const key = `bull:${QUEUES.maintenance}:wait`
    await until('a wake-up is queued', HEALED_MS, async () => {
      await plane.wake('seller-operations')
      return (await market.world.redis.llen(key)) > 0
    })
    await market.world.redis.del(key)
  })

  it('works on its queues and watches the gate although Redis did not answer at first, and reports it', async () => {
    relay.fault({ drops: 'answers' })
    const plane = planeBeside()
    const stop = plane.startWorkers()
    closers.push(stop)
    await until('every queue has sent its request', HEALED_MS, () => relay.connections() >= CONNECTIONS)
    expect(await plane.readiness()).toMatchObject({ isReady: false, parts: { workers: false } })
    relay.pass()
    await until('the process is ready', HEALED_MS, async () => (await plane.readiness()).isReady)
    const events = eventQueues()
    events.health(failure())
    await events.close()
    await until('the event is handled', HEALED_MS, async () => {
      const counts = await Promise.all(
        ['wait', 'active'].map((list) => market.world.redis.llen(`bull:${QUEUES.health}:${list}`)),
      )
      return counts.every((count) => count === 0)
    })
  })
})
