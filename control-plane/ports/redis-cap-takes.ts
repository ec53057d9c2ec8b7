import type { Redis } from 'ioredis'
import type { CapTake } from '#shared/contract/money-scripts/uses.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'
import { parseRequestId } from '#shared/ids.ts'
import { ZERO } from '#shared/money.ts'
import type { UnpostedTake } from './gate-keeper.ts'

const PAGE = 1_000
/** Longer than what is left of any day: a take that nobody settles counts until its day is over. */
const BROUGHT_TTL_MS = 26 * 60 * 60_000

/** What the unposted captures of one bucket took of their offers' caps, by the events that Redis holds. */
export async function unpostedTakes(redis: Redis, bucket: string, epoch: number): Promise<UnpostedTake[]> {
  const takes: UnpostedTake[] = []
  for (let start = 0; ; start += PAGE) {
    const rids = await redis.zrange(moneyKeys.unposted(bucket, epoch), start, start + PAGE - 1)
    const events = await Promise.all(rids.map((rid) => redis.hget(moneyKeys.hold(bucket, rid), 'ev')))
    for (const event of events) {
      const take = event === null ? undefined : takeOf(event)
      if (take !== undefined) takes.push(take)
    }
    if (rids.length < PAGE) return takes
  }
}

/** The take of a captured event; undefined when it has none. A job counts with its quote, so its end counts nothing. */
function takeOf(text: string): UnpostedTake | undefined {
  const event = readUsageEvent(text)
  if (!event?.offer || event.chargeMicro === ZERO || parseRequestId(event.rid) === undefined) return undefined
  return {
    rid: event.rid,
    offer: event.offer,
    attempt: `${event.rid}.${event.attempts.length - 1}`,
    chargeMicro: event.chargeMicro,
    takenAt: event.startedAt,
  }
}

/** A take as it is brought into an epoch: whatever the cap says, for it was granted before. */
export function broughtTake({ offer, attempt, chargeMicro }: UnpostedTake): CapTake {
  return { offer, attempt, amountMicro: chargeMicro, ttlMs: BROUGHT_TTL_MS, capMicro: null }
}
