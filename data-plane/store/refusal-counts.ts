import type { Redis } from 'ioredis'
import type { Clock } from '#shared/clock.ts'
import { utcDay } from '#shared/clock.ts'
import type { LentRule } from '#shared/contract/lent-offers.ts'
import { cacheKeys, REFUSALS_TTL_SECONDS } from '#shared/contract/redis-keys.ts'
import type { MicroUsd } from '#shared/money.ts'

/** Most offers that count the refused demand of one call. */
const MAX_TOLD = 100

/** An offer whose lender's rule has refused a call. */
export type RefusedOffer = { readonly offer: string; readonly rule: LentRule }

/** Counts of the demand that lenders' own rules refuse, for their analytics. Losing some is acceptable. */
export type RefusalCounts = {
  note(refusedOffers: readonly RefusedOffer[], quoteMicro: MicroUsd): void
}

export function createRefusalCounts({ redis, clock }: { readonly redis: Redis; readonly clock: Clock }): RefusalCounts {
  return {
    note(refusedOffers, quoteMicro) {
      const day = utcDay(clock.now())
      const pipeline = redis.pipeline()
      for (const { offer, rule } of refusedOffers.slice(0, MAX_TOLD)) {
        const key = cacheKeys.refusals(offer, day)
        pipeline.hincrby(key, `${rule}:calls`, 1).hincrby(key, `${rule}:micro`, quoteMicro.toString())
        pipeline.expire(key, REFUSALS_TTL_SECONDS)
      }
      void pipeline.exec().catch(() => undefined)
    },
  }
}
