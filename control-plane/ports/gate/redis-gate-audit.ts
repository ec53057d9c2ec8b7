import type { Redis } from 'ioredis'
import { parseMoneyEpoch } from '#shared/contract/money-scripts.ts'
import { bucketNames, moneyKeys } from '#shared/contract/redis-keys.ts'
import type { AccountId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import type { CounterGap, GateAudit } from './gate-audit.ts'

/** Keys in one step of the scan, and in each read that follows. */
const SCAN_COUNT = 500

type Sums = { held: bigint; unposted: bigint }

/** Reads the accounts and holds of the present epoch key by key, while the gate keeps working. */
export function createRedisGateAudit({ redis, buckets }: { redis: Redis; buckets: number }): GateAudit {
  return {
    async counterGaps() {
      const epoch = parseMoneyEpoch(await redis.get(moneyKeys.epoch))?.epoch
      if (epoch === undefined) return []
      const counters = new Map<AccountId, Sums>()
      const calls = new Map<AccountId, Sums>()
      for (const bucket of bucketNames(buckets)) {
        const holdPrefix = moneyKeys.hold(bucket, '')
        await eachHash(redis, `${escaped(holdPrefix)}*`, ['ep', 'st', 'amt', 'used', 'acct'], (_key, fields) => {
          const [ep, state, amount, used, account] = fields
          if (Number(ep) !== epoch || account == null || !isId('acc', account)) return
          const sums = sumsOf(calls, account)
          if (state === 'open') sums.held += BigInt(amount ?? 0)
          if (state === 'captured') sums.unposted += BigInt(used ?? 0)
        })
        const accountPrefix = moneyKeys.account(bucket, '')
        await eachHash(redis, `${escaped(accountPrefix)}*`, ['ep', 'h', 'u'], (key, [ep, held, unposted]) => {
          const account = key.slice(accountPrefix.length)
          if (Number(ep) !== epoch || !isId('acc', account)) return
          counters.set(account, { held: BigInt(held ?? 0), unposted: BigInt(unposted ?? 0) })
        })
      }
      return gapsOf(counters, calls)
    },
  }
}

function sumsOf(sums: Map<AccountId, Sums>, account: AccountId): Sums {
  const known = sums.get(account) ?? { held: 0n, unposted: 0n }
  sums.set(account, known)
  return known
}

function gapsOf(counters: ReadonlyMap<AccountId, Sums>, calls: ReadonlyMap<AccountId, Sums>): CounterGap[] {
  const none = { held: 0n, unposted: 0n }
  return [...new Set([...counters.keys(), ...calls.keys()])].flatMap((account) => {
    const counter = counters.get(account) ?? none
    const sum = calls.get(account) ?? none
    if (counter.held === sum.held && counter.unposted === sum.unposted) return []
    return [
      {
        account,
        heldMicro: counter.held,
        heldByCallsMicro: sum.held,
        unpostedMicro: counter.unposted,
        unpostedByCallsMicro: sum.unposted,
      },
    ]
  })
}

async function eachHash(
  redis: Redis,
  pattern: string,
  fields: readonly string[],
  take: (key: string, values: readonly (string | null)[]) => void,
): Promise<void> {
  const seenRids = new Set<string>()
  let cursor = '0'
  do {
    const [next, page] = await redis.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT)
    const keys = page.filter((key) => !seenRids.has(key))
    const rows = await Promise.all(keys.map((key) => redis.hmget(key, ...fields)))
    for (const [index, key] of keys.entries()) {
      seenRids.add(key)
      take(key, rows[index] ?? [])
    }
    cursor = next
  } while (cursor !== '0')
}

/** Escapes a key into a pattern that matches only that key. */
function escaped(key: string): string {
  return key.replace(/[[\]*?\\]/g, '\\$&')
}
