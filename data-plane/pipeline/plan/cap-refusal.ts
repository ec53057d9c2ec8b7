import type { Offer, Target } from '#data-plane/call.ts'
import type { SpentCaps } from '#data-plane/store/spent-caps.ts'
import { nextUtcDay, SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { formatMicroUsd, sum, ZERO } from '#shared/money.ts'

/**
 * The refusal when no offer's daily cap has room for a call. It shows the sum of their caps and of the used amounts.
 */
export function capRefusal(
  { kind }: Pick<Target, 'kind'>,
  offers: readonly Offer[],
  { caps, now }: { readonly caps: SpentCaps; readonly now: number },
  message: string,
): AppError {
  const capped = offers.flatMap(({ id, capDailyMicro }) =>
    id !== null && capDailyMicro !== null && caps.isSpent(id, now) ? [{ id, capDailyMicro }] : [],
  )
  return new AppError(kind === 'model' ? 'no_healthy_sellers' : 'seller_cap_reached', {
    message,
    detail: {
      limit_source: 'seller_cap',
      limit_scope: 'offer',
      limit_usdc: formatMicroUsd(sum(capped.map(({ capDailyMicro }) => capDailyMicro))),
      spent_usdc: formatMicroUsd(sum(capped.map(({ id }) => caps.usedOf(id) ?? ZERO))),
      resets_at: nextUtcDay(now) / SECOND,
    },
    retryAfterSeconds: (nextUtcDay(now) - now) / SECOND,
  })
}
