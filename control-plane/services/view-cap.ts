import { microUsd, microUsdToDollars, subtractToZero } from '#shared/money.ts'

/** The daily cap of an offer in US dollars, and what is left of it. Null without a cap. */
export function viewCap(capMicro: bigint | null, takenMicro: bigint) {
  if (capMicro === null) return { capDailyUsd: null, capDailyRemainingUsd: null }
  const cap = microUsd(capMicro)
  return {
    capDailyUsd: microUsdToDollars(cap),
    capDailyRemainingUsd: microUsdToDollars(subtractToZero(cap, microUsd(takenMicro))),
  }
}
