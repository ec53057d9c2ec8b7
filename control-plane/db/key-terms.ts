import { sql } from 'kysely'
import type { MicroUsd } from '#shared/money.ts'
import type { RowOf } from './rows.ts'
import { KEY_TABLES } from './tables/keys.ts'

const { api_key } = KEY_TABLES

/** A key's terms in the table: its rights and caps. Amounts are micro-USD. */
export const STORED_TERMS_ROW = {
  minDiscountPct: api_key.min_discount_pct,
  providersBlocked: api_key.providers_blocked,
  allowsUntrusted: api_key.allows_untrusted,
  capDailyMicro: api_key.cap_daily_micro,
  capMonthlyMicro: api_key.cap_monthly_micro,
  ratePerMinute: api_key.rate_per_minute,
  modelsAllowed: api_key.models_allowed,
}
export type StoredTerms = RowOf<typeof STORED_TERMS_ROW>

type Caps = 'capDailyMicro' | 'capMonthlyMicro'
/** The same terms with checked amounts. */
export type KeyTerms = Omit<StoredTerms, Caps> & { readonly [Cap in Caps]: MicroUsd | null }

/** Selects `StoredTerms` from the key table. */
export const SELECT_TERMS = sql`min_discount_pct as "minDiscountPct", providers_blocked as "providersBlocked",
  allows_untrusted as "allowsUntrusted", cap_daily_micro as "capDailyMicro", cap_monthly_micro as "capMonthlyMicro",
  rate_per_minute as "ratePerMinute", models_allowed as "modelsAllowed"`

/** The terms as columns to write. */
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
