import type { Redis } from 'ioredis'
import type { CapUse } from '#shared/contract/money-scripts/uses.ts'
import { capUseOf } from '#shared/contract/money-scripts/uses.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'

const PAGE = 1_000

/** The amounts that one bucket's unposted captures used of their offers' caps, from the events that Redis holds. */
export async function unpostedUses(redis: Redis, bucket: string, epoch: number): Promise<CapUse[]> {
  const uses: CapUse[] = []
  for (let start = 0; ; start += PAGE) {
    const rids = await redis.zrange(moneyKeys.unposted(bucket, epoch), start, start + PAGE - 1)
    const events = await Promise.all(rids.map((rid) => redis.hget(moneyKeys.hold(bucket, rid), 'ev')))
    for (const event of events) {
      const use = event === null ? undefined : capUseOf(event)
      if (use !== undefined) uses.push(use)
    }
    if (rids.length < PAGE) return uses
  }
}
