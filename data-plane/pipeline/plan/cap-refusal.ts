import type { Offer, Target } from '#data-plane/call.ts'
import type { SpentCaps } from '#data-plane/store/spent-caps.ts'
import { nextUtcDay, SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { formatMicroUsd, sum, ZERO } from '#shared/money.ts'

/** Seconds after which a refused call may try again when the day has just ended. */
const NEXT_DAY_SECONDS = 1

/**
 * The refusal when no offer's daily cap has room for a call. It shows the sum of their caps and of the used amounts of
 * the refusing day, which may have ended meanwhile.
 */
export function capRefusal(
  { kind }: Pick<Target, 'kind'>,
  offers: readonly Offer[],
  { caps, now }: { readonly caps: SpentCaps; readonly now: number },
  message: string,
): AppError {
  const capped = offers.flatMap(({ id, capDailyMicro }) => {
    const refusal = id === null || capDailyMicro === null ? undefined : caps.refusalOf(id)
    return refusal === undefined || capDailyMicro === null ? [] : [{ ...refusal, capDailyMicro }]
  })
  const resetsAt = Math.min(nextUtcDay(now), ...capped.map((refusal) => refusal.resetsAt))
  return new AppError(kind === 'model' ? 'no_healthy_sellers' : 'seller_cap_reached', {
    message,
    detail: {
      limit_source: 'seller_cap',
      limit_scope: 'offer',
      limit_usdc: formatMicroUsd(sum(capped.map(({ capDailyMicro }) => capDailyMicro))),
      spent_usdc: formatMicroUsd(sum(capped.map(({ usedMicro }) => usedMicro ?? ZERO))),
      resets_at: resetsAt / SECOND,
    },
    retryAfterSeconds: Math.max((resetsAt - now) / SECOND, NEXT_DAY_SECONDS),
  })
}
