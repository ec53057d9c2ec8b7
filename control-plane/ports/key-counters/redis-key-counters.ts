import type { Redis } from 'ioredis'
import type { CounterSubject } from '#control-plane/ports/gate/gate.ts'
import { utcDay, utcMonth } from '#shared/clock.ts'
import { parseMoneyEpoch } from '#shared/contract/money-scripts.ts'
import { moneyBucket, moneyKeys } from '#shared/contract/redis-keys.ts'
import { gateClosed } from '#shared/ledger/gate-closed.ts'
import type { MicroUsd } from '#shared/money.ts'
import { parseMicroUsd, ZERO } from '#shared/money.ts'
import type { KeyCounters } from './key-counters.ts'

/** Fields of a counter; money-scripts/uses.ts explains them. */
const FIELDS = ['ep', 'd', 'du', 'm', 'mu'] as const

/** The counters in Redis. A counter of an older epoch reads as zero. */
export function createRedisKeyCounters({ redis, buckets }: { redis: Redis; buckets: number }): KeyCounters {
  return {
    async read(subjects, now) {
      const pipeline = redis.pipeline().get(moneyKeys.epoch)
      for (const subject of subjects) {
        const { use, full } = namesOf(subject, buckets)
        pipeline.hmget(use, ...FIELDS)
        pipeline.hmget(full, 'day', 'month')
      }
      const answers = await pipeline.exec().catch((error: unknown) => {
        throw gateClosed(error)
      })
      const [head, ...rows] = answers ?? []
      const epoch = typeof head?.[1] === 'string' ? parseMoneyEpoch(head[1])?.epoch : undefined
      if (epoch === undefined || rows.length !== 2 * subjects.length) throw gateClosed()
      return subjects.map((_subject, at) => {
        const [ep, day, dayUsed, month, monthUsed] = fieldsOf(rows[2 * at]?.[1])
        const [fullDay, fullMonth] = fieldsOf(rows[2 * at + 1]?.[1])
        const isNow = ep === String(epoch)
        return {
          dayMicro: isNow ? usedIn(day, dayUsed, utcDay(now)) : ZERO,
          monthMicro: isNow ? usedIn(month, monthUsed, utcMonth(now)) : ZERO,
          dayRefusal: refusalIn(fullDay, utcDay(now)),
          monthRefusal: refusalIn(fullMonth, utcMonth(now)),
        }
      })
    },
  }
}

/** The hashes of a subject: of its counter, and of the periods in which its limit refused a call. */
function namesOf(subject: CounterSubject, buckets: number): { readonly use: string; readonly full: string } {
  if ('budgetId' in subject) {
    return { use: moneyKeys.budget(subject.budgetId), full: moneyKeys.budgetFull(subject.budgetId) }
  }
  const bucket = moneyBucket(subject.account, buckets)
  return { use: moneyKeys.keyUse(bucket, subject.keyId), full: moneyKeys.keyFull(bucket, subject.keyId) }
}

function fieldsOf(row: unknown): (string | undefined)[] {
  return Array.isArray(row) ? row.map(textOf) : []
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The limit in a note such as `2026-11 5000000`. Null for a note of another period. */
function refusalIn(note: string | undefined, current: string): MicroUsd | null {
  const [period, limit] = note?.split(' ') ?? []
  return period === current && limit !== undefined ? parseMicroUsd(limit) : null
}

function usedIn(period: string | undefined, used: string | undefined, current: string): MicroUsd {
  return period === current && used !== undefined ? parseMicroUsd(used) : ZERO
}
