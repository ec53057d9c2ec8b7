import { z } from 'zod'
import type { KeyTerms, StoredTerms } from '#control-plane/db/key-terms.ts'
import { Dollars, ModelName } from '#control-plane/services/input-fields.ts'
import { microUsd } from '#shared/money.ts'
import { oneLine } from '#shared/texts.ts'

/** The limits of a buyer key as input. Null or an absent field sets no limit. */
export const KeyTermFields = {
  minDiscountPct: z.number().int().min(0).max(100).nullish(),
  providersBlocked: z.array(oneLine(300).min(1)).max(100).nullish(),
  allowUntrusted: z.boolean().nullish(),
  capDailyUsd: Dollars.nullish(),
  capMonthlyUsd: Dollars.nullish(),
  rateLimitRpm: z.number().int().min(1).max(1_000_000).nullish(),
  modelsAllowed: z.array(ModelName).min(1).max(500).nullish(),
}
const Terms = z.object(KeyTermFields)

/** The terms of a key without limits. */
export const NO_TERMS: KeyTerms = {
  minDiscountPct: null,
  providersBlocked: [],
  allowsUntrusted: null,
  capDailyMicro: null,
  capMonthlyMicro: null,
  ratePerMinute: null,
  modelsAllowed: null,
}

/** Applies changes of terms. An absent field stays, and null removes a limit. */
export function changeTerms(before: KeyTerms, changes: z.output<typeof Terms>): KeyTerms {
  return {
    minDiscountPct: orBefore(changes.minDiscountPct, before.minDiscountPct),
    providersBlocked:
      changes.providersBlocked === undefined ? before.providersBlocked : (changes.providersBlocked ?? []),
    allowsUntrusted: orBefore(changes.allowUntrusted, before.allowsUntrusted),
    capDailyMicro: orBefore(changes.capDailyUsd, before.capDailyMicro),
    capMonthlyMicro: orBefore(changes.capMonthlyUsd, before.capMonthlyMicro),
    ratePerMinute: orBefore(changes.rateLimitRpm, before.ratePerMinute),
    modelsAllowed: orBefore(changes.modelsAllowed, before.modelsAllowed),
  }
}

function orBefore<Value>(value: Value | undefined, before: Value): Value {
  return value === undefined ? before : value
}

/** Reads the stored terms of a key. Throws a RangeError for a cap that is no amount. */
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

/** True for a key with a cap or a list of models. Such a key may change nothing of its account. */
export function isBounded(terms: Pick<StoredTerms, 'capDailyMicro' | 'capMonthlyMicro' | 'modelsAllowed'>): boolean {
  return hasCap(terms) || terms.modelsAllowed !== null
}
