import { z } from 'zod'
import type { KeyTerms, StoredTerms } from '#control-plane/db/key-terms.ts'
import { Dollars, ModelName } from '#control-plane/services/fields.ts'
import { microUsd } from '#shared/money.ts'

/** The limits that a buyer key can carry, as a caller writes them; null or left out is no limit. */
export const KeyTermFields = {
  minDiscountPct: z.number().int().min(0).max(100).nullish(),
  providersBlocked: z.array(z.string().min(1).max(300)).max(100).nullish(),
  allowUntrusted: z.boolean().nullish(),
  capDailyUsd: Dollars.nullish(),
  capMonthlyUsd: Dollars.nullish(),
  rateLimitRpm: z.number().int().min(1).max(1_000_000).nullish(),
  modelsAllowed: z.array(ModelName).min(1).max(500).nullish(),
}
const Terms = z.object(KeyTermFields)

/** What a key without any limit may do. */
export const NO_TERMS: KeyTerms = {
  minDiscountPct: null,
  providersBlocked: [],
  allowsUntrusted: null,
  capDailyMicro: null,
  capMonthlyMicro: null,
  ratePerMinute: null,
  modelsAllowed: null,
}

/** The terms with the given ones in their place: what is left out stays, null takes a limit away. */
export function changeTerms(before: KeyTerms, given: z.output<typeof Terms>): KeyTerms {
  return {
    minDiscountPct: orBefore(given.minDiscountPct, before.minDiscountPct),
    providersBlocked: given.providersBlocked === undefined ? before.providersBlocked : (given.providersBlocked ?? []),
    allowsUntrusted: orBefore(given.allowUntrusted, before.allowsUntrusted),
    capDailyMicro: orBefore(given.capDailyUsd, before.capDailyMicro),
    capMonthlyMicro: orBefore(given.capMonthlyUsd, before.capMonthlyMicro),
    ratePerMinute: orBefore(given.rateLimitRpm, before.ratePerMinute),
    modelsAllowed: orBefore(given.modelsAllowed, before.modelsAllowed),
  }
}

function orBefore<Value>(given: Value | undefined, before: Value): Value {
  return given === undefined ? before : given
}

/** The terms of a key on record. Throws a RangeError for a cap that is no amount. */
export function termsOf(stored: StoredTerms): KeyTerms {
  const { minDiscountPct, providersBlocked, allowsUntrusted, capDailyMicro, capMonthlyMicro } = stored
  const { ratePerMinute, modelsAllowed } = stored
  return {
    minDiscountPct,
    providersBlocked,
    allowsUntrusted,
    capDailyMicro: capDailyMicro === null ? null : microUsd(capDailyMicro),
    capMonthlyMicro: capMonthlyMicro === null ? null : microUsd(capMonthlyMicro),
    ratePerMinute,
    modelsAllowed,
  }
}

export function hasCap(terms: Pick<StoredTerms, 'capDailyMicro' | 'capMonthlyMicro'>): boolean {
  return terms.capDailyMicro !== null || terms.capMonthlyMicro !== null
}

/** True for a key that is to spend within bounds: it changes nothing of its account. */
export function isBounded(terms: Pick<StoredTerms, 'capDailyMicro' | 'capMonthlyMicro' | 'modelsAllowed'>): boolean {
  return hasCap(terms) || terms.modelsAllowed !== null
}
