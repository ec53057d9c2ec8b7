import { sql } from 'kysely'
import type { MicroUsd } from '#shared/money.ts'

type Terms<Amount> = {
  readonly minDiscountPct: number | null
  readonly providersBlocked: string[]
  readonly allowsUntrusted: boolean | null
  readonly capDailyMicro: Amount | null
  readonly capMonthlyMicro: Amount | null
  readonly ratePerMinute: number | null
  readonly modelsAllowed: string[] | null
}

/** What a key may do and spend; amounts are micro-USD. */
export type KeyTerms = Terms<MicroUsd>
/** The same as the table has it, where an amount is any bigint. */
export type StoredTerms = Terms<bigint>

/** Reads `StoredTerms` out of the key table. */
export const SELECT_TERMS = sql`min_discount_pct as "minDiscountPct", providers_blocked as "providersBlocked",
  allows_untrusted as "allowsUntrusted", cap_daily_micro as "capDailyMicro", cap_monthly_micro as "capMonthlyMicro",
  rate_per_minute as "ratePerMinute", models_allowed as "modelsAllowed"`

/** The columns that terms are written to. */
export function termColumns(terms: KeyTerms) {
  return {
    min_discount_pct: terms.minDiscountPct,
    providers_blocked: terms.providersBlocked,
    allows_untrusted: terms.allowsUntrusted,
    cap_daily_micro: terms.capDailyMicro,
    cap_monthly_micro: terms.capMonthlyMicro,
    rate_per_minute: terms.ratePerMinute,
    models_allowed: terms.modelsAllowed,
  }
}
