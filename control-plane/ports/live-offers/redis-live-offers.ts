import type { ChainableCommander, Redis } from 'ioredis'
import type { Clock } from '#shared/clock.ts'
import { utcDay } from '#shared/clock.ts'
import type { HealthRecord } from '#shared/contract/health-event.ts'
import { HealthRecordSchema } from '#shared/contract/health-event.ts'
import { CHANNELS, cacheKeys, moneyKeys } from '#shared/contract/redis-keys.ts'
import type { LiveOffers } from './live-offers.ts'

/** Live offer state in Redis. Health and caps use two connections when the cache has its own instance. */
export function createRedisLiveOffers(redis: { money: Redis; cache: Redis }, clock: Clock): LiveOffers {
  return {
    async health(offers) {
      const found = new Map<string, HealthRecord>()
      for (const [offer, text] of await healthTexts(redis.cache, offers).catch(() => [])) {
        const record = readHealth(text)
        if (record !== undefined) found.set(offer, record)
      }
      return found
    },

    async capTaken(offers) {
      const taken = new Map<string, bigint>()
      if (offers.length === 0) return taken
      const today = utcDay(clock.now())
      const pipeline = redis.money.pipeline()
      for (const offer of offers) pipeline.hmget(moneyKeys.offerCap(offer), 'd', 'du')
      const answers = await pipeline.exec().catch(() => null)
      for (const [at, [, fields]] of (answers ?? []).entries()) {
        const offer = offers[at]
        if (offer === undefined || !Array.isArray(fields)) continue
        const [day, used] = fields
        if (day === today && typeof used === 'string' && /^\d{1,18}$/.test(used)) taken.set(offer, BigInt(used))
      }
      return taken
    },

    async reset(offers) {
      if (offers.length === 0) return
      await done(
        redis.cache
          .multi()
          .hdel(cacheKeys.health, ...offers)
          .publish(CHANNELS.health, JSON.stringify(offers)),
      )
    },

    async setHealth(records) {
      if (records.size === 0) return
      const fields = [...records].flatMap(([offer, record]) => [offer, JSON.stringify(record)])
      const offers = JSON.stringify([...records.keys()])
      await done(
        redis.cache
          .multi()
          .hset(cacheKeys.health, ...fields)
          .publish(CHANNELS.health, offers),
      )
    },
  }
}

/** The health records of the given offers, or of all offers that have one. */
async function healthTexts(cache: Redis, offers?: readonly string[]): Promise<(readonly [string, string])[]> {
  if (offers === undefined) return Object.entries(await cache.hgetall(cacheKeys.health))
  if (offers.length === 0) return []
  const texts = await cache.hmget(cacheKeys.health, ...offers)
  return offers.flatMap((offer, at) => {
    const text = texts[at]
    return typeof text === 'string' ? [[offer, text] as const] : []
  })
}

/** Runs commands in one transaction. Throws the first error among them. */
async function done(commands: ChainableCommander): Promise<void> {
  const answers = await commands.exec()
  const failed = answers?.find(([error]) => error !== null)
  if (failed?.[0]) throw failed[0]
}

function readHealth(text: string): HealthRecord | undefined {
  try {
    return HealthRecordSchema.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}
