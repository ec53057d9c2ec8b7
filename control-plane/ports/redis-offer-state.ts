import type { ChainableCommander, Redis } from 'ioredis'
import type { Clock } from '#shared/clock.ts'
import { utcDay } from '#shared/clock.ts'
import type { HealthRecord } from '#shared/contract/health-event.ts'
import { HealthRecordSchema } from '#shared/contract/health-event.ts'
import { CHANNELS, cacheKeys, moneyKeys } from '#shared/contract/redis-keys.ts'
import type { OfferState } from './offer-state.ts'

/** Offers whose health is asked for one by one; of more, everything is read. */
const MAX_ASKED_FOR = 1_000

/** Offer state out of Redis: health and caps stand on two connections when the cache has its own instance. */
export function createRedisOfferState(redis: { money: Redis; cache: Redis }, clock: Clock): OfferState {
  return {
    async health(offers) {
      const found = new Map<string, HealthRecord>()
      if (offers.length === 0) return found
      for (const [offer, text] of await healthTexts(redis.cache, offers)) {
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

/** What stands of offers; none while the store is away. Few offers have anything: all of it is less than many questions. */
async function healthTexts(cache: Redis, offers: readonly string[]): Promise<(readonly [string, string])[]> {
  if (offers.length > MAX_ASKED_FOR) {
    const all = await cache.hgetall(cacheKeys.health).catch(() => ({}))
    const wanted = new Set(offers)
    return Object.entries(all).filter(([offer]) => wanted.has(offer))
  }
  const texts = await cache.hmget(cacheKeys.health, ...offers).catch(() => [])
  return offers.flatMap((offer, at) => {
    const text = texts[at]
    return typeof text === 'string' ? [[offer, text] as const] : []
  })
}

/** Runs commands as one; the first that failed is thrown. */
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
