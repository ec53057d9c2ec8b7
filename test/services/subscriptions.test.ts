import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { systemClock } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'
import { createLogger } from '#shared/logger.ts'
import { createSubscriptions } from '#shared/subscriptions.ts'
import type { Relay } from '#test/support/chain/relay.ts'
import { startRelay } from '#test/support/chain/relay.ts'
import { until } from '#test/support/run/until.ts'

const SOON_MS = 3_000
/** Announcements reach the whole server, so each test has channels of its own. */
const ids = createIds(systemClock)
const log = createLogger('test', 'silent')
let redis: Redis
let relay: Relay
let closers: (() => unknown)[]

function connect(): Redis {
  const connection = new Redis(inject('redisUrl'))
  closers.push(() => connection.disconnect())
  return connection
}

/** A connection of a plane: its commands do not outlast a reconnect. It runs over a relay that can break. */
function connectByRelay(): Redis {
  const connection = new Redis(relay.url, { maxRetriesPerRequest: 0, commandTimeout: 200, retryStrategy: () => 20 })
  connection.on('error', () => undefined)
  closers.push(() => connection.disconnect())
  return connection
}

beforeEach(async () => {
  closers = []
  redis = connect()
  relay = await startRelay(inject('redisUrl'))
})

afterEach(async () => {
  for (const close of closers.reverse()) await close()
  await relay.close()
})

/** Collects the messages of one listener of a channel, and counts its catch-ups. */
function listenTo(channel: string, subscriptions: ReturnType<typeof createSubscriptions>) {
  const seen = { names: [] as string[], catchUps: 0 }
  const end = subscriptions.listen(
    channel,
    (names) => seen.names.push(...names),
    () => {
      seen.catchUps++
    },
  )
  return { seen, end }
}

describe('the subscription to announcements', () => {
  const channel = () => `test:${ids.ulid()}`

  it('passes each listener its channel’s names until it ends, and no unreadable message', async () => {
    const subscriptions = createSubscriptions(connect(), log)
    const [first, second] = [channel(), channel()]
    const [one, two, other] = [first, first, second].map((name) => listenTo(name, subscriptions))
    await until('all listen', SOON_MS, () => [one, two, other].every((listener) => listener?.seen.catchUps === 1))
    for (const text of ['["a","b"]', 'no JSON', '{"c":1}', '[1,"d"]']) await redis.publish(first, text)
    await until('the last name arrives', SOON_MS, () => one?.seen.names.includes('d') === true)
    expect([one, two, other].map((listener) => listener?.seen.names)).toEqual([['a', 'b', 'd'], ['a', 'b', 'd'], []])
    two?.end()
    await redis.publish(first, '["e"]')
    await until('the next name arrives', SOON_MS, () => one?.seen.names.includes('e') === true)
    expect(two?.seen.names).toEqual(['a', 'b', 'd'])
  })

  it('begins when Redis is there, after any outage, and again after each break', async () => {
    relay.fault({ refuses: true })
    const connection = connectByRelay()
    const name = channel()
    const { seen } = listenTo(name, createSubscriptions(connection, log))
    let refusals = 0
    connection.on('close', () => refusals++)
    await until('the connection was refused several times', SOON_MS, () => refusals > 3)
    relay.pass()
    for (let round = 1; round <= 3; round++) {
      await until('the listener listens', SOON_MS, () => seen.catchUps === round)
      await redis.publish(name, `["${round}"]`)
      await until('the listener receives a name', SOON_MS, () => seen.names.includes(`${round}`))
      relay.cut()
    }
  })

  it('is retried when Redis does not answer', async () => {
    const connection = connectByRelay()
    await until('the listener is connected', SOON_MS, () => connection.status === 'ready')
    relay.dropAnswers(true)
    const name = channel()
    const { seen } = listenTo(name, createSubscriptions(connection, log))
    await until('the request is given up', SOON_MS, () => connection.status !== 'ready')
    expect(seen.catchUps).toBe(0)
    relay.pass()
    relay.cut()
    await until('the listener listens', SOON_MS, () => seen.catchUps === 1)
  })

  it('reports a refused subscription, retries in time, and receives messages as soon as it is allowed', async () => {
    const name = `deaf-${ids.ulid()}`
    await redis.call('ACL', 'SETUSER', name, 'on', '>deaf', '~*', '&*', '+@all', '-subscribe')
    closers.push(() => redis.call('ACL', 'DELUSER', name))
    const connection = new Redis(inject('redisUrl'), { username: name, password: 'deaf', retryStrategy: () => 20 })
    closers.push(() => connection.disconnect())
    const said: [atMs: number, text: string][] = []
    const warn = (facts: object, text: string) => said.push([performance.now(), `${text} ${JSON.stringify(facts)}`])
    const { seen } = listenTo(channel(), createSubscriptions(connection, { warn }))
    await until('the refusal is reported twice', SOON_MS, () => said.length === 2)
    const [[firstAt = 0, text = ''] = [], [secondAt = 0] = []] = said
    expect(text).toContain('do not arrive')
    expect(text).toContain('NOPERM')
    expect(secondAt - firstAt).toBeGreaterThan(900)
    expect(seen.catchUps).toBe(0)
    await redis.call('ACL', 'SETUSER', name, '+subscribe')
    await until('the listener listens', SOON_MS, () => seen.catchUps === 1)
    await redis.call('ACL', 'SETUSER', name, '-subscribe')
    connection.disconnect(true)
    await until('the refusal is reported again', SOON_MS, () => said.length === 3)
  })
})
