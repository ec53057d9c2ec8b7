import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { createOwnCalls } from '#data-plane/store/own-calls.ts'
import { shareWarmth } from '#data-plane/store/shared-warmth.ts'
import { createWarmOffers } from '#data-plane/store/warm-offers.ts'
import { systemClock } from '#shared/clock.ts'
import { CHANNELS, cacheKeys } from '#shared/contract/redis-keys.ts'
import { createIds } from '#shared/ids.ts'
import { createLogger } from '#shared/logger.ts'
import { createSubscriptions } from '#shared/subscriptions.ts'
import { until } from '#test/support/run/until.ts'

const ids = createIds(systemClock)
const log = createLogger('test', 'silent')
let redis: Redis
let closers: (() => unknown)[]

/** Ids are new in every run and announcements reach the whole server, so no database of its own is needed. */
function connect(): Redis {
  const connection = new Redis(inject('redisUrl'))
  closers.push(() => connection.disconnect())
  return connection
}

beforeEach(() => {
  closers = []
  redis = connect()
})

afterEach(() => {
  for (const close of closers.reverse()) close()
})

describe('conversations', () => {
  const process = (node: string) => {
    const subscriptions = createSubscriptions(connect(), log)
    const known = createWarmOffers()
    const warm = shareWarmth(known, { redis, subscriptions, clock: systemClock, node })
    closers.push(() => warm.close())
    return { known, warm }
  }

  it('are known to every process and counted once, whatever other messages the channel has', async () => {
    const [one, other] = [process('a'), process('b')]
    const now = systemClock.now()
    const offer = ids.make('ofr')
    const talk = `acc_1 s ${ids.ulid()} gpt-5-mini`
    const turn = { offer, at: now, inputTokens: 900, outputTokens: 20, cachedTokens: 0 }
    await until('the other process listens', 5_000, async () => {
      await redis.publish(CHANNELS.warmth, '["c","","x","acc_1 s x m ofr_1 1 1 1 1","acc_1 s x m 1 2 3 4 5",7]')
      one.warm.note('acc_1 s first m', turn)
      return other.warm.find('acc_1 s first m', now) !== undefined
    })
    one.warm.note(talk, turn)
    one.warm.note(talk, { ...turn, at: now + 1, cachedTokens: 800 })
    await until('the next announcement arrives', 5_000, () => other.warm.find(talk, now)?.at === now + 1)
    expect(other.warm.find(talk, now)).toEqual(one.known.find(talk, now))
    expect(other.warm.find('acc_1 s x m', now)).toBeUndefined()
  })
})

describe("calls to a buyer's own providers", () => {
  const call = { account: ids.make('acc'), model: 'gpt-5-mini', isStreamed: true }
  const { account } = call

  it('are known to every process from their start on, to no other buyer, and from their event on when they are over', async () => {
    const [one, other] = [createOwnCalls(redis), createOwnCalls(connect())]
    const rid = ids.requestId()
    one.begun(rid, call)
    await until('the call is known', 5_000, async () => (await other.find(account, rid)) !== undefined)
    expect(await other.find(account, rid)).toEqual(call)
    expect(await other.find(ids.make('acc'), rid)).toBeUndefined()
    one.ended({ rid, account }, '{"v":2}')
    expect(await one.find(account, rid)).toMatchObject({ event: '{"v":2}' })
    expect(await redis.pttl(cacheKeys.ownCall(rid))).toBeLessThanOrEqual(60_000)
  })

  it('are removed when they are refused, and delay no caller while Redis is away', async () => {
    const rid = ids.requestId()
    const calls = createOwnCalls(redis)
    calls.begun(rid, call)
    calls.refused(rid)
    expect(await calls.find(account, rid)).toBeUndefined()
    const away = connect()
    away.disconnect()
    const lost = createOwnCalls(away)
    lost.begun(rid, call)
    expect(await lost.find(account, rid)).toBeUndefined()
  })
})
