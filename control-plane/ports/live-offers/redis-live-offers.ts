import type { ChainableCommander, Redis } from 'ioredis'
import type { Clock } from '#shared/clock.ts'
import { utcDay } from '#shared/clock.ts'
import type { HealthRecord } from '#shared/contract/health-event.ts'
import { HealthRecordSchema } from '#shared/contract/health-event.ts'
import { LENT_RULES } from '#shared/contract/lent-offers.ts'
import { CHANNELS, cacheKeys, moneyKeys } from '#shared/contract/redis-keys.ts'
import { isRecord } from '#shared/json-members.ts'
import { parseJson } from '#shared/parse-json.ts'
import type { LiveOffers, RefusedDemand } from './live-offers.ts'

/** Live offer state in Redis. Health and caps use two connections when the cache has its own instance. */
export function createRedisLiveOffers(redis: { money: Redis; cache: Redis }, clock: Clock): LiveOffers {
  return {
    async health(offers) {
      const healthOf = new Map<string, HealthRecord>()
      for (const [offer, text] of await healthTexts(redis.cache, offers).catch(() => [])) {
        const record = readHealth(text)
        if (record !== undefined) healthOf.set(offer, record)
      }
      return healthOf
    },

    async capTaken(offers) {
      const usedOf = new Map<string, bigint>()
      if (offers.length === 0) return usedOf
      const today = utcDay(clock.now())
      const pipeline = redis.money.pipeline()
      for (const offer of offers) pipeline.hmget(moneyKeys.offerCap(offer), 'd', 'du')
      const answers = await pipeline.exec().catch(() => null)
      for (const [at, [, fields]] of (answers ?? []).entries()) {
        const offer = offers[at]
        if (offer === undefined || !Array.isArray(fields)) continue
        const [day, used] = fields
        if (day === today && typeof used === 'string' && /^\d{1,18}$/.test(used)) usedOf.set(offer, BigInt(used))
      }
      return usedOf
    },

    async refusals(offers, days) {
      const places = offers.flatMap((offer) => days.map((day) => ({ offer, key: cacheKeys.refusals(offer, day) })))
      if (places.length === 0) return []
      const pipeline = redis.cache.pipeline()
      for (const { key } of places) pipeline.hgetall(key)
      const answers = await pipeline.exec().catch(() => null)
      const demands = new Map<string, RefusedDemand>()
      for (const [at, [, fields]] of (answers ?? []).entries()) {
        const offer = places[at]?.offer
        if (offer !== undefined && isRecord(fields)) addRefusals(demands, offer, fields)
      }
      return [...demands.values()]
    },

    async reset(offers) {
      if (offers.length === 0) return
      await execute(
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
      await execute(
        redis.cache
          .multi()
          .hset(cacheKeys.health, ...fields)
          .publish(CHANNELS.health, offers),
      )
    },
  }
}

/** Adds the counts of one offer and day to the sums by offer and rule. */
function addRefusals(into: Map<string, RefusedDemand>, offer: string, fields: Readonly<Record<string, unknown>>): void {
  for (const rule of LENT_RULES) {
    const calls = digits(fields[`${rule}:calls`])
    if (calls === 0n) continue
    const sum = into.get(`${offer} ${rule}`) ?? { offer, rule, calls: 0n, quotedMicro: 0n }
    const quotedMicro = sum.quotedMicro + digits(fields[`${rule}:micro`])
    into.set(`${offer} ${rule}`, { ...sum, calls: sum.calls + calls, quotedMicro })
  }
}

function digits(value: unknown): bigint {
  return typeof value === 'string' && /^\d{1,18}$/.test(value) ? BigInt(value) : 0n
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
async function execute(commands: ChainableCommander): Promise<void> {
  const answers = await commands.exec()
  const failed = answers?.find(([error]) => error !== null)
  if (failed?.[0]) throw failed[0]
}

function readHealth(text: string): HealthRecord | undefined {
  return HealthRecordSchema.safeParse(parseJson(text)).data
}
