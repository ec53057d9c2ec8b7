import type { Redis } from 'ioredis'
import { gateClosed } from '#control-plane/ports/gate/run-batches.ts'
import { utcDay, utcMonth } from '#shared/clock.ts'
import { parseMoneyEpoch } from '#shared/contract/money-scripts.ts'
import { moneyBucket, moneyKeys } from '#shared/contract/redis-keys.ts'
import type { MicroUsd } from '#shared/money.ts'
import { parseMicroUsd, ZERO } from '#shared/money.ts'
import type { KeyCounters } from './key-counters.ts'

/** Fields of a counter; money-scripts/uses.ts explains them. */
const FIELDS = ['ep', 'd', 'du', 'm', 'mu'] as const

/** The counters in Redis. A counter of an older epoch reads as zero. */
export function createRedisKeyCounters({ redis, buckets }: { redis: Redis; buckets: number }): KeyCounters {
  return {
    async read(keys, now) {
      const pipeline = redis.pipeline().get(moneyKeys.epoch)
      for (const { keyId, account } of keys) {
        const bucket = moneyBucket(account, buckets)
        pipeline.hmget(moneyKeys.keyUse(bucket, keyId), ...FIELDS)
        pipeline.hmget(moneyKeys.keyFull(bucket, keyId), 'day', 'month')
      }
      const answers = await pipeline.exec().catch((error: unknown) => {
        throw gateClosed(error)
      })
      const [head, ...rows] = answers ?? []
      const epoch = typeof head?.[1] === 'string' ? parseMoneyEpoch(head[1])?.epoch : undefined
      if (epoch === undefined || rows.length !== 2 * keys.length) throw gateClosed()
      return keys.map((_key, at) => {
        const [ep, day, dayUsed, month, monthUsed] = fieldsOf(rows[2 * at]?.[1])
        const [fullDay, fullMonth] = fieldsOf(rows[2 * at + 1]?.[1])
        const isNow = ep === String(epoch)
        return {
          dayMicro: isNow ? usedIn(day, dayUsed, utcDay(now)) : ZERO,
          monthMicro: isNow ? usedIn(month, monthUsed, utcMonth(now)) : ZERO,
          isDayFull: fullDay === utcDay(now),
          isMonthFull: fullMonth === utcMonth(now),
        }
      })
    },
  }
}

function fieldsOf(row: unknown): (string | undefined)[] {
  return Array.isArray(row) ? row.map(textOf) : []
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function usedIn(period: string | undefined, used: string | undefined, current: string): MicroUsd {
  return period === current && used !== undefined ? parseMicroUsd(used) : ZERO
}
