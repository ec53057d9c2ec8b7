import type { Redis } from 'ioredis'
import type { Clock } from '#shared/clock.ts'
import { utcDay } from '#shared/clock.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { AppError } from '#shared/errors.ts'
import type { OfferId } from '#shared/ids.ts'
import type { MicroUsd } from '#shared/money.ts'
import { ZERO } from '#shared/money.ts'
import { createTurnoverMap } from '#shared/turnover-map.ts'

/** Seconds for which a day's counts last. */
const KEEP_SECONDS = 2 * 86_400

/** A buyer's use of a lent key. */
export type ShareUse = { readonly offer: OfferId; readonly buyer: string; readonly limitMicro: MicroUsd }

/** Each buyer's takes of lent keys today. A take that is never settled counts until the day is over. */
export type BuyerShares = {
  /** Takes an amount from a buyer's share. Returns false when it does not fit. Throws `service_unavailable`. */
  take(use: ShareUse, attempt: string, amountMicro: MicroUsd): Promise<boolean>
  /** Settles a take to the charge. Does nothing without a take. Never rejects. */
  settle(attempt: string, usedMicro: MicroUsd): Promise<void>
}

type Take = { readonly key: string; readonly buyer: string; readonly amountMicro: MicroUsd }

export function createBuyerShares({ redis, clock }: { readonly redis: Redis; readonly clock: Clock }): BuyerShares {
  const takes = createTurnoverMap<string, Take>()

  async function add({ key, buyer }: Pick<Take, 'key' | 'buyer'>, amount: bigint): Promise<bigint> {
    const answers = await redis.multi().hincrby(key, buyer, amount.toString()).expire(key, KEEP_SECONDS).exec()
    const [error, total] = answers?.[0] ?? [new Error('no answer'), 0]
    if (error !== null) throw error
    return BigInt(String(total))
  }

  return {
    async take({ offer, buyer, limitMicro }, attempt, amountMicro) {
      const take = { key: moneyKeys.offerBuyers(offer, utcDay(clock.now())), buyer, amountMicro }
      try {
        if ((await add(take, amountMicro)) <= limitMicro) {
          takes.set(attempt, take)
          return true
        }
        await add(take, -amountMicro)
        return false
      } catch (cause) {
        throw new AppError('service_unavailable', { retryAfterSeconds: 1, cause })
      }
    },
    async settle(attempt, usedMicro) {
      const take = takes.get(attempt)
      if (take === undefined) return
      takes.delete(attempt)
      const back = usedMicro - take.amountMicro
      // A count that stays too high only keeps this buyer from this key for the rest of the day.
      if (back !== ZERO) await add(take, back).catch(() => undefined)
    },
  }
}
